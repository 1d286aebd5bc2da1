import itertools
import random
import signal
import statistics

import pytest

from stats import rolling_median


def test_small():
    assert list(rolling_median([5, 1, 4, 2, 3], 3)) == [5, 3.0, 4, 2, 3]


def test_width_one():
    assert list(rolling_median([3, 1, 2], 1)) == [3, 1, 2]


def test_empty():
    assert list(rolling_median([], 3)) == []


def test_against_the_definition():
    draw = random.Random(1)
    values = [draw.randrange(20) for _ in range(300)]
    for width in (1, 2, 3, 7, 10, 400):
        expected = [statistics.median(values[max(0, i - width + 1) : i + 1]) for i in range(len(values))]
        assert list(rolling_median(values, width)) == expected


def test_endless_readings():
    assert list(itertools.islice(rolling_median(itertools.count(), 3), 5)) == [0, 0.5, 1, 2, 3]


@pytest.mark.parametrize("width", [0, -1])
def test_width_below_one_is_refused_at_the_call(width):
    with pytest.raises(ValueError):
        rolling_median([1], width)


def test_long_files():
    def stop(number, frame):
        raise AssertionError("far too slow")

    draw = random.Random(2)
    values = [draw.random() for _ in range(40_000)]
    signal.signal(signal.SIGALRM, stop)
    signal.alarm(8)
    try:
        medians = list(rolling_median(values, 5_000))
    finally:
        signal.alarm(0)
    assert medians[-1] == statistics.median(values[-5_000:])
