"""Names of people, places and things: found by their capitals, compared with aliases in mind."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import simplemma

from pipeline.records import Finding, Span
from pipeline.rephrase.fidelity.analysis import Analysis, Token
from pipeline.rephrase.fidelity.dates import MONTHS, WEEKDAYS
from pipeline.rephrase.fidelity.figures import Compared
from pipeline.rephrase.fidelity.lexicon import FUNCTION_WORDS, STOP
from pipeline.rephrase.fidelity.units import UNITS

_LINK = frozenset("of the de la le du des von van der den di da del al bin ibn y e d' d’ zu".split())
_TITLES = frozenset(
    "mr mrs ms dr prof sir lord lady saint st king queen president herr frau madame monsieur m mme".split()
)
_NOUN_ENDING = re.compile(
    r"(?:ung|ungen|heit|heiten|keit|keiten|schaft|schaften|tion|tionen|tät|täten|ismus|chen|lein|nis|nisse|tum|ling|linge)$"
)
_DETERMINERS = frozenset(
    (
        "der die das den dem des ein eine einen einem einer eines kein keine keinen keinem keiner dieser diese dieses diesen "
        "diesem jeder jede jedes jeden alle allen aller viele vielen vieler einige einigen mehrere manche wenige wenigen beide beiden "
        "sämtliche sämtlichen sämtlicher zahlreiche zahlreichen etliche anderen andere anderer "
        "sein seine seinen seinem seiner ihr ihre ihren ihrem ihrer zum zur im am beim vom ins ans solche welche etwa rund mehr weniger"
    ).split()
)
_PLACE_PREPOSITIONS = frozenset("in aus nach von bei über mit und oder durch gegen".split())


_DEMONYMS = dict(
    pair.split("=")
    for pair in (
        "danish=denmark french=france dutch=netherlands swiss=switzerland spanish=spain british=britain english=england welsh=wales "
        "irish=ireland scottish=scotland greek=greece swedish=sweden finnish=finland polish=poland turkish=turkey chinese=china "
        "portuguese=portugal norwegian=norway american=america czech=czechia thai=thailand frankreich=französisch peruvian=peru "
        "danois=danemark français=france espagnol=espagne allemand=allemagne chilean=chile"
    ).split()
)
"""Adjectives that do not begin as their country does."""


@dataclass(frozen=True, slots=True)
class Name:
    """One name as it stands: its words in lower case, without links and titles."""

    words: tuple[str, ...]
    start: int
    end: int
    sentence: int
    certain: bool
    """False at the start of a sentence, where any word has a capital."""

    @property
    def key(self) -> str:
        return " ".join(self.words)


@lru_cache(maxsize=16)
def names(analysis: Analysis) -> list[Name]:
    """The names of a text. Chinese has no capitals, so only names in Latin letters are found there."""
    found: list[Name] = []
    for tokens in analysis.by_sentence:
        found.extend(_in_sentence(tokens, analysis))
    known = {word for name in found if name.certain for word in name.words}
    lower = {token.text for token in analysis.tokens if token.kind == "word" and token.text.islower()}
    return [
        name
        for name in found
        if name.certain or any(word in known for word in name.words) or not _common(name, lower, analysis)
    ]


def _common(name: Name, lower: set[str], analysis: Analysis) -> bool:
    """Whether a single capitalized word at the start of a sentence is an ordinary word."""
    if len(name.words) > 1:
        return False
    word = name.words[0]
    return word in lower or simplemma.is_known(
        word, lang=analysis.language if analysis.language != "zh" else "en"
    )


def _in_sentence(tokens: list[Token], analysis: Analysis) -> Iterator[Name]:
    at, first = 0, next((index for index, token in enumerate(tokens) if token.kind in ("word", "num")), 0)
    while at < len(tokens):
        if not _capital(tokens, at, analysis.language):
            at += 1
            continue
        stop, words = at, []
        while stop < len(tokens):
            token = tokens[stop]
            if _capital(tokens, stop, analysis.language, inside=stop > at):
                words.append(_bare(token))
                stop += 1
            elif (
                token.lower in _LINK
                and stop > at
                and stop + 1 < len(tokens)
                and _proper(tokens, stop + 1, analysis.language)
            ):
                stop += 1
            else:
                break
        kept = tuple(word for word in words if word not in _TITLES)
        opens = at == first or tokens[at - 1].text in '"“„«:—–-(?!.;'
        if kept and opens and not _sure(tokens[at]) and _ordinary(kept, analysis.language):
            kept = kept[1:]
            opens = False
        if kept:
            certain = not opens or (len(kept) > 1 and analysis.language != "de") or _sure(tokens[at])
            yield Name(kept, tokens[at].start, tokens[stop - 1].end, tokens[at].sentence, certain)
        at = max(stop, at + 1)


def _word(word: str, language: str) -> bool:
    """Whether the dictionary knows the word in small letters."""
    return language != "de" and bool(simplemma.is_known(word, lang=language if language != "zh" else "en"))


def _ordinary(kept: tuple[str, ...], language: str) -> bool:
    """Whether the first word of a sentence only has its capital from there: `Leaving Oslo`."""
    known = (
        len(kept) > 1
        and language != "de"
        and simplemma.is_known(kept[0], lang="en" if language == "zh" else language)
    )
    return kept[0] in _openers(language) or known


def _openers(language: str) -> frozenset[str]:
    return STOP[language] | FUNCTION_WORDS.get(language, frozenset())


def _sure(token: Token) -> bool:
    """Acronyms and words with inner capitals are names wherever they stand."""
    return sum(character.isupper() for character in token.text) >= 2


def _bare(token: Token) -> str:
    return re.sub(r"['’]s?$", "", token.text).lower()


def _capital(tokens: list[Token], at: int, language: str, *, inside: bool = False) -> bool:
    token = tokens[at]
    if (
        token.kind != "word"
        or not token.text[0].isupper()
        or token.lower in MONTHS
        or token.lower in WEEKDAYS
    ):
        return False
    if len(token.text) == 1:
        return inside or (at + 1 < len(tokens) and tokens[at + 1].text == ".")
    if (
        not inside
        and token.lower in STOP[language] | FUNCTION_WORDS.get(language, frozenset())
        and not _sure(token)
    ):
        return False
    return language != "de" or inside or _proper(tokens, at, language)


def _proper(tokens: list[Token], at: int, language: str) -> bool:
    """German writes all nouns with capitals: a proper name has no article and no ending of a common noun."""
    token = tokens[at]
    if (
        token.kind != "word"
        or not token.text[0].isupper()
        or (token.lower in _DETERMINERS and language == "de")
    ):
        return False
    if language != "de" or _sure(token):
        return True
    if _NOUN_ENDING.search(token.lower):
        return False
    following = tokens[at + 1] if at + 1 < len(tokens) else None
    counted = at > 0 and (tokens[at - 1].kind == "num" or tokens[at - 1].lower in _DETERMINERS)
    pair = (
        not counted
        and token.lower not in UNITS
        and following is not None
        and following.kind == "word"
        and following.text[0].isupper()
        and following.start == token.end + 1
    )
    if pair:
        return True
    before = tokens[at - 1] if at else None
    if before is None or before.kind != "word":
        return False
    if before.text[0].isupper() and before.lower not in _DETERMINERS and before.lower not in STOP["de"]:
        return True
    return before.lower in _PLACE_PREPOSITIONS and token.lemma == token.lower


def compare_names(source: Analysis, rewrite: Analysis) -> Compared:
    """Findings for names of one side that the other side does not know by any alias."""
    ours, theirs = names(source), names(rewrite)
    lost = _missing(ours, rewrite)
    added = _missing(theirs, source)
    distinct = {name.key for name in ours if name.certain}
    gone = {name.key for name in lost}
    return Compared(list(_findings(lost, added, source, rewrite)), len(distinct), len(distinct - gone))


def _missing(some: list[Name], other: Analysis) -> list[Name]:
    words = {part for token in other.tokens if token.kind == "word" for part in _parts(token)}
    lemmas = {token.lemma for token in other.tokens}
    initials = _initials(other)
    seen: set[str] = set()
    result = []
    for name in some:
        absent = [word for word in name.words if word not in words and word not in lemmas]
        if not absent or name.key in seen or _alias(name, absent, words, initials):
            continue
        seen.add(name.key)
        result.append(name)
    return result


def _parts(token: Token) -> Iterator[str]:
    bare = _bare(token)
    yield bare
    yield from re.split(r"[-‐’']", bare)
    if bare.endswith("s"):
        yield bare[:-1]


def _initials(other: Analysis) -> set[str]:
    """Acronyms that a text's names would have, and the names' words by initial for `J.` and the like."""
    return {"".join(word[0] for word in name.words) for name in names(other) if len(name.words) > 1}


def _alias(name: Name, absent: list[str], words: set[str], initials: set[str]) -> bool:
    if name.key in initials:
        return True
    if len(name.words) > 1 and "".join(word[0] for word in name.words) in words:
        return True
    return all(_kin(word, words) for word in absent)


def _kin(word: str, words: set[str]) -> bool:
    """`Germany` and `German`, `Rome` and `Roman`, `Brahms` and `Brahms'`: a common head and a short rest."""
    if _DEMONYMS.get(word) in words or any(_DEMONYMS.get(other) == word for other in words):
        return True
    if len(word) == 1:
        return any(other.startswith(word) for other in words)
    if "-" in word:
        return all(part in words or _kin(part, words) for part in word.split("-") if part)
    head = word[: max(4, len(word) - 3)] if len(word) > 4 else word[:3]
    endings = re.compile(rf"{re.escape(head)}(?:\w{{0,4}})$")
    tail = re.compile(
        r"(?:n|an|ian|ean|ish|ese|s|es|en|er|e|i|ic|a|ia|y|ns|ans|ern|ers|es|ois|oise|ais|aise|ien|ienne|in|sch|isch|sche|schen)?$"
    )
    return any(
        endings.match(other) and tail.match(_rest(word, other)) and tail.match(_rest(other, word))
        for other in words
    )


def _rest(word: str, other: str) -> str:
    common = 0
    for x, y in zip(word, other, strict=False):
        if x != y:
            break
        common += 1
    return word[common:]


def _findings(lost: list[Name], added: list[Name], source: Analysis, rewrite: Analysis) -> Iterator[Finding]:
    rest = list(added)
    for name in lost:
        partner = rest.pop(0) if rest else None
        if partner is None and not name.certain:
            continue
        text = source.text[name.start : name.end]
        if partner is None:
            severe = _unlikely_noun(source, name)
            yield Finding(
                kind="name",
                direction="lost",
                message=f"{text!r} is missing",
                source=_span(source, name),
                severity="fail" if severe else "warn",
            )
            continue
        other = rewrite.text[partner.start : partner.end]
        yield Finding(
            kind="name",
            direction="changed",
            message=f"{text!r} became {other!r}",
            source=_span(source, name),
            rewrite=_span(rewrite, partner),
        )
    for name in rest:
        if name.certain:
            severe = _unlikely_noun(rewrite, name)
            text = rewrite.text[name.start : name.end]
            yield Finding(
                kind="name",
                direction="added",
                message=f"{text!r} is not in the source",
                rewrite=_span(rewrite, name),
                severity="fail" if severe else "warn",
            )


def _unlikely_noun(analysis: Analysis, name: Name) -> bool:
    """German gives every noun a capital, so a single word alone on its side proves little."""
    return analysis.language != "de" or len(name.words) > 1


def _span(analysis: Analysis, name: Name) -> Span:
    return Span(start=name.start, end=name.end, text=analysis.text[name.start : name.end])
