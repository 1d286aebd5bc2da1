"""Numbers that follow from others: `eight years later` from 1903 and 1911, `ten` from half of twenty."""

from __future__ import annotations

import itertools

from pipeline.rephrase.fidelity.quantity import Quantity

_YEAR = 31557600.0


def derived(item: Quantity, others: list[Quantity]) -> bool:
    """Whether a number is the sum, the difference or the share of two numbers of a text, or a year that an age gives."""
    if item.kind == "date" or item.year_like:
        return _year_of_age(item, others)
    if item.kind != "number":
        return False
    dimension, value = _measure(item)
    years = sorted({year for other in others if (year := _year(other))})
    if dimension == "time" and any(
        _near(value, (b - a) * _YEAR) for a, b in itertools.combinations(years, 2)
    ):
        return True
    measures = [_measure(other) for other in others if other.kind == "number" and not other.year_like]
    alike = [size for name, size in measures if name == dimension]
    if any(_near(value, abs(a - b)) or _near(value, a + b) for a, b in itertools.combinations(alike, 2)):
        return True
    shares = [size for name, size in measures if name == "part"]
    return any(_near(value, share * size) for share in shares for size in alike)


def _measure(item: Quantity) -> tuple[str, float]:
    if item.unit is None:
        return "", item.value
    return item.unit.dimension, item.value * item.unit.factor


def _near(a: float, b: float) -> bool:
    return a > 0 and abs(a - b) <= 1e-6 * max(a, abs(b))


def _year(item: Quantity) -> int:
    if item.kind == "date":
        return max(0, item.date[0])
    return int(item.value) if item.year_like else 0


def _year_of_age(item: Quantity, others: list[Quantity]) -> bool:
    """A year that lies as many years from another one as a number says; an age leaves two years open."""
    year = _year(item)
    if not year or (item.kind == "date" and any(item.date[1:])):
        return False
    ages = [other.value for other in others if other.kind == "number" and not other.year_like]
    gaps = [abs(year - other) for one in others if (other := _year(one))]
    return any(gap and age - gap in (0, -1) for gap in gaps for age in ages)
