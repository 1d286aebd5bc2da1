import signal

import pytest

from search import first_at_least


@pytest.fixture(autouse=True)
def not_for_ever():
    """A search that never returns is a failed test, not a run that hangs."""

    def stop(number, frame):
        raise AssertionError("the search does not return")

    signal.signal(signal.SIGALRM, stop)
    signal.alarm(2)
    yield
    signal.alarm(0)


class Counted(list):
    looks = 0

    def __getitem__(self, index):
        self.looks += 1
        return super().__getitem__(index)


def test_present():
    assert first_at_least([1, 3, 5], 1) == 0


def test_between():
    assert first_at_least([10, 20, 30, 40], 25) == 2


def test_past_the_end():
    assert first_at_least([1, 2], 9) == 2


def test_empty():
    assert first_at_least([], 4) == 0


def test_first_of_equal_ones():
    assert first_at_least([2, 2, 2, 2, 2, 7], 2) == 0
    assert first_at_least([1, 4, 4, 4, 4], 4) == 1


def test_few_looks():
    values = Counted(range(100_000))
    assert first_at_least(values, 77_777) == 77_777
    assert values.looks <= 20
