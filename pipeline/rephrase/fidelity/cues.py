"""Cues: where a text says all or some, may or must, more or less, before or after, if or unless."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, lru_cache

from pipeline.records import Finding, Span
from pipeline.rephrase.fidelity.alignment import Group, tokens_of
from pipeline.rephrase.fidelity.analysis import Analysis, Token
from pipeline.rephrase.fidelity.lexicon import CUES, NEGATORS, PHRASES
from pipeline.rephrase.fidelity.matching import kindred


@dataclass(frozen=True, slots=True)
class Cue:
    name: str
    text: str
    start: int
    end: int
    sentence: int


@cache
def _words(language: str) -> dict[str, tuple[str, ...]]:
    found: dict[str, list[str]] = {}
    for cue, words in CUES[language].items():
        for word in words.split():
            found.setdefault(word, []).append(cue)
    return {word: tuple(dict.fromkeys(cues)) for word, cues in found.items()}


@cache
def _phrases(language: str) -> tuple[tuple[re.Pattern[str], str], ...]:
    edge = "" if language == "zh" else r"\b"
    return tuple(
        (re.compile(f"{edge}(?:{pattern})", re.IGNORECASE), cue) for pattern, cue in PHRASES[language]
    )


@cache
def _any_phrase(language: str) -> re.Pattern[str]:
    return re.compile("|".join(pattern.pattern for pattern, _ in _phrases(language)) or "(?!)", re.IGNORECASE)


def same_place(analysis: Analysis, start: int, end: int, sentence: int, others: list[Token]) -> bool:
    """Whether the words around a place of one text stand close together in the other: what differs there, differs.

    At least 60 % of up to four content words within five tokens on either side, in a window of twelve tokens.
    """
    tokens = analysis.by_sentence[sentence]
    left = [token for token in tokens if token.end <= start][-_NEAR:]
    right = [token for token in tokens if token.start >= end][:_NEAR]
    near = [token.stem for token in reversed(left) if token.stem][:2] + [
        token.stem for token in right if token.stem
    ][:2]
    if not near:
        return True
    places = [
        {at for at, token in enumerate(others) if token.stem and kindred(token.stem, stem)} for stem in near
    ]
    starts = sorted(set().union(*places))
    best = max(
        (sum(any(first <= at < first + _SPAN for at in place) for place in places) for first in starts),
        default=0,
    )
    return best >= _SHARE * len(near)


_NEAR, _SPAN, _SHARE = 5, 12, 0.6
_COMPARATIVE = re.compile(r"\w{3,}er|more|less|worse|mehr|plus|moins")


@lru_cache(maxsize=16)
def cues(analysis: Analysis) -> list[list[Cue]]:
    """The cues of each sentence. Words inside a phrase that is a cue are no cues of their own."""
    words, some = _words(analysis.language), _any_phrase(analysis.language)
    found: list[list[Cue]] = []
    for sentence, tokens in zip(analysis.sentences, analysis.by_sentence, strict=True):
        here: list[Cue] = []
        there = some.search(analysis.text, sentence.start, sentence.end)
        for pattern, name in _phrases(analysis.language) if there else ():
            for hit in pattern.finditer(analysis.text, sentence.start, sentence.end):
                if not any(cue.start < hit.end() and hit.start() < cue.end for cue in here):
                    here.append(Cue(name, hit[0], hit.start(), hit.end(), sentence.index))
        covered = [(cue.start, cue.end) for cue in here]
        for at, token in enumerate(tokens):
            agent = analysis.language == "en" and token.lower.endswith(("ers", "er"))  # growers do not grow
            clitic = analysis.language == "fr" and "-" in token.lower and token.lower != "peut-être"
            names = words.get(token.lower.partition("-")[0] if clitic else token.lower) or (
                words.get(token.lemma, ()) if token.kind == "word" and not agent else ()
            )
            if not names or any(low <= token.start < high for low, high in covered):
                continue
            if token.lower == "may" and token.text == "May" and at:
                continue
            if (
                at
                and tokens[at - 1].lower in ("how", "wie", "so")
                and token.lower in ("many", "much", "viel", "viele")
            ):
                continue
            if (
                token.lower in ("over", "above", "under")
                and at + 1 < len(tokens)
                and token.lower == "over"
                and tokens[at + 1].lower in ("a", "the")
            ):
                continue
            denied = at and tokens[at - 1].lower in NEGATORS[analysis.language]
            for name in names:
                if denied and name[-1] in "+-":
                    if analysis.language != "en" or not _COMPARATIVE.fullmatch(token.lower):
                        continue
                    name = name[:-1] + ("-" if name[-1] == "+" else "+")
                here.append(Cue(name, token.text, token.start, token.end, sentence.index))
        found.append(sorted(here, key=lambda cue: cue.start))
    return found


def weighed(source: Analysis, rewrite: Analysis, group: Group, finding: Finding) -> Finding:
    """A finding as it is where the words around it stand on the other side too, else as a warning."""
    one, other, span, sentences = source, tokens_of(rewrite, group.rewrite), finding.source, group.source
    if finding.direction == "added":
        one, other, span, sentences = rewrite, tokens_of(source, group.source), finding.rewrite, group.rewrite
    if finding.severity == "warn" or span is None:
        return finding
    at = next(
        (index for index in sentences if one.sentences[index].start <= span.start < one.sentences[index].end),
        None,
    )
    if at is None or same_place(one, span.start, span.end, at, other):
        return finding
    return finding.replace(severity="warn")


def span_of(cue: Cue) -> Span:
    return Span(start=cue.start, end=cue.end, text=cue.text)


def place_of(analysis: Analysis, sentences: tuple[int, ...]) -> Span | None:
    if not sentences:
        return None
    first, last = analysis.sentences[sentences[0]], analysis.sentences[sentences[-1]]
    return Span(start=first.start, end=last.end, text=analysis.text[first.start : last.end])


def changed(kind: str, a: Cue, b: Cue) -> Finding:
    return Finding(
        kind=kind,
        direction="changed",
        message=f"{a.text!r} became {b.text!r}",
        source=span_of(a),
        rewrite=span_of(b),
    )
