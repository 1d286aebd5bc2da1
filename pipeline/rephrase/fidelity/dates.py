"""Dates, weekdays and times of day, in figures and with the names of months."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pipeline.rephrase.fidelity import numerals
from pipeline.rephrase.fidelity.analysis import Analysis, Token
from pipeline.rephrase.fidelity.quantity import Quantity

MONTHS: dict[str, int] = {
    name: number
    for names in (
        "january february march april may june july august september october november december",
        "januar februar märz april mai juni juli august september oktober november dezember",
        "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
        "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
        "jan feb mar apr may jun jul aug sep oct nov dec",
    )
    for number, name in enumerate(names.split(), 1)
} | {"sept": 9, "jänner": 1}
WEEKDAYS: dict[str, int] = {
    name: number
    for names in (
        "monday tuesday wednesday thursday friday saturday sunday",
        "montag dienstag mittwoch donnerstag freitag samstag sonntag",
        "lundi mardi mercredi jeudi vendredi samedi dimanche",
        "lunes martes miércoles jueves viernes sábado domingo",
    )
    for number, name in enumerate(names.split(), 1)
} | {
    f"{name}{ending}": number
    for names, endings in (
        ("montag dienstag mittwoch donnerstag freitag samstag sonntag", ("s", "e", "en")),
        ("monday tuesday wednesday thursday friday saturday sunday", ("s",)),
        ("lundi mardi mercredi jeudi vendredi samedi dimanche", ("s",)),
    )
    for number, name in enumerate(names.split(), 1)
    for ending in endings
}
_SEASON_ALIKE = frozenset({"may", "mar", "march", "mars", "dec", "sun", "sat"})
_TIME = re.compile(r"(?<![\d.:])([01]?\d|2[0-4])(?::|[  \u202f]?h[  \u202f]?)([0-5]\d)(?![\d:])")
_ISO = re.compile(r"(?<!\d)(\d{4})-(\d{2})-(\d{2})(?!\d)|(?<![\d.])(\d{1,2})\.(\d{1,2})\.(\d{4})(?!\d)")
_HAN_DATE = re.compile(r"(?:(\d{3,4})年)?(?:(\d{1,2})月)(?:(\d{1,2})[日号])?|(\d{3,4})年")
_HAN_NUMBER = re.compile(r"[零〇一二三四五六七八九十百千万亿两]+")
_DECADE = re.compile(r"(?<!\d)(1\d|20)(\d)0(?:er|s|’s|'s)\b|(?:années|años)\s+((?:1\d|20)?\d)0\b")


def free(start: int, end: int, taken: list[tuple[int, int]]) -> bool:
    return not any(low < end and start < high for low, high in taken)


def _sentence_at(analysis: Analysis, offset: int) -> int:
    for sentence in analysis.sentences:
        if sentence.start <= offset < sentence.end:
            return sentence.index
    return 0


def patterns(analysis: Analysis) -> Iterator[Quantity]:
    """Dates in figures, times of day, decades and Chinese dates: what is written without words."""
    text = analysis.text
    for found in _ISO.finditer(text):
        year, month, day = (found[1], found[2], found[3]) if found[1] else (found[6], found[5], found[4])
        date = (int(year), int(month), int(day))
        yield Quantity("date", date[2], *found.span(), _sentence_at(analysis, found.start()), date=date)
    for found in _TIME.finditer(text):
        minutes = int(found[1]) * 60 + int(found[2])
        yield Quantity("time", minutes, *found.span(), _sentence_at(analysis, found.start()))
    for found in _DECADE.finditer(text):
        decade = int(found[1] + found[2]) if found[1] else int(found[3])
        decade += 190 if decade < 10 else 0
        yield Quantity("date", 0, *found.span(), _sentence_at(analysis, found.start()), date=(-decade, 0, 0))
    if analysis.language == "zh":
        for found in _HAN_DATE.finditer(text):
            date = (int(found[1] or found[4] or 0), int(found[2] or 0), int(found[3] or 0))
            yield Quantity("date", date[2], *found.span(), _sentence_at(analysis, found.start()), date=date)
        for found in _HAN_NUMBER.finditer(text):
            value = numerals.chinese(found[0])
            if value is not None and (len(found[0]) > 1 or value > 2):
                yield Quantity(
                    "number",
                    value,
                    *found.span(),
                    _sentence_at(analysis, found.start()),
                    weak=len(found[0]) == 1,
                )


def dates(tokens: list[Token], taken: list[tuple[int, int]]) -> Iterator[Quantity]:
    """Dates with a month's name, and weekdays."""
    for at, token in enumerate(tokens):
        if token.kind != "word" or (not token.text[0].isupper() and token.lower in _SEASON_ALIKE):
            continue
        if token.lower in WEEKDAYS and len(token.lower) > 4:
            yield Quantity(
                "date", 0, token.start, token.end, token.sentence, date=(0, 0, -WEEKDAYS[token.lower])
            )
        if (month := MONTHS.get(token.lower)) is None:
            continue
        low, high, year, day = at, at, 0, 0
        before = [tokens[at - step] for step in (1, 2) if at >= step]
        if (before and before[0].lower in (".", "de", "of") and len(before) > 1) or (
            before
            and before[0].kind == "word"
            and before[0].lower in ("er", "th", "st", "nd", "rd")
            and len(before) > 1
        ):
            low_day = before[1], 2
        else:
            low_day = (before[0], 1) if before else (token, 0)
        if low_day[1] and (number := _small(low_day[0])):
            day, low = number, at - low_day[1]
        after = at + 1
        if not day and after < len(tokens) and (number := _small(tokens[after])):
            day, high, after = number, after, after + 1
            if after < len(tokens) and tokens[after].lower in ("th", "st", "nd", "rd"):
                after += 1
        if after < len(tokens) and tokens[after].lower in (",", "de", "of"):
            after += 1
        if after < len(tokens) and tokens[after].kind == "num" and re.fullmatch(r"\d{4}", tokens[after].text):
            year, high = int(tokens[after].text), after
        if not (day or year) and token.lower in _SEASON_ALIKE and not _in_date(before):
            continue
        start, end = tokens[low].start, tokens[high].end
        if free(start, end, taken):
            yield Quantity("date", day, start, end, token.sentence, date=(year, month, day))


def _in_date(before: list[Token]) -> bool:
    return bool(before) and before[0].lower in {
        "in",
        "of",
        "since",
        "until",
        "by",
        "early",
        "late",
        "en",
        "im",
        "seit",
        "bis",
    }


def _small(token: Token) -> int:
    return (
        int(token.text) if token.kind == "num" and token.text.isdigit() and 1 <= int(token.text) <= 31 else 0
    )
