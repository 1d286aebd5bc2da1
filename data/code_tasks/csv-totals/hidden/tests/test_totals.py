from decimal import Decimal
from pathlib import Path

from totals import read_totals


def write(tmp_path, *lines):
    path = tmp_path / "export.csv"
    path.write_text("\n".join(["date;category;amount", *lines]) + "\n")
    return path


def test_the_example():
    example = Path(__file__).parent.parent / "examples" / "march.csv"
    assert read_totals(example) == {"food": Decimal("19.75"), "rent": Decimal("900.00")}


def test_exact_sums(tmp_path):
    totals = read_totals(write(tmp_path, *["2026-03-01;coffee;0.10"] * 3))
    assert totals == {"coffee": Decimal("0.30")}
    assert isinstance(totals["coffee"], Decimal)


def test_decimal_comma(tmp_path):
    assert read_totals(write(tmp_path, "2026-03-01;food;3,75")) == {"food": Decimal("3.75")}


def test_thousands(tmp_path):
    lines = ["2026-03-01;rent;1.234,50", "2026-03-01;car;12.000.100,00"]
    assert read_totals(write(tmp_path, *lines)) == {"rent": Decimal("1234.50"), "car": Decimal("12000100.00")}


def test_categories_are_folded(tmp_path):
    lines = ["2026-03-01;Food;1.00", "2026-03-02; food ;2.00", "2026-03-02;FOOD;4.00"]
    assert read_totals(write(tmp_path, *lines)) == {"food": Decimal("7.00")}


def test_empty_lines(tmp_path):
    lines = ["2026-03-01;food;1.00", "", ";;", "2026-03-02;food;2,00"]
    assert read_totals(write(tmp_path, *lines)) == {"food": Decimal("3.00")}
