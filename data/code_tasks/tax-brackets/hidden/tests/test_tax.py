from decimal import Decimal as D

import pytest

from tax import tax

BRACKETS = [(D(0), D("0")), (D(10_000), D("0.1")), (D(40_000), D("0.25"))]


def test_below_the_first_rate():
    assert tax(D(9_000), BRACKETS) == 0


def test_nothing_earned():
    assert tax(D(0), BRACKETS) == 0


def test_second_bracket():
    assert tax(D(15_000), BRACKETS) == D(500)


def test_on_the_border():
    assert tax(D(40_000), BRACKETS) == D(3_000)


def test_third_bracket():
    assert tax(D(50_000), BRACKETS) == D(5_500)


def test_any_order():
    assert tax(D(50_000), BRACKETS[::-1]) == D(5_500)


def test_rounding_half_up():
    assert tax(D("0.25"), [(D(0), D("0.1"))]) == D("0.03")
    assert str(tax(D("100"), [(D(0), D("0.1"))])) == "10.00"


def test_negative_income():
    with pytest.raises(ValueError):
        tax(D(-1), BRACKETS)
