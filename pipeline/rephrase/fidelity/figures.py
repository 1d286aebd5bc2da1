"""Comparing the numbers, dates and times of two texts, both ways."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Set
from dataclasses import dataclass, replace

from pipeline.records import Finding, Span
from pipeline.rephrase.fidelity.analysis import Analysis
from pipeline.rephrase.fidelity.clocks import shows
from pipeline.rephrase.fidelity.derived import derived
from pipeline.rephrase.fidelity.lexicon import GENERIC
from pipeline.rephrase.fidelity.quantities import quantities
from pipeline.rephrase.fidelity.quantity import Quantity

_SAME = 1e-6
_CONVERTED = 0.02
"""Largest relative difference between a length in miles and the same in kilometers, as people write them."""
_ROUNDED = 0.06
"""Largest relative difference that a rounding marked as such may make."""


@dataclass(frozen=True, slots=True)
class Compared:
    findings: list[Finding]
    facts: int
    kept: int


def compare_figures(
    source: Analysis, rewrite: Analysis, known: tuple[Set[float], Set[float]] = (frozenset(), frozenset())
) -> Compared:
    """Findings for every number, date or time of one side that the other side lacks.

    `known` are the numbers in the formulas of each side: a number may move between prose and formula.
    """
    ours, theirs = quantities(source), quantities(rewrite)
    lost = [item for item in ours if not (_stands_in(item, theirs) or _in_formula(item, known[1], theirs))]
    added = [
        item
        for item in theirs
        if not (_stands_in(item, ours, reverse=True) or _in_formula(item, known[0], ours))
    ]
    if (stayed := _stayed(ours, theirs, known)) is not None:
        lost.append(stayed[0])
        added.append(stayed[1])
    if not any(not item.weak for item in lost):
        added = [item for item in added if not derived(item, ours)]
    elif not added:
        lost = [item for item in lost if not derived(item, theirs)]
    lost = [item for item in lost if not (_vanishes(item, rewrite) or _workday(item, rewrite))]
    added = [
        item
        for item in added
        if not (_vanishes(item, source) or _workday(item, source) or _counts_a_list(item, rewrite))
    ]
    findings = [*_findings(source, rewrite, lost, added), *_articles(source, rewrite, ours, theirs)]
    facts = sum(not item.weak for item in ours)
    return Compared(findings, facts, facts - sum(not item.weak for item in lost))


def _articles(
    source: Analysis, rewrite: Analysis, ours: list[Quantity], theirs: list[Quantity]
) -> Iterator[Finding]:
    """`for an hour` that became `for a day`: the one such measure that is gone, and the one that is new."""
    gone = [item for item in ours if _measured(item) and not any(same(item, other) for other in theirs)]
    new = [item for item in theirs if _measured(item) and not any(same(other, item) for other in ours)]
    if len(gone) == len(new) == 1 and _dimension(gone[0]) == _dimension(new[0]):
        yield Finding(
            kind="unit",
            direction="changed",
            message=f"{_said(source, gone[0])!r} became {_said(rewrite, new[0])!r}",
            source=_span(source, gone[0]),
            rewrite=_span(rewrite, new[0]),
        )


def _measured(item: Quantity) -> bool:
    return item.implied and item.unit is not None


def _dimension(item: Quantity) -> str:
    return item.unit.dimension if item.unit is not None else ""


def _stayed(
    ours: list[Quantity], theirs: list[Quantity], known: tuple[Set[float], Set[float]]
) -> tuple[Quantity, Quantity] | None:
    """A number of the prose that became another one, though formulas on both sides hold both: neither has moved."""
    both = known[0] & known[1]
    pair = [
        [
            item
            for item in some
            if item.kind == "number" and item.unit is None and not _stands_in(item, other, reverse=back)
        ]
        for some, other, back in ((ours, theirs, False), (theirs, ours, True))
    ]
    if len(pair[0]) != 1 or len(pair[1]) != 1 or any(round(item[0].value, 9) not in both for item in pair):
        return None
    return pair[0][0], pair[1][0]


_ZERO = re.compile(
    r"\b(?:vanish\w*|zeros?|roots?|verschwinde\w*|nullstellen?|s['’]annul\w+|racines?|se anul\w+|raíces)\b|= ?0\b",
    re.IGNORECASE,
)


def _vanishes(item: Quantity, other: Analysis) -> bool:
    """`is zero` said as `vanishes` or `has a root`."""
    return item.value == 0 and item.unit is None and _ZERO.search(other.text) is not None


_WORKDAYS = re.compile(
    r"\b(?:weekdays?|weekends?|werktags?|wochentags?|wochenende\w*|jours? ouvrables?|en semaine|week-ends?|entre semana|días laborables)\b",
    re.IGNORECASE,
)


def _workday(item: Quantity, other: Analysis) -> bool:
    """`Monday to Friday` for weekdays, and `Saturday` for the weekend."""
    return item.kind == "date" and item.date[2] < 0 and _WORKDAYS.search(other.text) is not None


def _counts_a_list(item: Quantity, analysis: Analysis) -> bool:
    """`three things`, before they are named."""
    following = next((token for token in analysis.tokens if token.start >= item.end), None)
    return item.unit is None and 2 <= item.value <= 9 and following is not None and following.lower in GENERIC


def _in_formula(item: Quantity, known: Set[float], others: list[Quantity]) -> bool:
    """Whether a formula of the other side names the number, and its prose gives it no other unit."""
    if item.kind != "number" or round(item.value, 9) not in known:
        return False
    return item.unit is None or not any(
        other.value == item.value and other.unit is not None for other in others
    )


def _stands_in(item: Quantity, others: list[Quantity], *, reverse: bool = False) -> bool:
    return (
        item.implied
        or any(same(other, item) if reverse else same(item, other) for other in others)
        or (item.kind == "date" and _said_in_parts(item, others))
        or (
            len(item.parts) == 2
            and all(any(_is_bare(part, other) for other in others) for part in item.parts)
        )
    )


def _is_bare(value: float, other: Quantity) -> bool:
    return other.kind == "number" and (other.value == value or value in other.parts)


def same(a: Quantity, b: Quantity) -> bool:
    """Whether a mention `b` can stand for `a`: equal after conversion, or a rounding that says so."""
    if "time" in (a.kind, b.kind):
        return _same_time(a, b)
    if a.kind == "date" and b.kind == "date":
        if a.date[0] < 0 and b.date[0] < 0 and min(-a.date[0], -b.date[0]) < 10:
            return (a.date[0] - b.date[0]) % 10 == 0  # `the nineties` are those of any century
        return all(x == y or 0 in (x, y) for x, y in zip(a.date, b.date, strict=True)) and _overlap(
            a.date, b.date
        )
    if "date" in (a.kind, b.kind):
        date, number = (a, b) if a.kind == "date" else (b, a)
        return (
            number.kind == "number" and number.value in (date.date[0], date.date[2]) and number.unit is None
        )
    if a.kind != b.kind:
        return {a.kind, b.kind} == {"ordinal", "number"} and a.value == b.value and (a.unit or b.unit) is None
    if a.kind != "number":
        return a.value == b.value
    return any(_same_number(x, y) for x in _readings(a) for y in _readings(b))


def _same_time(a: Quantity, b: Quantity) -> bool:
    """Times of day by the clock's face; a bare number, or one of hours, is a full hour."""
    if a.kind == b.kind:
        return shows(a.value, b.value)
    number, time = (a, b) if a.kind == "number" else (b, a)
    hours = number.unit is None or (number.unit.dimension == "time" and number.unit.factor == 3600)
    return number.kind == "number" and hours and shows(number.value * 60, time.value)


