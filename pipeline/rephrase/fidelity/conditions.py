"""Conditions: clauses that one text has, and the other has not or not as a condition."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pipeline.records import Finding, Span
from pipeline.rephrase.fidelity.alignment import Group, tokens_of
from pipeline.rephrase.fidelity.analysis import Analysis, Token
from pipeline.rephrase.fidelity.cues import Cue, cues, place_of
from pipeline.rephrase.fidelity.matching import has

_CLAUSE_END = re.compile(r"[,;:.!?]")


def compare_conditions(
    source: Analysis, rewrite: Analysis, group: Group, a: list[Cue], b: list[Cue]
) -> Iterator[Finding]:
    yield from _unmet(source, rewrite, group.rewrite, a, b, "lost")
    yield from _unmet(rewrite, source, group.source, b, a, "added")


def _unmet(
    one: Analysis,
    other: Analysis,
    sentences: tuple[int, ...],
    mine: list[Cue],
    yours: list[Cue],
    direction: str,
) -> Iterator[Finding]:
    """Conditions of `one` whose clause `other` does not have, or has without any word that makes it a condition."""
    theirs = {token.stem for token in tokens_of(other, sentences) if token.stem}
    figures = {token.text for token in tokens_of(other, sentences) if token.kind == "num"}
    for cue in mine:
        if cue.name != "if" or _concedes(one, cue) or cue.text.lower() in _OTHERWISE:
            continue
        if direction == "added" and one.sentences[cue.sentence].question:
            continue
        clause = _clause(one, cue)
        stems = [token for token in clause if token.stem or token.kind == "num"]
        if not stems:
            continue
        kept = sum(has(token.stem, theirs) if token.stem else token.text in figures for token in stems) / len(
            stems
        )
        hedged = any(item.name in ("if", "when", "only") for item in yours)
        if kept < _KEPT and _elsewhere(other, stems):
            continue
        if kept >= _KEPT or (kept >= 0.34 and (hedged or direction == "added")):
            continue
        missing = [token for token in stems if token.stem and not has(token.stem, theirs)]
        fresh = {
            token.stem
            for token in tokens_of(other, sentences)
            if token.stem and not has(token.stem, one.all_stems)
        }
        reworded = len(fresh) >= _REWORDED * max(1, len(missing))
        span = Span(start=cue.start, end=clause[-1].end, text=one.text[cue.start : clause[-1].end])
        place = place_of(other, sentences)
        lost = direction == "lost"
        yield Finding(
            kind="condition",
            direction="lost" if lost else "added",
            message=f"the condition {span.text!r} is {'gone' if lost else 'new'}",
            source=span if lost else place,
            rewrite=place if lost else span,
            severity="fail" if not reworded and (lost or kept < 0.2) else "warn",
        )


_KEPT = 0.6
"""Share of a clause's words that the other side must have."""
_REWORDED = 0.5
"""New words on the other side, for each missing one, from which these may say the clause in other terms."""
_EVEN = frozenset("even même auch selbst aun incluso".split())
_OTHERWISE = frozenset({"otherwise"})


def _concedes(analysis: Analysis, cue: Cue) -> bool:
    """`even if` makes no condition."""
    before = [token.lower for token in analysis.by_sentence[cue.sentence] if token.end <= cue.start]
    return before[-1:] != [] and before[-1] in _EVEN


def _elsewhere(other: Analysis, stems: list[Token]) -> bool:
    """Whether one sentence that was not aligned says the whole clause, with a word that makes it a condition."""
    for held, tokens, hedges in zip(other.stems, other.by_sentence, cues(other), strict=True):
        figures = {token.text for token in tokens if token.kind == "num"}
        if any(item.name in ("if", "when", "only") for item in hedges) and all(
            has(token.stem, held) if token.stem else token.text in figures for token in stems
        ):
            return True
    return False


def _clause(analysis: Analysis, cue: Cue) -> list[Token]:
    """The tokens from a cue to the end of its clause; for a cue at the end of its sentence, those before it."""
    tokens = [token for token in analysis.by_sentence[cue.sentence] if token.start >= cue.end]
    taken: list[Token] = []
    for token in tokens:
        if (
            taken
            and token.kind == "mark"
            and _CLAUSE_END.match(token.text)
            and any(item.stem for item in taken)
        ):
            break
        if token.kind != "mark":
            taken.append(token)
    return taken
