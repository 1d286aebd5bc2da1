"""Names of people, places and things: found by their capitals, compared with aliases in mind."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import simplemma

from pipeline.records import Finding, Span
from pipeline.rephrase.fidelity.aliases import alias
from pipeline.rephrase.fidelity.analysis import Analysis, Token
from pipeline.rephrase.fidelity.dates import MONTHS, WEEKDAYS
from pipeline.rephrase.fidelity.figures import Compared
from pipeline.rephrase.fidelity.lexicon import FUNCTION_WORDS, STOP
from pipeline.rephrase.fidelity.matching import has
from pipeline.rephrase.fidelity.units import UNITS, unit_of

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
_PLACE_PREPOSITIONS = frozenset("in aus nach von bei und oder".split())
_COMMON_BEFORE = frozenset("mit durch ohne gegen über unter für wichtigen großen neuen".split())


_ROMAN = re.compile(r"[IVXL]+(?:e|er|ème)?")
_NO_NAMES = frozenset(
    "celsius fahrenheit kelvin bc ad bce ce mwh kwh gwh i'm i’m i'd i’d i've i’ve i'll i’ll ok mum mom dad daddy mummy papa mama internet".split()
)
"""Words with a capital that name nobody."""


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


_ADVERB = ("ment", "mente")


def _common(name: Name, lower: set[str], analysis: Analysis) -> bool:
    """Whether a single capitalized word at the start of a sentence is an ordinary word."""
    if len(name.words) > 1:
        return False
    word = name.words[0]
    parts = word.split("-")
    if (len(parts) > 1 and parts[0] in STOP[analysis.language]) or word.endswith(_ADVERB):
        return True
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


_GENITIVE = re.compile(r"['’]s?$")


def _bare(token: Token) -> str:
    return _GENITIVE.sub("", token.text).lower()


def _capital(tokens: list[Token], at: int, language: str, *, inside: bool = False) -> bool:
    token = tokens[at]
    if (
        token.kind != "word"
        or not token.text[0].isupper()
        or token.lower in MONTHS
        or token.lower in WEEKDAYS
        or token.lower in _NO_NAMES
        or (not inside and _ROMAN.fullmatch(token.text) is not None)
        or (token.text.isupper() and len(token.text) > 1 and unit_of(token.text) is not None)
    ):
        return False
    if at + 1 < len(tokens) and tokens[at + 1].kind == "num" and tokens[at + 1].start == token.end:
        return False  # `CO2`
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
    if token.lemma != token.lower and not token.lower.endswith("s"):
        return False  # a plural
    if (
        pair
        and following is not None
        and following.lemma == following.lower
        and not _NOUN_ENDING.search(following.lower)
    ):
        return at == 0 or tokens[at - 1].lower not in _COMMON_BEFORE
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
    lost = [name for name in lost if not _by_surname(name, rewrite, added)]
    added = [name for name in added if not _by_surname(name, source, lost)]
    distinct = {name.key for name in ours if name.certain}
    gone = {name.key for name in lost}
    return Compared(list(_findings(lost, added, source, rewrite)), len(distinct), len(distinct - gone))


def _by_surname(name: Name, other: Analysis, strange: list[Name]) -> bool:
    """Whether the other text says the last word of a name alone, and not as that of another name."""
    if len(name.words) < 2 or any(item.words[-1] == name.words[-1] for item in strange):
        return False
    return any(
        part == name.words[-1] for token in other.tokens if token.kind == "word" for part in _parts(token)
    )


def _missing(some: list[Name], other: Analysis) -> list[Name]:
    words = {part for token in other.tokens if token.kind == "word" for part in _parts(token)}
    lemmas = {token.lemma for token in other.tokens}
    initials = _initials(other)
    seen: set[str] = set()
    result = []
    for name in some:
        absent = [word for word in name.words if word not in words and word not in lemmas]
        if not absent or name.key in seen or alias(name.words, absent, words, initials):
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
    """Acronyms that a text's names would have."""
    return {"".join(word[0] for word in name.words) for name in names(other) if len(name.words) > 1}


def _findings(lost: list[Name], added: list[Name], source: Analysis, rewrite: Analysis) -> Iterator[Finding]:
    """A name that another one stands for has changed; a name that is only gone or only new needs to be a sure one."""
    rest = list(added)
    for name in lost:
        partner = _partner(name, rest, len(lost) == len(added) == 1, source, rewrite)
        if partner is not None:
            rest.remove(partner)
            yield Finding(
                kind="name",
                direction="changed",
                message=f"{_text(source, name)!r} became {_text(rewrite, partner)!r}",
                source=_span(source, name),
                rewrite=_span(rewrite, partner),
            )
        elif name.certain:
            yield Finding(
                kind="name",
                direction="lost",
                message=f"{_text(source, name)!r} is missing",
                source=_span(source, name),
                severity="fail"
                if _sure_alone(source, name, rewrite) and not _opens_text(source, name)
                else "warn",
            )
    for name in rest:
        if name.certain:
            yield Finding(
                kind="name",
                direction="added",
                message=f"{_text(rewrite, name)!r} is not in the source",
                rewrite=_span(rewrite, name),
                severity="fail" if _sure_alone(rewrite, name, source) else "warn",
            )


def _partner(name: Name, rest: list[Name], alone: bool, source: Analysis, rewrite: Analysis) -> Name | None:
    """The name of the rewriting that stands where a lost name stood: beside the same words."""
    mine = _beside(source, name)
    scored = []
    for other in rest:
        yours = _beside(rewrite, other)
        common = sum(has(stem, yours) for stem in mine) + 2 * bool(set(name.words) & set(other.words))
        common += _before(source, name) == _before(rewrite, other)
        scored.append((common, other))
    best = max(scored, key=lambda pair: pair[0], default=(0, None))
    sure = name.certain or any(other.certain for other in rest)
    if best[1] is None or not (best[0] or (alone and sure and source.language != "de")):
        return None
    return best[1]


_BESIDE = 7
"""Tokens on either side of a name that tell where it stands."""


def _beside(analysis: Analysis, name: Name) -> set[str]:
    tokens = analysis.by_sentence[name.sentence]
    left = [token.stem for token in tokens if token.end <= name.start][-_BESIDE:]
    right = [token.stem for token in tokens if token.start >= name.end][:_BESIDE]
    return {stem for stem in left + right if stem}


def _before(analysis: Analysis, name: Name) -> str:
    tokens = [token for token in analysis.by_sentence[name.sentence] if token.end <= name.start]
    return tokens[-1].lower if tokens else "^"


def _sure_alone(analysis: Analysis, name: Name, other: Analysis) -> bool:
    """Whether a name that stands on one side only is surely one: of several words, or in no dictionary.

    German gives every noun a capital, so a single word proves little there.
    """
    if analysis.language == "de":
        said = {token.lower.rstrip("s") for token in other.tokens}
        return len(name.words) > 1 and not any(word.rstrip("s") in said for word in name.words)
    return len(name.words) > 1 or not _word(name.words[0], analysis.language)


def _opens_text(analysis: Analysis, name: Name) -> bool:
    """Whether a text begins with a name: its topic, which a heading or a pronoun may stand for."""
    tokens = analysis.by_sentence[name.sentence]
    return name.sentence == 0 and sum(token.end <= name.start for token in tokens) <= _ARTICLE


_ARTICLE = 1


def _text(analysis: Analysis, name: Name) -> str:
    return analysis.text[name.start : name.end]


def _span(analysis: Analysis, name: Name) -> Span:
    return Span(start=name.start, end=name.end, text=analysis.text[name.start : name.end])