def _readings(item: Quantity) -> list[Quantity]:
    """A number in a range may have the unit and the scale of the number behind it, or none; `twice an hour` is each half hour."""
    if item.every is not None and item.value:
        return [item, replace(item, value=1 / item.value, unit=item.every)]
    if not item.elliptic:
        return [item]
    return [replace(item, value=item.value * item.scale), item, replace(item, unit=None, per=None)]


def _same_number(a: Quantity, b: Quantity) -> bool:
    first, second = _base(a), _base(b)
    if (a.per is None) != (b.per is None) and a.unit is not None and a.unit == b.unit:
        return _close(a.value, b.value, a, b)  # `a meter every year`, `a meter annually`
    if a.per is not None and b.per is not None and (first is None) == (second is None):
        if a.per.dimension != b.per.dimension:
            return False
        if first is None:
            return _close(a.value / a.per.factor, b.value / b.per.factor, a, b)
    if first is None or second is None:
        return _same_bare(a, b, first is None and second is None)
    if "temperature" in first[0] or "temperature" in second[0]:
        return _same_temperature(a, b)
    if first[0] != second[0]:
        return {first[0], second[0]} == {"mass", "money:gbp"} and a.value == b.value  # pounds are both
    if first[0] == "part" and min(first[1], second[1]) < 0:
        first, second = (first[0], abs(first[1])), (second[0], abs(second[1]))  # `-12 %` for `12 % less`
    if a.per is not None and b.per is not None and first[0] != "length":
        if a.per.dimension != b.per.dimension:
            return False
        return _close(first[1] / a.per.factor, second[1] / b.per.factor, a, b)
    return _close(first[1], second[1], a, b)


def _same_bare(a: Quantity, b: Quantity, both: bool) -> bool:
    """Numbers one of which has no unit: `3.8` for `3.8 billion euros`, `five times` for `a fifth`."""
    if "part" in {item.unit.dimension for item in (a, b) if item.unit is not None}:
        part, bare = (a, b) if a.unit is not None else (b, a)
        share = part.value * (part.unit.factor if part.unit is not None else 1.0)
        return (
            ((a.weak or b.weak) and _close(a.value, b.value, a, b))
            or bare.value in part.parts
            or (share > 0 and bare.value > 1 and abs(share * bare.value - 1) < 1e-6)
        )
    if _close(a.value, b.value, a, b):
        return True
    return not both and any(x.scale > 1 and x.value / x.scale == y.value for x, y in ((a, b), (b, a)))


