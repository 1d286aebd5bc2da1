import random

from calendar_tools.intervals import merge


def test_overlap():
    assert merge([(60, 120), (90, 150)]) == [(60, 150)]


def test_touching():
    assert merge([(60, 120), (120, 150)]) == [(60, 150)]


def test_empty():
    assert merge([]) == []


def test_unsorted_input():
    assert merge([(300, 360), (60, 120), (100, 130)]) == [(60, 130), (300, 360)]


def test_contained_interval():
    assert merge([(60, 600), (90, 120), (500, 550)]) == [(60, 600)]


def test_input_is_left_alone():
    given = [(60, 120), (90, 150)]
    merge(given)
    assert given == [(60, 120), (90, 150)]


def test_many_random_calendars():
    draw = random.Random(5)
    for _ in range(200):
        given = []
        for _ in range(draw.randrange(12)):
            start = draw.randrange(200)
            given.append((start, start + draw.randrange(1, 40)))
        merged = merge(list(given))
        assert {m for a, b in given for m in range(a, b)} == {m for a, b in merged for m in range(a, b)}
        assert all(one[1] < two[0] for one, two in zip(merged, merged[1:]))
