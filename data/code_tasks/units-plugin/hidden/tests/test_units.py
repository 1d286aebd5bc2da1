import subprocess
import sys

import pytest

import units
from units import UnitError, convert


@pytest.mark.parametrize(
    ("value", "from_unit", "to_unit", "expected"),
    [(5, "km", "m", 5000), (1, "mi", "ft", 5280), (3, "cm", "cm", 3)],
)
def test_lengths(value, from_unit, to_unit, expected):
    assert convert(value, from_unit, to_unit) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(
    ("value", "from_unit", "to_unit", "expected"),
    [
        (1, "lb", "g", 453.59237),
        (16, "oz", "lb", 1),
        (2, "kg", "g", 2000),
        (100, "C", "F", 212),
        (-40, "F", "C", -40),
        (0, "K", "C", -273.15),
        (451, "F", "K", 505.9277777777778),
    ],
)
def test_masses_and_temperatures(value, from_unit, to_unit, expected):
    assert convert(value, from_unit, to_unit) == pytest.approx(expected, rel=1e-9)


def test_different_kinds():
    with pytest.raises(UnitError, match="kg") as caught:
        convert(1, "kg", "mi")
    assert "mi" in str(caught.value)


@pytest.mark.parametrize(("from_unit", "to_unit"), [("parsec", "m"), ("m", "parsec"), ("parsec", "parsec")])
def test_unknown_units(from_unit, to_unit):
    with pytest.raises(UnitError, match="parsec"):
        convert(1, from_unit, to_unit)


def test_kinds():
    assert units.kinds() == {
        "length": ["cm", "ft", "km", "m", "mi"],
        "mass": ["g", "kg", "lb", "oz"],
        "temperature": ["C", "F", "K"],
    }


def command(*arguments):
    return subprocess.run([sys.executable, "-m", "units", *arguments], capture_output=True, text=True)


def test_command():
    done = command("5", "km", "mi")
    assert (done.returncode, done.stdout) == (0, "3.1069 mi\n")


@pytest.mark.parametrize("arguments", [("5", "km", "kg"), ("five", "km", "mi"), ("5", "km")])
def test_command_mistakes(arguments):
    done = command(*arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.strip()
    assert "Traceback" not in done.stderr
