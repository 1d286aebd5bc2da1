"""Numbers that belong together: `2 hours and 41 minutes`, `60 of 100`, `from 2 to 3.8 billion`."""

from __future__ import annotations

import re
from dataclasses import replace

from pipeline.rephrase.fidelity.analysis import Analysis
from pipeline.rephrase.fidelity.quantity import Quantity
from pipeline.rephrase.fidelity.shares import WHOLE
from pipeline.rephrase.fidelity.units import unit_of

_JOINT = re.compile(r"[ ,]*(?:and|und|et|y)?\s*")
_HALF = re.compile(r"\s(?:and|und|et|y)\s(?:a |eine |un |une )?")
_OUT_OF = re.compile(
    r"(?:\s[^\W\d]+){0,2}\s(?:out of|of|in|von|sur|de cada|de|en)\s(?:every |each |the |je |los |les )?"
)
_RANGE = re.compile(
    r"\s?(?:-|–|to|and|or|bis|auf|und|oder|statt|instead of|à|a|et|ou|y|o|up to|down to)\s?(?:about |some |over |etwa |rund )?"
)


_TIMES = re.compile(
    r"\s?(?:times|mal|fois|veces)?\s?(?:a|an|per|each|every|am|pro|in der|die|par|al|a la|por) ([^\W\d]+)",
    re.IGNORECASE,
)
_TWICE = re.compile(r"twice|thrice|zweimal|dreimal|(?:times|mal|fois|veces)\b", re.IGNORECASE)


def _repeated(item: Quantity, text: str) -> Quantity:
    """`three times an hour`, which is every twenty minutes."""
    behind = _TIMES.match(text, item.end)
    if item.kind != "number" or item.unit is not None or behind is None:
        return item
    unit = unit_of(behind[1])
    if unit is None or unit.dimension != "time" or not _TWICE.search(text, item.start, behind.end()):
        return item
    return replace(item, every=unit)


def combine(found: list[Quantity], analysis: Analysis) -> list[Quantity]:
    """The quantities of a text by position, with those merged that make one statement."""
    done: list[Quantity] = []
    for item in sorted(found, key=lambda item: item.start):
        last = done[-1] if done else None
        if last is None or last.sentence != item.sentence or "number" not in (last.kind, item.kind):
            done.append(item)
            continue
        between = analysis.text[last.end : item.start]
        if (merged := _merged(last, item, between)) is not None:
            done[-1] = merged
            continue
        if (
            last.unit is None
            and item.kind == last.kind == "number"
            and _RANGE.fullmatch(between)
            and not last.year_like
        ):
            done[-1] = replace(last, unit=item.unit, per=item.per, scale=item.scale, elliptic=True)
        done.append(item)
    return [_repeated(item, analysis.text) for item in done]


def _merged(a: Quantity, b: Quantity, between: str) -> Quantity | None:
    if a.kind != "number" or b.kind != "number":
        return None
    if a.unit is not None and b.unit is not None and a.unit.dimension == b.unit.dimension == "time":
        smaller = b.unit.factor < a.unit.factor and b.value * b.unit.factor < a.unit.factor
        if smaller and _JOINT.fullmatch(between):
            return replace(a, value=a.value + b.value * b.unit.factor / a.unit.factor, end=b.end, weak=False)
    if (
        b.value == 0.5
        and b.unit == WHOLE
        and a.unit != WHOLE
        and a.value == int(a.value)
        and _HALF.fullmatch(between)
    ):
        return replace(a, value=a.value + 0.5 * a.scale, end=b.end, weak=False)
    if b.value == 0.5 and b.unit is not None and a.unit is None and _HALF.fullmatch(between):
        return replace(a, value=a.value + 0.5, unit=b.unit, end=b.end, weak=False)
    bare = a.unit is None and b.unit is None and not (a.year_like or b.year_like)
    if bare and 0 < a.value < b.value <= 1000 and _OUT_OF.fullmatch(between):
        return replace(
            a, value=a.value / b.value, unit=WHOLE, end=b.end, weak=False, parts=(a.value, b.value)
        )
    return None
