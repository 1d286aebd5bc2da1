"""Bounds on numbers: whether a text says more or less than a number, at least or at most it.

A number that both texts name, and that the one bounds from below and the other from above, has changed its direction.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from pipeline.records import Finding, Span
from pipeline.rephrase.fidelity.analysis import Analysis
from pipeline.rephrase.fidelity.figures import same
from pipeline.rephrase.fidelity.marks import marks
from pipeline.rephrase.fidelity.quantities import quantities
from pipeline.rephrase.fidelity.quantity import Quantity

_FILL = r"(?:\s(?:than|als|que|de|d['’]|of|the|a|an|about|etwa|von|des|à|el|los|las|la|une?|unos|einem|einer|eine|einen))*\s*(?:que\s)?[£$€]?\s*"
"""What may stand between a bounding word and its number."""
_MORE = {
    "en": r"more|over|above|exceed\w*|upwards of|at (?:the )?(?:very )?least|(?:a )?minimum(?: of)?|older|longer|higher|larger|bigger|greater|heavier|taller|hotter|warmer|deeper|farther|further|thicker|wider|beyond|≥|>",
    "de": r"mehr|über|oberhalb|mindestens|wenigstens|älter|länger|höher|größer|schwerer|tiefer|weiter|wärmer|breiter|dicker|überschreite\w*|≥|>",
    "fr": r"(?<!au )plus|au moins|au[- ]dessus|au[- ]delà|dépass\w+|supérieure?s?|minimum|≥|>",
    "es": r"más|al menos|por lo menos|como mínimo|por encima|superior(?:es)?|mínimo|≥|>",
}
_LESS = {
    "en": r"less|fewer|under|below|beneath|at (?:the )?(?:very )?most|(?:a )?maximum(?: of)?|up to|as (?:many|much|long|high|far) as|within|younger|shorter|lower|smaller|lighter|nearer|closer|colder|thinner|narrower|≤|<",
    "de": r"weniger|unter|unterhalb|höchstens|maximal|bis zu|jünger|kürzer|niedriger|kleiner|leichter|näher|kälter|binnen|innerhalb|≤|<",
    "fr": r"(?<!au )(?<!pas )moins|au plus|au[- ]dessous|jusqu['’]à|au maximum|maximum|inférieure?s?|≤|<",
    "es": r"(?<!al )(?<!lo )menos|como máximo|a lo sumo|por debajo|hasta|inferior(?:es)?|máximo|≤|<",
}
_BEHIND_MORE = re.compile(
    r"[\s,(]{0,3}(?:or (?:more|older|above|longer)|at (?:the )?(?:very )?least|at the minimum|minimum|oder (?:mehr|länger|älter)|au minimum|au moins|ou plus|o más|como mínimo|and (?:over|above|up))\b"
)
_BEHIND_LESS = re.compile(
    r"[\s,(]{0,3}(?:or (?:less|fewer|younger|below)|at (?:the )?(?:very )?most|at the maximum|maximum|oder weniger|au maximum|au plus|ou moins|o menos|como máximo)\b"
)
_NOT = re.compile(
    r"(?:\b(?:no|not|never|cannot|nicht|kein\w*|pas|ne|no puede)|n['’]t)\s+(?:be\s+|been\s+|être\s+|ser\s+)?$",
    re.IGNORECASE,
)
_PATTERNS = {
    language: (
        re.compile(rf"(?<![\w-])(?:{_MORE[language]}){_FILL}$", re.IGNORECASE),
        re.compile(rf"(?<![\w-])(?:{_LESS[language]}){_FILL}$", re.IGNORECASE),
    )
    for language in _MORE
}
_LOOK = 40
"""Characters before a number in which its bound stands."""


def compare_bounds(source: Analysis, rewrite: Analysis) -> Iterator[Finding]:
    """A finding for each number whose bound has turned; numbers that a text bounds in both ways are left out."""
    if source.language != rewrite.language or source.language not in _PATTERNS:
        return
    there = [(item, bound(rewrite, item)) for item in quantities(rewrite) if item.kind == "number"]
    for item in quantities(source):
        way = bound(source, item) if item.kind == "number" else 0
        twins = [(other, other_way) for other, other_way in there if same(item, other)]
        if not way or not twins or any(other_way != -way for _, other_way in twins):
            continue
        alike = [twin for twin in quantities(source) if twin is not item and same(twin, item)]
        other = twins[0][0]
        if alike or _denied(source, item) != _denied(rewrite, other):
            continue
        yield Finding(
            kind="comparison",
            direction="changed",
            message=f"{source.text[item.start : item.end]!r} is bounded the other way",
            source=_span(source, item),
            rewrite=_span(rewrite, other),
        )


def bound(analysis: Analysis, item: Quantity) -> int:
    """1 for a number that is bounded from below (`more than 5`, `at least 5`), -1 from above, 0 for neither."""
    way, turned = _read(analysis, item)
    return -way if turned else way


def _read(analysis: Analysis, item: Quantity) -> tuple[int, bool]:
    """The direction of the bounding word, and whether a negator stands before it."""
    sentence = analysis.sentences[item.sentence]
    before = analysis.text[max(sentence.start, item.start - _LOOK) : item.start]
    more, less = _PATTERNS[analysis.language]
    for pattern, way in ((less, -1), (more, 1)):
        if (hit := pattern.search(before)) is not None:
            return way, _NOT.search(before[: hit.start()]) is not None
    behind = analysis.text[item.end : min(sentence.end, item.end + _LOOK)]
    return (_BEHIND_MORE.match(behind) is not None) - (_BEHIND_LESS.match(behind) is not None), False


def _denied(analysis: Analysis, item: Quantity) -> bool:
    """Whether the sentence denies otherwise than in the bound itself: `bags over 30 cm are not allowed`."""
    hard = sum(mark.kind != "soft" for mark in marks(analysis)[item.sentence])
    own = _read(analysis, item)[1] and any(
        mark.kind != "soft" and item.start - _LOOK <= mark.token.start < item.start
        for mark in marks(analysis)[item.sentence]
    )
    return (hard - own) % 2 == 1


def _span(analysis: Analysis, item: Quantity) -> Span:
    return Span(start=item.start, end=item.end, text=analysis.text[item.start : item.end])
