import signal
from datetime import date

import pytest

import workdays
from workdays import add_days

FRIDAY, SATURDAY, SUNDAY, MONDAY, TUESDAY = (date(2026, 3, day) for day in (6, 7, 8, 9, 10))


@pytest.fixture(autouse=True)
def not_for_ever():
    def stop(number, frame):
        raise AssertionError("it does not return")

    signal.signal(signal.SIGALRM, stop)
    signal.alarm(2)
    yield
    signal.alarm(0)


def test_within_a_week():
    assert add_days(MONDAY, 1) == TUESDAY


def test_over_a_weekend():
    assert add_days(FRIDAY, 1) == MONDAY


def test_from_a_weekend():
    assert add_days(SATURDAY, 1) == MONDAY
    assert add_days(SUNDAY, 2) == TUESDAY


def test_holidays():
    assert add_days(FRIDAY, 1, {MONDAY}) == TUESDAY


def test_zero():
    assert add_days(FRIDAY, 0) == FRIDAY
    assert add_days(SATURDAY, 0) == MONDAY
    assert add_days(SATURDAY, 0, [MONDAY]) == TUESDAY


def test_backwards():
    assert add_days(MONDAY, -1) == FRIDAY
    assert add_days(TUESDAY, -1, {MONDAY}) == FRIDAY
    assert add_days(SUNDAY, -1) == FRIDAY


def test_there_and_back():
    for count in range(1, 40):
        assert add_days(add_days(MONDAY, count), -count) == MONDAY


def test_between():
    assert workdays.between(FRIDAY, MONDAY) == 2
    assert workdays.between(SATURDAY, SUNDAY) == 0
    assert workdays.between(date(2026, 3, 1), date(2026, 3, 31)) == 22
    assert workdays.between(FRIDAY, TUESDAY, {MONDAY}) == 2


def test_between_backwards():
    assert workdays.between(MONDAY, FRIDAY) == -2
