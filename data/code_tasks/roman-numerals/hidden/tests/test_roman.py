import pytest

from roman import from_roman, to_roman


def test_known_numbers():
    known = {1: "I", 4: "IV", 9: "IX", 14: "XIV", 40: "XL", 90: "XC", 400: "CD", 944: "CMXLIV", 2026: "MMXXVI"}
    assert {number: to_roman(number) for number in known} == known


def test_every_number_survives_the_round_trip():
    assert [from_roman(to_roman(number)) for number in range(1, 4000)] == list(range(1, 4000))


def test_lower_case():
    assert from_roman("mcmxciv") == 1994


@pytest.mark.parametrize("number", [0, -3, 4000])
def test_out_of_range(number):
    with pytest.raises(ValueError):
        to_roman(number)


@pytest.mark.parametrize("number", [True, 3.0, "3", None])
def test_not_a_number(number):
    with pytest.raises(ValueError):
        to_roman(number)


@pytest.mark.parametrize("text", ["", "IIII", "VX", "IC", "VV", "MMMM", "ABC", "I I"])
def test_spellings_that_are_not_canonical(text):
    with pytest.raises(ValueError):
        from_roman(text)
