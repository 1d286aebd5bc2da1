"""Labelled corruptions, planted into good rewritings to measure what a checker misses.

Each kind changes one fact of a text, so that the text still reads well, and returns None where it finds nothing to
change. English; the kinds on figures, dates and formulas work in any language.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import dataclass

Corrupt = Callable[[str, random.Random], str | None]


@dataclass(frozen=True, slots=True)
class Planted:
    kind: str
    text: str


_MONTHS = "January February March April May June July August September October November December".split()
_UNITS = (
    ("kilometers", "miles"),
    ("meters", "feet"),
    ("kilograms", "pounds"),
    ("grams", "kilograms"),
    ("hours", "minutes"),
    ("minutes", "hours"),
    ("days", "weeks"),
    ("years", "months"),
    ("euros", "dollars"),
    ("°C", "°F"),
    ("percent", "per mille"),
    ("tonnes", "kilograms"),
    ("liters", "milliliters"),
    ("degrees", "percent"),
    ("megawatts", "kilowatts"),
)
_OPPOSITES = (
    ("more", "less"),
    ("larger", "smaller"),
    ("higher", "lower"),
    ("longer", "shorter"),
    ("before", "after"),
    ("above", "below"),
    ("rises", "falls"),
    ("increases", "decreases"),
    ("faster", "slower"),
    ("heavier", "lighter"),
    ("at least", "at most"),
    ("over", "under"),
    ("raises", "lowers"),
    ("earlier", "later"),
    ("stronger", "weaker"),
    ("warmer", "colder"),
    ("increased", "decreased"),
    ("rose", "fell"),
    ("grew", "shrank"),
)
_QUANTIFIERS = (
    ("Most", "All"),
    ("most", "all"),
    ("some", "all"),
    ("Some", "All"),
    ("all", "some"),
    ("All", "Some"),
    ("every", "hardly any"),
    ("Every", "Hardly any"),
    ("often", "always"),
    ("usually", "always"),
    ("many", "few"),
    ("few", "many"),
    ("never", "sometimes"),
    ("The majority of", "All"),
    ("several", "all"),
)
_NOUN = r"(?:[A-Z][a-z]{2,})"
_NAME = re.compile(rf"(?<=[a-z,] ){_NOUN}(?: {_NOUN})*")
_OTHERS = (
    "Marlow",
    "Tarvio",
    "Ekberg",
    "Solana",
    "Brixen",
    "Harland",
    "Okoye",
    "Lindau",
    "Pereira",
    "Whitby",
)
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z])")
_INVENTED = (
    "A committee of local teachers paid for the first copy.",
    "Visitors often leave small coins beside the entrance.",
    "The original drawings were lost in a warehouse fire.",
    "A documentary about it won a prize at a festival.",
    "Its inventor later opened a bakery in the suburbs.",
    "Students still sing a song about the event.",
)


def _one(
    pattern: str | re.Pattern[str], text: str, rng: random.Random, change: Callable[[re.Match[str]], str]
) -> str | None:
    """Changes one randomly chosen match."""
    hits = list(re.finditer(pattern, text))
    if not hits:
        return None
    hit = rng.choice(hits)
    return text[: hit.start()] + change(hit) + text[hit.end() :]


def _pairs(
    pairs: tuple[tuple[str, str], ...], text: str, rng: random.Random, *, both: bool = False
) -> str | None:
    table = dict(pairs) | ({new: old for old, new in pairs} if both else {})
    words = "|".join(re.escape(word) for word in sorted(table, key=len, reverse=True))
    return _one(rf"(?<!\w)(?<!a )(?:{words})(?!\w)(?![^.!?\n]*\?)", text, rng, lambda hit: table[hit[0]])


def number(text: str, rng: random.Random) -> str | None:
    """Another number of the same length; years and ordinals are left alone."""

    def change(hit: re.Match[str]) -> str:
        digits = [at for at, character in enumerate(hit[0]) if character.isdigit()]
        at = rng.choice(digits)
        other = rng.choice([digit for digit in "123456789" if digit != hit[0][at]])
        return hit[0][:at] + other + hit[0][at + 1 :]

    return _one(
        r"(?<![\w.,$\\^{])(?!(?:1[0-9]|20)\d\d\b)\d+(?:[.,]\d+)*(?![\w}$]|st|nd|rd|th|\. [A-Z])",
        text,
        rng,
        change,
    )


def unit(text: str, rng: random.Random) -> str | None:
    table = dict(_UNITS)
    words = "|".join(map(re.escape, sorted(table, key=len, reverse=True)))
    return _one(rf"(?<=\d )(?:{words})(?!\w)", text, rng, lambda hit: table[hit[0]])


def date(text: str, rng: random.Random) -> str | None:
    def change(hit: re.Match[str]) -> str:
        if hit[0].isdigit():
            return str(int(hit[0]) + rng.choice((-30, -11, -2, 1, 3, 10, 20)))
        return rng.choice([month for month in _MONTHS if month != hit[0]])

    return _one(
        rf"(?<![\w.,$])(?:1[0-9]|20)\d\d(?![\w.,]\d|\w)|\b(?:{'|'.join(m for m in _MONTHS if m != 'May')})\b",
        text,
        rng,
        change,
    )


def name(text: str, rng: random.Random) -> str | None:
    months = set(_MONTHS)

    def change(hit: re.Match[str]) -> str:
        return rng.choice([other for other in _OTHERS if other not in text])

    hits = [hit for hit in _NAME.finditer(text) if not months & set(hit[0].split())]
    if not hits:
        return None
    hit = rng.choice(hits)
    return text[: hit.start()] + change(hit) + text[hit.end() :]


def negation_dropped(text: str, rng: random.Random) -> str | None:
    return _one(
        r" (?:not|never) (?!only|more|less)|\bcannot\b|\bwithout\b|\bNo one\b",
        text,
        rng,
        lambda hit: {"cannot": "can", "without": "with", "No one": "Everyone"}.get(hit[0], " "),
    )


def negation_added(text: str, rng: random.Random) -> str | None:
    return _one(
        r"\b(?:is|are|was|were|can|must|may|has been|will)\b(?! (?:not|never|no|only|it|a|said)\b)(?= [a-z])(?![^.!?\n]*\?)",
        text,
        rng,
        lambda hit: f"{hit[0]} not",
    )


def comparison(text: str, rng: random.Random) -> str | None:
    return _pairs(_OPPOSITES, text, rng, both=True)


def quantifier(text: str, rng: random.Random) -> str | None:
    return _pairs(_QUANTIFIERS, text, rng)


def modality(text: str, rng: random.Random) -> str | None:
    return _one(
        r"\b(?:may|might|must)\b(?= [a-z])",
        text,
        rng,
        lambda hit: {"may": "must", "might": "must", "must": "may"}[hit[0]],
    )


def condition_dropped(text: str, rng: random.Random) -> str | None:
    return _one(
        r"(?<=[.!?] )(?:If|Unless) [^,.;]+, (\w)|,? (?:if|unless|provided that) [^,.;]+(?=[.;])",
        text,
        rng,
        lambda hit: hit[1].upper() if hit[1] else "",
    )


def sentence_lost(text: str, rng: random.Random) -> str | None:
    """Drops one sentence of at least six words."""
    sentences = _SENTENCE.split(text)
    inner = [
        at
        for at, sentence in enumerate(sentences)
        if len(sentence.split()) >= 6 and not sentence.endswith("?") and "\n" not in sentence
    ]
    if len(sentences) < 3 or not inner:
        return None
    at = rng.choice(inner)
    pieces = re.split(r"((?<=[.!?])\s+(?=[A-Z]))", text)
    del pieces[max(0, 2 * at - 1) : 2 * at + 1]
    return "".join(pieces)


def sentence_invented(text: str, rng: random.Random) -> str | None:
    return _one(r"(?<=[a-z]\.)\s+(?=[A-Z])", text, rng, lambda hit: f" {rng.choice(_INVENTED)}{hit[0]}")


def swap(text: str, rng: random.Random) -> str | None:
    """Two names or two numbers of one sentence change places."""
    for sentence in rng.sample(parts := _SENTENCE.split(text), len(parts)):
        hits = [hit for hit in _NAME.finditer(sentence) if hit[0] not in _MONTHS]
        if len({hit[0] for hit in hits}) < 2:
            hits = list(re.finditer(r"(?<![\w.,$\\^{])\d+(?:[.,]\d+)*(?![\w}$])", sentence))
        if len({hit[0] for hit in hits}) >= 2 and (joined := _exchange(sentence, hits, rng)):
            return text.replace(sentence, joined, 1)
    return None


def _exchange(sentence: str, hits: list[re.Match[str]], rng: random.Random) -> str | None:
    a, b = sorted(rng.sample(hits, 2), key=lambda hit: hit.start())
    between = sentence[a.end() : b.start()]
    if a[0] == b[0] or re.fullmatch(r"\s*(?:,|and|or|to|–|-|, and)\s*", between):
        return None  # members of one list may stand in any order
    return sentence[: a.start()] + b[0] + between + a[0] + sentence[b.end() :]


def list_item(text: str, rng: random.Random) -> str | None:
    """Drops a member of an enumeration of three or more."""
    return _one(
        r"(?<=[a-z]), (?:the )?[a-z]+(?=(?:, (?:the )?[a-z]+)* (?:and|or) (?:the )?[a-z]+)",
        text,
        rng,
        lambda hit: "",
    )


def formula_sign(text: str, rng: random.Random) -> str | None:
    return _in_formula(
        r"(?<=[\w})\]]) [+-] (?=[\w({\\])", text, rng, lambda hit: " - " if "+" in hit[0] else " + "
    )


def formula_exponent(text: str, rng: random.Random) -> str | None:
    return _in_formula(r"\^[2-9]", text, rng, lambda hit: f"^{(int(hit[0][1]) % 8) + 1}")


def formula_coefficient(text: str, rng: random.Random) -> str | None:
    return _in_formula(
        r"(?<![\w.^])\d+(?=[a-z(\\])", text, rng, lambda hit: str(int(hit[0]) + rng.choice((1, 2, 3)))
    )


def _in_formula(
    pattern: str, text: str, rng: random.Random, change: Callable[[re.Match[str]], str]
) -> str | None:
    spans = list(re.finditer(r"\$\$.+?\$\$|\$[^$\n]+\$", text, re.DOTALL))
    fitting = [span for span in spans if re.search(pattern, span[0])]
    if not fitting:
        return None
    span = rng.choice(fitting)
    changed = _one(pattern, span[0], rng, change)
    return None if changed is None else text[: span.start()] + changed + text[span.end() :]


def answer(text: str, rng: random.Random) -> str | None:
    return _one(
        r"(?<=boxed\{)-?\d+(?=\})|(?<=[Aa]nswer is \$)-?\d+(?=\$)",
        text,
        rng,
        lambda hit: (
            str(-int(hit[0]) if int(hit[0]) else 1)
            if rng.random() < 0.4
            else str(int(hit[0]) + rng.choice((1, 2, 10)))
        ),
    )


def arithmetic(text: str, rng: random.Random) -> str | None:
    return _one(r"(?<== )\d+(?=\s*[.$=,])", text, rng, lambda hit: str(int(hit[0]) + rng.choice((1, 2, 10))))


def percent(text: str, rng: random.Random) -> str | None:
    return _one(r"\b\d{1,2}(?= (?:percent|%))", text, rng, lambda hit: str((int(hit[0]) * 2) % 97 + 1))


def ordinal(text: str, rng: random.Random) -> str | None:
    words = "second third fourth fifth sixth eighteenth nineteenth twentieth".split()
    return _one(
        rf"(?<=the )(?:{'|'.join(words)})\b",
        text,
        rng,
        lambda hit: rng.choice([w for w in words if w != hit[0]]),
    )


KINDS: dict[str, Corrupt] = {
    function.__name__: function
    for function in (
        number,
        unit,
        date,
        name,
        negation_dropped,
        negation_added,
        comparison,
        quantifier,
        modality,
        condition_dropped,
        sentence_lost,
        sentence_invented,
        swap,
        list_item,
        formula_sign,
        formula_exponent,
        formula_coefficient,
        answer,
        arithmetic,
        percent,
        ordinal,
    )
}
"""The corruptions by kind."""


def plant(text: str, kind: str, seed: int) -> Planted | None:
    """`text` with one corruption of `kind`, or None where there is nothing of that kind to corrupt."""
    changed = KINDS[kind](text, random.Random(f"{seed} {kind} {text[:200]}"))
    return None if changed is None or changed == text else Planted(kind, changed)
