"""Negation: what one text denies and the other does not."""

from __future__ import annotations

from collections.abc import Iterator

from pipeline.records import Finding, Span
from pipeline.rephrase.fidelity.alignment import Pair, align
from pipeline.rephrase.fidelity.analysis import Analysis, Token
from pipeline.rephrase.fidelity.lexicon import NEGATIVE_WORDS, NEGATORS


def negators(tokens: list[Token], language: str) -> list[Token]:
    """The tokens that deny something."""
    return [token for token in tokens if token.lower in NEGATORS[language] or token.lower.endswith("n't")]


def compare_negation(source: Analysis, rewrite: Analysis, pairs: list[Pair] | None = None) -> list[Finding]:
    """Findings where aligned sentences deny an odd number of things on one side only."""
    found: list[Finding] = []
    for pair in pairs if pairs is not None else align(source, rewrite):
        found.extend(_pair(source, rewrite, pair))
    return found


def _pair(source: Analysis, rewrite: Analysis, pair: Pair) -> Iterator[Finding]:
    ours = [token for index in pair.source for token in negators(source.by_sentence[index], source.language)]
    theirs = [
        token for index in pair.rewrite for token in negators(rewrite.by_sentence[index], rewrite.language)
    ]
    if bool(ours) == bool(theirs):
        return
    if ours and not _softened(rewrite, pair.rewrite):
        yield Finding(
            kind="negation",
            direction="lost",
            message=f"{ours[0].text!r} is gone",
            source=_span(ours[0]),
            rewrite=_whole(rewrite, pair.rewrite),
        )
    if theirs and not _softened(source, pair.source):
        yield Finding(
            kind="negation",
            direction="added",
            message=f"{theirs[0].text!r} is new",
            source=_whole(source, pair.source),
            rewrite=_span(theirs[0]),
        )


def _softened(analysis: Analysis, sentences: tuple[int, ...]) -> bool:
    """Whether the side without a negator denies by its words: `lacks`, `refuse`, `unknown`."""
    words = NEGATIVE_WORDS.get(analysis.language, frozenset())
    return any(
        token.lower in words or token.lemma in words
        for index in sentences
        for token in analysis.by_sentence[index]
    )


def _span(token: Token) -> Span:
    return Span(start=token.start, end=token.end, text=token.text)


def _whole(analysis: Analysis, sentences: tuple[int, ...]) -> Span:
    first, last = analysis.sentences[sentences[0]], analysis.sentences[sentences[-1]]
    return Span(start=first.start, end=last.end, text=analysis.text[first.start : last.end])
