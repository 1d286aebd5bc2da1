"""Marks of denial: negators, words that deny by an affix (`unharmed`, `flightless`), and words that deny by meaning.

What a mark denies is its focus: the content words beside it in its clause, or the rest of the word without its affix.
A negator that bounds, restricts or compares (`no more than`, `nothing but`, `no other … as`) denies nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import simplemma

from pipeline.rephrase.fidelity.analysis import Analysis, Token, stem_of
from pipeline.rephrase.fidelity.lexicon import NEGATIVE_PREFIXES, NEGATIVE_WORDS, NEGATORS

_REACH = 7
"""Tokens on either side of a negator that it may deny."""


@dataclass(frozen=True, slots=True)
class Mark:
    token: Token
    kind: str
    """`not` for a negator, `affix`, `ban` for a word that forbids, `unless`, and `soft` for all else that denies."""
    focus: tuple[str, ...]
    """Stems of what is denied, the nearest first; empty for soft marks."""


_BANS: dict[str, frozenset[str]] = {
    "en": frozenset("forbidden prohibited banned forbid prohibit ban forbids prohibits bans".split()),
    "de": frozenset("verboten verbietet untersagt verbieten untersagen verbot".split()),
    "fr": frozenset("interdit interdite interdits interdites interdire".split()),
    "es": frozenset("prohibido prohibida prohibidos prohibidas prohíbe prohibir".split()),
}
_UNLESS: dict[str, frozenset[str]] = {
    "en": frozenset({"unless"}),
    "de": frozenset(),
    "fr": frozenset(),
    "es": frozenset(),
}
_RESTRICTS: dict[str, frozenset[str]] = {
    "en": frozenset(
        "but except save other only just merely more less fewer longer higher later until before than as under over below above lower earlier sooner".split()
    ),
    "de": frozenset(
        "außer nur mehr weniger länger höher später bevor vor als unter über schneller größer kleiner früher kürzer erst".split()
    ),
    "fr": frozenset("que autre plus moins avant seulement".split()),
    "es": frozenset("que sino más menos antes solo sólo otro otra".split()),
}
"""Words right behind a negator by which it limits and does not deny."""
COMPARES: dict[str, frozenset[str]] = {
    "en": frozenset("than as other".split()),
    "de": frozenset("als so ander andere anderer anderes anderen".split()),
    "fr": frozenset("aussi autant autre autres".split()),
    "es": frozenset("tan tanto otro otra".split()),
}
_ANSWERS = frozenset("no nein non".split())
_AFFIX_ENDINGS: dict[str, tuple[str, ...]] = {
    "en": ("less", "-free", "proof"),
    "de": ("los", "lose", "losen", "loser", "loses", "frei", "freie", "freien", "freies", "freier"),
    "fr": (),
    "es": (),
}


@lru_cache(maxsize=32)
def marks(analysis: Analysis) -> list[list[Mark]]:
    """The marks of each sentence, in order."""
    return [list(_in_sentence(analysis, at)) for at in range(len(analysis.sentences))]


def _in_sentence(analysis: Analysis, index: int) -> Iterator[Mark]:
    tokens, language = analysis.by_sentence[index], analysis.language
    for at, token in enumerate(tokens):
        if token.kind not in ("word", "han"):
            continue
        if negates(tokens, at, language):
            if (asked := _answered(analysis, index, at)) is not None:
                if asked:
                    yield Mark(token, "not", asked)
                continue
            repeats = language == "es" and any(item.lower == "no" for item in tokens[:at])
            kind = "soft" if repeats or limits(tokens, at, language) else "not"
            yield Mark(token, kind, () if repeats else _focus(tokens, at))
        elif token.lower in _BANS.get(language, ()):
            yield Mark(token, "ban", _around(tokens, at))
        elif token.lower in _UNLESS.get(language, ()):
            yield Mark(token, "unless", _focus(tokens, at))
        elif _is_soft(tokens, at, language):
            yield Mark(token, "soft", ())
        elif token.stem and (rest := _rest(token.lower, token.lemma, language)):
            yield Mark(token, "affix", (rest,))


def negates(tokens: list[Token], at: int, language: str) -> bool:
    """Whether a token is a negator."""
    token = tokens[at]
    if token.lower.endswith(("n't", "n’t")):
        return True
    if token.lower not in NEGATORS[language]:
        return False
    if language == "fr" and token.lower == "personne":
        return any(other.lower in ("ne", "n'", "n’") for other in tokens)
    return True


def limits(tokens: list[Token], at: int, language: str) -> bool:
    """Whether a negator bounds (`no more than`), restricts (`nothing but`) or compares (`no other … as deep as`)."""
    behind = [item.lower for item in tokens[at + 1 : at + 1 + _REACH]]
    if behind and behind[0] in _RESTRICTS.get(language, ()):
        return True
    if (
        len(behind) > 1
        and behind[0] in ("one", "other", "so", "auch", "ohne")
        and behind[1] in _RESTRICTS.get(language, ())
    ):
        return True
    compared = COMPARES.get(language, frozenset())
    if language == "en":
        return (
            "than" in behind
            or "other" in behind[:3]
            or behind.count("as") >= 2
            or {"so", "as"} <= {*behind}
            or "but" in behind[1:2]
        )
    if language in ("es", "fr") and {"más", "plus", "menos", "moins"} & {*behind[:4]} - {tokens[at].lower}:
        return True
    return any(word in compared for word in behind[:4]) and language != "fr"


LARGER = re.compile(r"(?!other|never|ever|under|over|either|after|however)\w{3,}er")


def _answered(analysis: Analysis, index: int, at: int) -> tuple[str, ...] | None:
    """For `No.` behind a question what the question says; nothing for `No, …`, which its sentence says itself.

    None for a negator that answers no question.
    """
    tokens = analysis.by_sentence[index]
    token = tokens[at]
    first = all(item.kind == "mark" for item in tokens[:at])
    if token.lower not in _ANSWERS or not first or not index or not analysis.sentences[index - 1].question:
        return None
    if at + 1 < len(tokens) and tokens[at + 1].text not in ".!,;:":
        return None
    if any(item.stem for item in tokens[at + 1 :]):
        return ()
    return tuple(item.stem for item in reversed(analysis.by_sentence[index - 1]) if item.stem)[:3]


def _clause(tokens: list[Token]) -> Iterator[str]:
    for token in tokens[:_REACH]:
        if token.kind == "mark" and token.text in ",;.:!?()–—":
            return
        if token.stem:
            yield token.stem


def _focus(tokens: list[Token], at: int) -> tuple[str, ...]:
    """Stems of the content words behind a negator in its clause, else before it."""
    behind = list(_clause(tokens[at + 1 :]))[:2]
    before = list(_clause(tokens[:at][::-1]))[:2]
    return (*behind, *before[:1]) if behind else tuple(before)


def _around(tokens: list[Token], at: int) -> tuple[str, ...]:
    return (*list(_clause(tokens[:at][::-1]))[:2], *list(_clause(tokens[at + 1 :]))[:2])


def _is_soft(tokens: list[Token], at: int, language: str) -> bool:
    """Whether a word denies without being a negator; `first` does so in `the first to …` only."""
    token = tokens[at]
    if token.lower == "first" and (at == 0 or tokens[at - 1].lower != "the"):
        return False
    return token.lower in NEGATIVE_WORDS[language] or token.lemma in NEGATIVE_WORDS[language]


@lru_cache(maxsize=100_000)
def _rest(lower: str, lemma: str, language: str) -> str:
    """The stem of a word without the affix that denies it; empty where there is none."""
    for ending in _AFFIX_ENDINGS.get(language, ()):
        if lower.endswith(ending) and len(lower) - len(ending) >= 3 and lower not in _NO_AFFIX:
            return stem_of(lower[: -len(ending)].rstrip("-"), language)
    for prefix in NEGATIVE_PREFIXES[language]:
        for word in (lower, lemma):
            rest = word[len(prefix) :].lstrip("-")
            if (
                word.startswith(prefix)
                and len(rest) >= 4
                and word not in _NO_AFFIX
                and simplemma.is_known(rest, lang=language)
            ):
                return stem_of(simplemma.lemmatize(rest, lang=language).lower(), language)
    return ""


_NO_AFFIX = frozenset(
    (
        "unless until under union united unite unit unity uniform universe universal university unique increase increased increases increasing inform "
        "information include included includes including income inside industry insect instead interest interested internal international into invent "
        "inventor invented invest involve important importance import imports improve improved imagine image immediate island illness illustrate "
        "discover discovered discovery discuss distance distant distinct district display dispatch dissolve dissolved disease distribute invite intense "
        "intend inner input inland instance institute institution instruct instrument insure inspect inspection inspire install initial inhabit inhabitants "
        "unter unterricht unser unsere unseren union universität uns unten unterschied unternehmen insel innen inhalt interesse industrie immer "
        "intérieur important importante imaginer image inviter inventer informer information industrie instrument inspecter installer irriter "
        "despertar desde después descubrir describir desear importante importar imagen industria instrumento informar invierno desarrollo descanso "
        "regardless unload harmless"
    ).split()
)
"""Words that begin or end like denied ones and are none."""
