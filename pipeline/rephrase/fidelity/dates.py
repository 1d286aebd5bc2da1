"""Dates, weekdays and times of day, in figures and with the names of months."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pipeline.rephrase.fidelity import numerals
from pipeline.rephrase.fidelity.analysis import Analysis, Token
from pipeline.rephrase.fidelity.clocks import times
from pipeline.rephrase.fidelity.quantity import Quantity

MONTHS: dict[str, int] = {
    name: number
    for names in (
        "january february march april may june july august september october november december",
        "januar februar märz april mai juni juli august september oktober november dezember",
        "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
        "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
        "jan feb mar apr may jun jul aug sep oct nov dec",
        "jan feb mrz apr mai jun jul aug sep okt nov dez",
        "janv févr mars avr mai juin juil août sept oct nov déc",
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
_ISO = re.compile(r"(?<!\d)(\d{4})-(\d{2})-(\d{2})(?!\d)|(?<![\d.])(\d{1,2})\.(\d{1,2})\.(\d{4})(?!\d)")
_HAN_DATE = re.compile(r"(?:(\d{3,4})年)?(?:(\d{1,2})月)(?:(\d{1,2})[日号])?|(\d{3,4})年")
_HAN_NUMBER = re.compile(r"[零〇一二三四五六七八九十百千万亿两]+")
_SHORT_DATE = re.compile(r"(?<![\d.])(\d{1,2})\.\s?(1[0-2]|0?[1-9])\.(?!\s?\d)")
_DECADE = re.compile(r"(?<!\d)(1\d|20)(\d)0(?:er|s|’s|'s)\b|(?:années|años)\s+((?:1\d|20)?\d)0\b")

_TENS: dict[str, dict[str, int]] = {
    "en": {
        word: digit
        for digit, word in enumerate(
            "twenties thirties forties fifties sixties seventies eighties nineties".split(), 2
        )
    },
    "de": {
        word: digit
        for digit, word in enumerate(
            "zwanziger dreißiger vierziger fünfziger sechziger siebziger achtziger neunziger".split(), 2
        )
    },
}
_SPOKEN_DECADE = re.compile(
    r"\b(?:"
    + "|".join(word for words in _TENS.values() for word in words)
    + r")\b|\b([2-9])0er\b|['’]([2-9])0s\b",
    re.IGNORECASE,
)
_CENTURY = re.compile(
    r"\b(?:(\d{1,2})(?:st|nd|rd|th)|([^\W\d_]+(?:-[^\W\d_]+)?))[- ](?:centur(?:y|ies)|Jahrhunderts?|siècles?)\b|\b(\d{1,2})\.[ \u00a0]?Jahrhunderts?\b"
    r"|\b([IVX]{1,5})e?r?[ \u00a0]siècle|\bsiglo[ \u00a0]([IVX]{1,5})\b",
    re.IGNORECASE,
)
_CENTURIES = re.compile(r"[Cc]entur|hundert|siècle|[Ss]iglo")
_RANKS = {word: rank for ranks in numerals.ORDINALS.values() for word, rank in ranks.items()}
_ROMAN = {"I": 1, "V": 5, "X": 10}


def free(start: int, end: int, taken: list[tuple[int, int]]) -> bool:
    return not any(low < end and start < high for low, high in taken)


def patterns(analysis: Analysis) -> Iterator[Quantity]:
    """Dates in figures, times of day, decades and Chinese dates: what is written without words."""
    text = analysis.text
    for found in _ISO.finditer(text):
        year, month, day = (found[1], found[2], found[3]) if found[1] else (found[6], found[5], found[4])
        date = (int(year), int(month), int(day))
        yield Quantity("date", date[2], *found.span(), analysis.sentence_at(found.start()), date=date)
    yield from times(analysis)
    for found in _DECADE.finditer(text):
        decade = int(found[1] + found[2]) if found[1] else int(found[3])
        decade += 190 if decade < 10 else 0
        yield Quantity("date", 0, *found.span(), analysis.sentence_at(found.start()), date=(-decade, 0, 0))
    yield from _spans_of_years(analysis)
    if analysis.language == "de":
        for found in _SHORT_DATE.finditer(text):
            date = (0, int(found[2]), int(found[1]))
            yield Quantity("date", date[2], *found.span(), analysis.sentence_at(found.start()), date=date)
    if analysis.language == "zh":
        for found in _HAN_DATE.finditer(text):
            date = (int(found[1] or found[4] or 0), int(found[2] or 0), int(found[3] or 0))
            yield Quantity("date", date[2], *found.span(), analysis.sentence_at(found.start()), date=date)
        for found in _HAN_NUMBER.finditer(text):
            value = numerals.chinese(found[0])
            if value is not None and (len(found[0]) > 1 or value > 2):
                yield Quantity(
                    "number",
                    value,
                    *found.span(),
                    analysis.sentence_at(found.start()),
                    weak=len(found[0]) == 1,
                )


def _spans_of_years(analysis: Analysis) -> Iterator[Quantity]:
    """Decades in words, and centuries: their first decade, as `the 1600s` are the 17th century.

    A decade whose century is not said is its digit alone.
    """
    for found in _SPOKEN_DECADE.finditer(analysis.text):
        digit = int(found[1] or found[2] or 0) or next(
            words[found[0].lower()] for words in _TENS.values() if found[0].lower() in words
        )
        yield Quantity("date", 0, *found.span(), analysis.sentence_at(found.start()), date=(-digit, 0, 0))
    if not _CENTURIES.search(analysis.text):
        return
    for found in _CENTURY.finditer(analysis.text):
        number = int(found[1] or found[3] or 0) or _roman((found[4] or found[5] or "").upper())
        number = number or _RANKS.get((found[2] or "").lower(), 0)
        if number:
            date = (-10 * (number - 1), 0, 0)
            yield Quantity("date", 0, *found.span(), analysis.sentence_at(found.start()), date=date)


def _roman(text: str) -> int:
    values = [_ROMAN[letter] for letter in text]
    return sum(-value if value < max(values[at:]) else value for at, value in enumerate(values))


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
        if after < len(tokens) and tokens[after].lower in (",", ".", "de", "of"):
            after += 1
        if after < len(tokens) and tokens[after].kind == "num" and re.fullmatch(r"\d{4}", tokens[after].text):
            year, high = int(tokens[after].text), after
        unsure = not (day or year) and token.lower in _SEASON_ALIKE and not _in_date(before)
        start, end = tokens[low].start, tokens[high].end
        if free(start, end, taken):
            yield Quantity("date", day, start, end, token.sentence, date=(year, month, day), implied=unsure)


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