_ABSOLUTE = {"temperature:c": (1.0, 273.15), "temperature:f": (5 / 9, 255.372), "temperature:k": (1.0, 0.0)}


def _same_temperature(a: Quantity, b: Quantity) -> bool:
    """Degrees without a scale may be those of any; a conversion may be rounded to a degree."""
    names = [item.unit.dimension if item.unit is not None else "" for item in (a, b)]
    if "degree" in names or names[0] == names[1]:
        return {*names} <= {*_ABSOLUTE, "degree"} and _close(a.value, b.value, a, b)
    if not {*names} <= {*_ABSOLUTE}:
        return False
    kelvin = [
        item.value * _ABSOLUTE[name][0] + _ABSOLUTE[name][1] for item, name in zip((a, b), names, strict=True)
    ]
    return abs(kelvin[0] - kelvin[1]) <= max(1.0, 0.02 * kelvin[0])


def _overlap(a: tuple[int, int, int], b: tuple[int, int, int]) -> bool:
    return any(x and y for x, y in zip(a, b, strict=True))


def _base(item: Quantity) -> tuple[str, float] | None:
    """Dimension and value in base units; None without a unit."""
    if item.unit is None:
        return None
    if item.unit.dimension == "speed":
        return "length", item.value * item.unit.factor
    if item.per is not None and item.unit.dimension == "length" and item.per.dimension == "time":
        return "length", item.value * item.unit.factor / item.per.factor
    return item.unit.dimension, item.value * item.unit.factor


def _close(x: float, y: float, a: Quantity, b: Quantity) -> bool:
    difference, size = abs(x - y), max(abs(x), abs(y), 1e-9)
    if difference <= _SAME * size or (difference <= _CONVERTED * size and _systems_differ(a, b)):
        return True
    rounded = (a.about or b.about) and not (a.year_like or b.year_like)
    return rounded and abs(x - y) <= _ROUNDED * max(abs(x), abs(y)) and _digits(b.value) < _digits(a.value)


def _systems_differ(a: Quantity, b: Quantity) -> bool:
    """Whether one unit is metric and the other one is not."""
    if a.unit is None or b.unit is None or a.unit.dimension == "time":
        return False
    ratio = math.log10(a.unit.factor / b.unit.factor)
    return abs(ratio - round(ratio)) > 1e-6


def _digits(value: float) -> int:
    """Significant digits of a number as it is written."""
    return len(f"{abs(value):.10g}".replace(".", "").strip("0").split("e")[0])


def _said_in_parts(item: Quantity, others: list[Quantity]) -> bool:
    """Whether the year of a date stands apart from its day and month."""
    year, month, day = item.date
    if not year or not month:
        return False
    partial = any(other.kind == "date" and other.date[1:] == (month, day) for other in others)
    return partial and any(other.kind == "number" and other.value == year for other in others)


def _findings(
    source: Analysis, rewrite: Analysis, lost: list[Quantity], added: list[Quantity]
) -> Iterator[Finding]:
    """Pairs what was lost with what came in its place, and names both spans."""
    rest = list(added)
    for item in lost:
        partner = next((other for other in rest if _replaces(item, other)), None)
        if partner is not None:
            rest.remove(partner)
            yield Finding(
                kind=_kind(item, partner),
                direction="changed",
                message=f"{_said(source, item)!r} became {_said(rewrite, partner)!r}",
                source=_span(source, item),
                rewrite=_span(rewrite, partner),
            )
        elif not item.weak:
            yield Finding(
                kind=_kind(item, None),
                direction="lost",
                message=f"{_said(source, item)!r} is missing",
                source=_span(source, item),
                severity="warn" if _enumerates(item) else "fail",
            )
    for item in rest:
        yield Finding(
            kind=_kind(item, None),
            direction="added",
            message=f"{_said(rewrite, item)!r} is not in the source",
            rewrite=_span(rewrite, item),
            severity="warn" if item.weak or _enumerates(item) else "fail",
        )


def _enumerates(item: Quantity) -> bool:
    """`the second`, `the third`, which a list may do without."""
    return item.kind == "ordinal" and item.value <= _LISTED


_LISTED = 3


def _replaces(a: Quantity, b: Quantity) -> bool:
    if a.kind != b.kind and ("ordinal" in (a.kind, b.kind) or not (a.year_like or b.year_like)):
        return False
    return a.value == b.value or a.unit == b.unit or (a.unit is not None and b.unit is not None)


def _kind(item: Quantity, partner: Quantity | None) -> str:
    if (
        item.kind == "date"
        or (item.year_like and partner is None)
        or (partner and item.year_like and partner.year_like)
    ):
        return "date"
    if item.kind != "number":
        return item.kind
    if (
        partner is not None
        and item.value == partner.value
        and (item.unit, item.per) != (partner.unit, partner.per)
    ):
        return "unit"
    if item.unit is not None and item.unit.dimension == "part":
        return "percent"
    return "number"


def _said(analysis: Analysis, item: Quantity) -> str:
    return analysis.text[item.start : item.end]


def _span(analysis: Analysis, item: Quantity) -> Span:
    return Span(start=item.start, end=item.end, text=_said(analysis, item))
