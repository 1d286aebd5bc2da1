"""Times of day, in figures and in words: `6 a.m.`, `half past six`, `halb sieben`, `9 Uhr 30`, `noon`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pipeline.rephrase.fidelity import numerals
from pipeline.rephrase.fidelity.analysis import Analysis
from pipeline.rephrase.fidelity.quantity import Quantity

HALF_DAY = 720
"""Minutes after which a clock face shows the same; who writes `six in the morning` gives no half."""

_FIGURES = re.compile(
    r"(?<![\d.:])(?P<hour>[01]?\d|2[0-4])(?::|[  \u202f]?h[  \u202f]?)(?P<minute>[0-5]\d)(?![\d:])(?![  \u202f]?min)"
    r"(?:\s?(?:[ap]\.?m\b\.?|Uhr|h\b))?"
)
_HOURS = "|".join(["one", *(word for word, value in numerals.words("en").items() if 2 <= value <= 12)])
_STUNDEN = "|".join(
    ["ein", "eins", *(word for word, value in numerals.words("de").items() if 2 <= value <= 12)]
)
_SPOKEN: dict[str, tuple[tuple[re.Pattern[str], int], ...]] = {
    "en": (
        (re.compile(rf"\b(?:a )?quarter (?:past|after) ({_HOURS}|\d+)\b", re.IGNORECASE), 15),
        (re.compile(rf"\b(?:a )?quarter (?:to|before) ({_HOURS}|\d+)\b", re.IGNORECASE), -15),
        (re.compile(rf"\bhalf past ({_HOURS}|\d+)\b", re.IGNORECASE), 30),
        (re.compile(rf"\b({_HOURS}|\d{{1,2}})\s?(?:[ap]\.?m\b\.?|o['’]clock)", re.IGNORECASE), 0),
        (re.compile(r"\b(noon|midday|midnight)\b", re.IGNORECASE), 0),
    ),
    "de": (
        (re.compile(rf"\bviertel nach ({_STUNDEN})\b", re.IGNORECASE), 15),
        (re.compile(rf"\b(?:viertel vor|dreiviertel) ({_STUNDEN})\b", re.IGNORECASE), -15),
        (re.compile(rf"\bhalb ({_STUNDEN})\b", re.IGNORECASE), -30),
        (re.compile(rf"(?<![:.\d])\b({_STUNDEN}|\d{{1,2}}) uhr\b(?! \d)", re.IGNORECASE), 0),
    ),
}
_MINUTES = re.compile(r"\b(\d{1,2}) Uhr (\d{2})\b|\b(\d{1,2})\.(\d{2}) Uhr\b")


def times(analysis: Analysis) -> Iterator[Quantity]:
    """The times of day of a text; `value` is in minutes after midnight."""
    for found in _FIGURES.finditer(analysis.text):
        yield _time(analysis, int(found["hour"]) * 60 + int(found["minute"]), found)
    for found in _MINUTES.finditer(analysis.text):
        yield _time(analysis, int(found[1] or found[3]) * 60 + int(found[2] or found[4]), found)
    for pattern, minutes in _SPOKEN.get(analysis.language, ()):
        for found in pattern.finditer(analysis.text):
            hour = _hour(found[1].lower(), analysis.language)
            if hour is not None and hour <= 24:
                yield _time(analysis, hour * 60 + minutes, found)


def _hour(word: str, language: str) -> int | None:
    if word.isdigit():
        return int(word)
    if word in ("one", "ein", "eins"):
        return 1
    return {"noon": 12, "midday": 12, "midnight": 0}.get(word, numerals.words(language).get(word))


def _time(analysis: Analysis, minutes: int, found: re.Match[str]) -> Quantity:
    return Quantity("time", minutes, *found.span(), analysis.sentence_at(found.start()))


def shows(minutes: float, other: float) -> bool:
    """Whether two times of day look the same on a clock face."""
    return (minutes - other) % HALF_DAY == 0
