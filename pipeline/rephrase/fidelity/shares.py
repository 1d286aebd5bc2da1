"""Parts of a whole: `a quarter`, `two-thirds`, `¾`, `2/3`, and what they measure (`half an hour`, `demi-tonne`)."""

from __future__ import annotations

from functools import lru_cache

from pipeline.rephrase.fidelity import numerals
from pipeline.rephrase.fidelity.analysis import Analysis, Token
from pipeline.rephrase.fidelity.quantity import Quantity
from pipeline.rephrase.fidelity.units import UNITS, Unit, unit_of

WHOLE: Unit = UNITS["%"]._replace(factor=1.0)
_SIGNS = {"½": 0.5, "¼": 0.25, "¾": 0.75, "⅓": 1 / 3, "⅔": 2 / 3, "⅛": 0.125, "⅕": 0.2}
_HEADS: dict[str, float] = {
    "half": 0.5,
    "halb": 0.5,
    "halbe": 0.5,
    "halben": 0.5,
    "halber": 0.5,
    "halbes": 0.5,
    "viertel": 0.25,
    "dreiviertel": 0.75,
    "quarter": 0.25,
    "demi": 0.5,
    "demie": 0.5,
    "medio": 0.5,
    "media": 0.5,
    "anderthalb": 1.5,
}
"""What is said of a unit: `half an hour`, `Viertelstunde`, `media hora`."""
_ALL_HEADS = tuple(_HEADS)
_BEHIND = frozenset(
    {"of", "de", "der", "des", "du", "d'", "d’", "from", "as", ".", ",", "during", "after", ";", ")"}
)
_LINKS = frozenset({"of", "a", "an", "de", "d'", "d’"})

Read = tuple[Quantity, int]


def share(tokens: list[Token], at: int, analysis: Analysis) -> Read | None:
    """The part of a whole, or of a unit, that is named at a token, and the index behind it."""
    if not _may_be_share(tokens[at].lower, analysis.language):
        return None
    return (
        _measured(tokens, at)
        or _compound(tokens, at, analysis)
        or _slash(tokens, at)
        or _named(tokens, at, analysis)
    )


@lru_cache(maxsize=100_000)
def _may_be_share(lower: str, language: str) -> bool:
    """Whether a word can begin the name of a part at all; most cannot."""
    return (
        lower.isdigit()
        or lower in _SIGNS
        or lower.startswith(tuple(_HEADS))
        or lower.partition("-")[2] in numerals.FRACTIONS[language]
        or lower in numerals.FRACTIONS[language]
        or lower in numerals.ORDINALS[language]
        or lower in numerals.words(language)
    )


def _measured(tokens: list[Token], at: int) -> Read | None:
    """`half an hour`, `einen halben Liter`, `demi-tonne`, `Viertelstunde`: a number with a unit."""
    token = tokens[at]
    if not token.lower.startswith(_ALL_HEADS):
        return None
    for head, value in _HEADS.items():
        if not token.lower.startswith(head):
            continue
        rest = token.lower[len(head) :].lstrip("-‐")
        if rest and (unit := unit_of(rest, after_word=True)) is not None:
            return Quantity("number", value, token.start, token.end, token.sentence, unit), at + 1
    if (factor := _HEADS.get(token.lower)) is None:
        return None
    stop = at + 1
    while (
        stop < len(tokens) and stop < at + 3 and (tokens[stop].lower in _LINKS or tokens[stop].text in "-‐")
    ):
        stop += 1
    unit = unit_of(tokens[stop].text, after_word=True) if stop < len(tokens) else None
    if unit is None or tokens[stop].kind != "word" or unit.dimension == "part":
        return None
    return Quantity("number", factor, token.start, tokens[stop].end, token.sentence, unit), stop + 1


def _compound(tokens: list[Token], at: int, analysis: Analysis) -> Read | None:
    """`two-thirds`, `¾`."""
    token = tokens[at]
    if (sign := _SIGNS.get(token.text)) is not None:
        return Quantity("number", sign, token.start, token.end, token.sentence, WHOLE), at + 1
    head, _, tail = token.lower.partition("-")
    part = numerals.FRACTIONS[analysis.language].get(tail)
    count = numerals.words(analysis.language).get(head, 1 if head in numerals.ONES else None)
    if part is None or count is None:
        return None
    return Quantity(
        "number", count * part[0] / part[1], token.start, token.end, token.sentence, WHOLE
    ), at + 1


def _slash(tokens: list[Token], at: int) -> Read | None:
    """`2/3` in figures."""
    if at + 2 >= len(tokens) or tokens[at + 1].text != "/":
        return None
    top, bottom = tokens[at], tokens[at + 2]
    close = top.end == tokens[at + 1].start and bottom.start == tokens[at + 1].end
    if (
        not (close and top.text.isdigit() and bottom.text.isdigit())
        or not 0 < int(top.text) < int(bottom.text) <= 12
    ):
        return None
    return Quantity(
        "number", int(top.text) / int(bottom.text), top.start, bottom.end, top.sentence, WHOLE
    ), at + 3


def _named(tokens: list[Token], at: int, analysis: Analysis) -> Read | None:
    token, language = tokens[at], analysis.language
    count = numerals.words(language).get(token.lower) or (int(token.text) if token.text.isdigit() else None)
    following = tokens[at + 1].lower if at + 1 < len(tokens) else ""
    if (
        count
        and (several := numerals.FRACTIONS[language].get(following))
        and several[1] > count
        and several[1] > 2
    ):
        value = count * several[0] / several[1]
        return Quantity("number", value, token.start, tokens[at + 1].end, token.sentence, WHOLE), at + 2
    part = numerals.FRACTIONS[language].get(token.lower) if token.kind == "word" else None
    if following in ("parte", "partie") and (rank := numerals.ORDINALS[language].get(token.lower)):
        return Quantity("number", 1 / rank, token.start, tokens[at + 1].end, token.sentence, WHOLE), at + 2
    if part is None:
        return None
    weak = part == (1, 2)
    if not weak and not is_share(tokens, at, language) and language != "de":
        return None
    return Quantity(
        "number", part[0] / part[1], token.start, token.end, token.sentence, WHOLE, weak=weak
    ), at + 1


def is_share(tokens: list[Token], at: int, language: str) -> bool:
    """Whether a word such as `third` is a part here, and no rank."""
    word = tokens[at].lower
    if word not in numerals.FRACTIONS[language]:
        return False
    before = tokens[at - 1].lower if at else ""
    following = tokens[at + 1].lower if at + 1 < len(tokens) else ""
    if before in numerals.words(language) and word.endswith("s"):
        return True
    counted = (
        before in numerals.ONES
        or before in numerals.words(language)
        or word in ("quarter", "viertel", "quart")
    )
    return counted and (following in _BEHIND or following == "")
