"""Numbers with their units, dates and times of day, read from a text and compared by value."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from pipeline.rephrase.fidelity import numerals
from pipeline.rephrase.fidelity.analysis import Analysis, Token
from pipeline.rephrase.fidelity.combined import combine
from pipeline.rephrase.fidelity.dates import dates, free, patterns
from pipeline.rephrase.fidelity.quantity import Quantity
from pipeline.rephrase.fidelity.shares import is_share, share
from pipeline.rephrase.fidelity.units import PER, PHRASES, UNITS, Unit, unit_of

_ABOUT = frozenset(
    (
        "about around approximately roughly nearly almost some circa ca approx etwa rund ungefähr fast knapp gut environ près "
        "presque quelque unos aproximadamente casi cerca alrededor 约 大约 近 ≈ ~ estimated"
    ).split()
)
_CURRENCY = {"€": UNITS["€"], "$": UNITS["$"], "£": UNITS["£"], "¥": UNITS["¥"]}
_YEAR = re.compile(r"1\d{3}|20\d{2}|2100")
_TIMES = {"twice": 2, "thrice": 3, "zweimal": 2, "dreimal": 3}
_FOLD = re.compile(r"-?(?:folds?|fache[nsr]?|fach|mals?|mal)$")
_MINUS = frozenset("-−–")


@lru_cache(maxsize=16)
def quantities(analysis: Analysis) -> list[Quantity]:
    """All numbers, dates, times and ordinals of a text, by position."""
    found = [*patterns(analysis)]
    taken = [(item.start, item.end) for item in found]
    for tokens in analysis.by_sentence:
        for item in dates(tokens, taken):
            found.append(item)
            taken.append((item.start, item.end))
    for tokens in analysis.by_sentence:
        found.extend(_numbers(tokens, analysis, taken))
    return combine(found, analysis)


def figure(text: str, language: str) -> float:
    """The value of a number in figures: `1,234.5` in English is `1.234,5` in German."""
    bare = _GAPS.sub("", text)
    dots, commas = bare.count("."), bare.count(",")
    if dots and commas:
        decimal = "." if bare.rfind(".") > bare.rfind(",") else ","
        bare = bare.replace("," if decimal == "." else ".", "").replace(decimal, ".")
    elif dots + commas > 1:
        bare = bare.replace(".", "").replace(",", "")
    elif dots + commas == 1:
        mark = "." if dots else ","
        head, tail = bare.split(mark)
        grouping = (mark == ",") == (language in ("en", "zh"))
        bare = (
            head + tail
            if grouping and len(tail) == 3 and 0 < len(head) <= 3 and head != "0"
            else f"{head}.{tail}"
        )
    return float(bare)


def _numbers(tokens: list[Token], analysis: Analysis, taken: list[tuple[int, int]]) -> Iterator[Quantity]:
    at = 0
    while at < len(tokens):
        token = tokens[at]
        read = None
        if free(token.start, token.end, taken):
            read = (
                share(tokens, at, analysis) or _ordinal(tokens, at, analysis) or _number(tokens, at, analysis)
            )
        if read is None:
            at += 1
            continue
        quantity, at = read
        yield quantity


Read = tuple[Quantity, int]


def _ordinal(tokens: list[Token], at: int, analysis: Analysis) -> Read | None:
    token, language = tokens[at], analysis.language
    following = tokens[at + 1] if at + 1 < len(tokens) else None
    if token.kind == "num" and token.text.isdigit() and following and following.start == token.end:
        if following.lower in {"st", "nd", "rd", "th", "er", "e", "ème", "re", "º", "ª"}:
            return Quantity("ordinal", int(token.text), token.start, following.end, token.sentence), at + 2
        inside = (
            following.lower == "."
            and language == "de"
            and at + 2 < len(tokens)
            and tokens[at + 2].text[0].isupper()
        )
        if inside and at + 2 < len(tokens) and tokens[at + 2].start > following.end:
            return Quantity("ordinal", int(token.text), token.start, following.end, token.sentence), at + 2
    if token.kind == "word":
        if (value := numerals.ORDINALS[language].get(token.lower)) is not None:
            if token.lower == "second" and not _after_article(tokens, at):
                return None
            if is_share(tokens, at, language):
                return None
            weak = (
                value == 2 and at > 0 and tokens[at - 1].lower in numerals.ONES
            )  # `a second one` is another one
            return Quantity("ordinal", value, token.start, token.end, token.sentence, weak=weak), at + 1
        for stem, value in _COMPOUND_ORDINALS.items() if language == "de" else ():
            if token.lower.startswith(stem) and _SUPERLATIVE.search(token.lower):
                return Quantity("ordinal", value, token.start, token.end, token.sentence), at + 1
    return None


_GAPS = re.compile(r"[ \u00a0\u202f\u2009'’]")
_SUPERLATIVE = re.compile(r"ste[nrsm]?$")
_COMPOUND_ORDINALS = {
    "zweit": 2,
    "dritt": 3,
    "viert": 4,
    "fünft": 5,
    "sechst": 6,
    "siebt": 7,
    "neunt": 9,
    "zehnt": 10,
}


def _after_article(tokens: list[Token], at: int) -> bool:
    return at > 0 and tokens[at - 1].lower in {
        "the",
        "a",
        "its",
        "his",
        "her",
        "their",
        "le",
        "la",
        "un",
        "une",
        ",",
        "and",
    }


def _number(tokens: list[Token], at: int, analysis: Analysis) -> Read | None:
    language = analysis.language
    token = tokens[at]
    before = tokens[at - 1] if at else None
    if before is not None and token.kind == "num" and before.end == token.start and before.kind == "word":
        return None  # `CO2`, `A380`
    value, stop, in_words, weak = _value(tokens, at, language)
    if stop == at:
        return None
    scale = _scale(tokens[at:stop], language)
    if token.kind == "num" and stop == at + 1 and (factor := _abbreviated(tokens, at)):
        value, scale, stop = value * factor, factor, stop + 1
    start = token.start
    if token.kind == "num" and (year := _end_of_years(tokens, at)):
        value = year
    if _minus(tokens, at):
        value, start = -value, tokens[at - 1].start
    unit: Unit | None = None
    if before and before.text in _CURRENCY:
        unit, start = _CURRENCY[before.text], before.start
    per: Unit | None = None
    if unit is None:
        unit, stop = _unit(tokens, stop, in_words)
    if unit is not None:
        per, stop = _per(tokens, stop)
    elif not weak:
        per = _rate(tokens, stop)
    if weak and unit is None:
        return None
    value, stop = _signed(tokens, stop, value, unit, language)
    if before and before.text.lower() == "ad":
        start = before.start
    about = any(item.lower in _ABOUT for item in tokens[max(0, at - 3) : at])
    bare = unit is None and (value == 1 or (in_words and value == 2))
    quantity = Quantity(
        "number",
        value,
        start,
        tokens[stop - 1].end,
        token.sentence,
        unit,
        per,
        about or token.lower in numerals.ABOUT,
        weak or bare or token.lower in _TIMES or (unit is None and _FOLD.search(token.lower) is not None),
        year_like=unit is None and bool(_YEAR.fullmatch(token.text)) and stop == at + 1,
        scale=scale,
        implied=token.lower in numerals.ONES and stop > at + 1,
    )
    return quantity, stop


_SHORT_SCALES = {"bn": 1e9, "mn": 1e6, "mio": 1e6, "mrd": 1e9, "k": 1e3}


def _abbreviated(tokens: list[Token], at: int) -> float:
    """The factor of `3.2bn` and of `$12m`; 0 where there is none."""
    following = tokens[at + 1] if at + 1 < len(tokens) else None
    if following is None or following.start != tokens[at].end:
        return 0.0
    money = (at and tokens[at - 1].text in _CURRENCY) or (
        at + 2 < len(tokens)
        and (unit := unit_of(tokens[at + 2].text)) is not None
        and "money" in unit.dimension
    )
    return _SHORT_SCALES.get(following.lower, 1e6 if money and following.lower == "m" else 0.0)


def _end_of_years(tokens: list[Token], at: int) -> float:
    """1918 in `1914-18`; 0 elsewhere."""
    if at < 2 or not re.fullmatch(r"\d\d", tokens[at].text) or tokens[at - 1].text not in "-–":
        return 0.0
    first = tokens[at - 2].text
    if not _YEAR.fullmatch(first) or int(first[2:]) >= int(tokens[at].text):
        return 0.0
    return float(first[:2] + tokens[at].text)


def _minus(tokens: list[Token], at: int) -> bool:
    """Whether a sign or a word before a number makes it negative."""
    before = tokens[at - 1] if at else None
    if before is None:
        return False
    if before.text in _MINUS:
        return before.end == tokens[at].start and (at < 2 or tokens[at - 2].end < before.start)
    return before.lower in ("minus", "moins", "menos") and (at < 2 or tokens[at - 2].lower not in _NO_MINUS)


_NO_MINUS = frozenset("au du al lo de d' d’ pas no o ou oder or plus".split())
_ZERO = frozenset("zero null zéro cero".split())
_BELOW = frozenset("below under unter dessous bajo".split())


def _signed(
    tokens: list[Token], stop: int, value: float, unit: Unit | None, language: str
) -> tuple[float, int]:
    """Takes in what makes a number negative behind it: `minus`, `below zero`, `BC`."""
    behind = [item.lower for item in tokens[stop : stop + 4]]
    if unit is not None and behind[:1] == ["minus"]:
        return -value, stop + 1
    if behind[:1] in (["bc"], ["bce"]) or (behind[:1] == ["v"] and language == "de"):
        return -abs(value), stop + 1
    if (
        behind
        and _BELOW & set(behind[:3])
        and (zero := next((at for at, word in enumerate(behind) if word in _ZERO), 0))
    ):
        return -abs(value), stop + zero + 1
    return value, stop


def _scale(tokens: list[Token], language: str) -> float:
    scale = 1.0
    for token in tokens[1:]:
        factor = numerals.SCALES[language].get(token.lower, 1)
        scale *= factor if factor >= 1000 else 1
    return scale


def _value(tokens: list[Token], at: int, language: str) -> tuple[float, int, bool, bool]:
    """(value, index behind it, whether in words, whether a mere `one`) of the number at `at`; no number: index `at`."""
    token = tokens[at]
    scales = numerals.SCALES[language]
    known = numerals.words(language)
    weak = False
    if token.kind == "num":
        value, in_words, stop = figure(token.text, language), False, at + 1
    elif token.lower == "cent" and at and tokens[at - 1].lower in ("pour", "per", "par"):
        return 0.0, at, False, False
    elif token.kind == "word" and (token.lower in known or _joined(token.lower, known) is not None):
        value, in_words, stop = float(known.get(token.lower, _joined(token.lower, known) or 0)), True, at + 1
    elif token.lower in _TIMES:
        return float(_TIMES[token.lower]), at + 1, True, False
    elif (fold := _FOLD.search(token.lower)) and (count := known.get(token.lower[: fold.start()])):
        return float(count), at + 1, True, False
    elif token.lower in numerals.ONES:
        following = tokens[at + 1].lower if at + 1 < len(tokens) else ""
        value, in_words, stop, weak = 1.0, True, at + 1, following not in scales
        if token.lower in ("a", "an") and weak and unit_of(following, after_word=True) is None:
            return 0.0, at, False, False
    else:
        return 0.0, at, False, False
    return _scaled(tokens, stop, value, in_words, scales, known, weak)


def _scaled(
    tokens: list[Token],
    stop: int,
    value: float,
    in_words: bool,
    scales: dict[str, int],
    known: dict[str, int],
    weak: bool,
) -> tuple[float, int, bool, bool]:
    """Takes the words in that multiply or continue a number: `three hundred and twelve thousand`."""
    total = 0.0
    while stop < len(tokens):
        word = tokens[stop].lower
        if word in scales and tokens[stop].kind == "word":
            if word == "cent" and tokens[stop - 1].lower in ("pour", "per"):
                break
            value *= scales[word]
            if scales[word] >= 1000:
                total, value = total + value, 0.0
            stop += 1
        elif (
            in_words
            and word in ("and", "et", "y")
            and stop + 1 < len(tokens)
            and tokens[stop + 1].lower in known
            and (total or value >= 20)
        ):
            if (
                value >= 100
                or total
                or (word != "and" and value % 10 == 0 and known[tokens[stop + 1].lower] < 10)
            ):
                value += known[tokens[stop + 1].lower]
                stop += 2
            else:
                break
        elif in_words and word in known and ((value and value % 100 == 0) or (total and not value)):
            value += known[word]
            stop += 1
        else:
            break
    return total + value, stop, in_words, weak and not total


def _joined(word: str, known: dict[str, int]) -> int | None:
    """The number at the head of a compound such as `two-week` or `acht-jährig`."""
    head, dash, tail = word.partition("-")
    return (
        known.get(head)
        if dash and (tail in UNITS or tail in {"year-old", "fold", "part", "story", "way"})
        else None
    )


def _unit(tokens: list[Token], at: int, in_words: bool) -> tuple[Unit | None, int]:
    index = at
    if (
        index < len(tokens)
        and tokens[index].text in "-‐"
        and index + 1 < len(tokens)
        and tokens[index].start == tokens[at - 1].end
    ):
        index += 1
    elif (
        in_words
        and "-" in tokens[at - 1].lower
        and (unit := UNITS.get(tokens[at - 1].lower.partition("-")[2]))
    ):
        return unit, at
    if index >= len(tokens):
        return None, at
    counted = tokens[at - 1].lower in numerals.ABOUT or tokens[at - 1].lower in _COUNTED
    if counted and tokens[index].lower in ("de", "d'", "d’") and index + 1 < len(tokens):
        index += 1
    if index + 1 < len(tokens):
        pair = PHRASES.get((tokens[index].lower, tokens[index + 1].lower))
        if pair is not None:
            return pair, index + 2
    if tokens[index].lower in ("lunar", "working", "full", "calendar", "more", "weitere") and index + 1 < len(
        tokens
    ):
        unit = unit_of(tokens[index + 1].text, after_word=True)
        if unit is not None:
            return unit, index + 2
    name = tokens[index].text.split("-")[0] if index > at else tokens[index].text
    unit = unit_of(name, after_word=in_words)
    return (unit, index + 1) if unit is not None else (None, at)


_COUNTED = frozenset("million millions milliard milliards millón millones".split())
"""Numbers that are nouns: what they count follows `de`."""


def _rate(tokens: list[Token], at: int) -> Unit | None:
    """The time of `80 beats per second`: behind one or two words that are no unit."""
    for step in (1, 2):
        if at + step + 1 >= len(tokens) or tokens[at + step - 1].kind != "word":
            return None
        if tokens[at + step].lower in PER | {"a", "an"}:
            unit = unit_of(tokens[at + step + 1].text)
            return unit if unit is not None and unit.dimension == "time" else None
    return None


def _per(tokens: list[Token], at: int) -> tuple[Unit | None, int]:
    """The second unit of a rate: `per hour`, `a day`, `/h`, `pro Stunde`."""
    if at + 1 >= len(tokens):
        return None, at
    joint, name = tokens[at].lower, tokens[at + 1]
    unit = unit_of(name.text)
    if unit is None:
        return None, at
    if joint in PER or (joint in ("a", "an") and unit.dimension == "time"):
        return unit, at + 2
    return None, at
