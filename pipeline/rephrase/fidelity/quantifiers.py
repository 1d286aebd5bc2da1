"""Quantifiers: what one text says of all, most, some, few or none, and the other does not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from pipeline.records import Finding
from pipeline.rephrase.fidelity.alignment import Group, tokens_of
from pipeline.rephrase.fidelity.analysis import Analysis
from pipeline.rephrase.fidelity.cues import Cue, changed, place_of, span_of, weighed
from pipeline.rephrase.fidelity.lexicon import NEGATORS
from pipeline.rephrase.fidelity.marks import marks

_AMOUNTS = ("all", "most", "many", "some", "few", "no", "only")
_NEAR = frozenset({("many", "some"), ("some", "many"), ("only", "few"), ("only", "no"), ("no", "only")})
"""Quantifiers that may stand for each other."""


_STRICT = frozenset({"all", "most", "some", "few"})
"""Quantifiers that no free paraphrase exchanges."""


def _alike_denied(source: Analysis, cue: Cue, rewrite: Analysis, other: Cue) -> bool:
    """Whether both sentences deny, or neither: `not all do`, `some do not`."""
    hard = [
        sum(mark.kind != "soft" for mark in marks(text)[item.sentence]) % 2
        for text, item in ((source, cue), (rewrite, other))
    ]
    return hard[0] == hard[1]


def _on_scale(one: str, other: str) -> bool:
    """Whether two quantifiers exclude each other; what is denied is the subject of the rules for negation."""
    return {one, other} <= {*_SHARES} or {one, other} in (
        {"all", "no"},
        {"only", "many"},
        {"few", "no"},
        {"most", "no"},
    )


_SHARES = ("all", "most", "many", "some", "few")


def shifted(
    ours: list[list[Cue]], theirs: list[list[Cue]], totals: tuple[Counter[str], Counter[str]]
) -> Iterator[Finding]:
    """One quantifier less of one sort and one more of another, all others alike: `most` has become `all`."""
    before, after = totals
    change = {
        name: after[name] - before[name] for name in (*_SHARES, "only", "no") if after[name] != before[name]
    }
    gone = [name for name, by in change.items() if by == -1]
    new = [name for name, by in change.items() if by == 1]
    if len(change) != 2 or len(gone) != 1 or len(new) != 1 or not {*gone, *new} <= set(_SHARES):
        return
    if (gone[0], new[0]) in _NEAR:
        return
    old = [cue for side in ours for cue in side if cue.name == gone[0]]
    fresh = [cue for side in theirs for cue in side if cue.name == new[0]]
    said = {cue.text.lower() for side in ours for cue in side}
    fresh = [cue for cue in fresh if cue.text.lower() not in said] or fresh
    yield changed("quantifier", old[-1], fresh[-1])


_ADVERBS = frozenset("always invariably immer stets toujours siempre".split())
"""Words that make a general statement out of a particular one wherever they stand."""


def compare_quantifiers(
    source: Analysis,
    rewrite: Analysis,
    group: Group,
    a: list[Cue],
    b: list[Cue],
    totals: tuple[Counter[str], Counter[str]],
) -> Iterator[Finding]:
    """What one group says of all, most, some, few or none, and the other does not; `totals` are those of the texts."""
    mine = Counter(cue.name for cue in a if cue.name in _AMOUNTS)
    yours = Counter(cue.name for cue in b if cue.name in _AMOUNTS)
    if any(token.lower in NEGATORS[rewrite.language] for token in tokens_of(rewrite, group.rewrite)):
        yours["no"] += 0 if yours["no"] else 1
    if any(token.lower in NEGATORS[source.language] for token in tokens_of(source, group.source)):
        mine["no"] += 0 if mine["no"] else 1
    gone = [name for name in _AMOUNTS if mine[name] > yours[name] and not yours[name]]
    new = [name for name in _AMOUNTS if yours[name] > mine[name]]
    for name in gone:
        cue = next((item for item in a if item.name == name), None)
        other = next((item for item in b if item.name in new and (name, item.name) not in _NEAR), None)
        if cue is None:
            continue
        if other is not None:
            if (
                _on_scale(name, other.name)
                and totals[1][name] < totals[0][name]
                and totals[1][other.name] > totals[0][other.name]
            ):
                finding = changed("quantifier", cue, other)
                strict = {name, other.name} <= _STRICT and _alike_denied(source, cue, rewrite, other)
                yield finding if strict else weighed(source, rewrite, group, finding)
        elif name in ("most", "few", "only") and totals[1][name] < totals[0][name]:
            lost = Finding(
                kind="quantifier",
                direction="lost",
                message=f"{cue.text!r} is gone",
                source=span_of(cue),
                rewrite=place_of(rewrite, group.rewrite),
                severity="warn" if name == "only" else "fail",
            )
            yield weighed(source, rewrite, group, lost)
    if not gone:
        for name in (name for name in new if not mine[name]):
            cue = next((item for item in b if item.name == name), None)
            if (
                cue is not None
                and totals[1][name] > totals[0][name]
                and name in ("all", "most")
                and not rewrite.sentences[cue.sentence].question
                and cue.text.lower() not in ("any", "both", "whole", "entire")
            ):
                added = Finding(
                    kind="quantifier",
                    direction="added",
                    message=f"{cue.text!r} is new",
                    source=place_of(source, group.source),
                    rewrite=span_of(cue),
                    severity="fail" if name == "most" or cue.text.lower() in _ADVERBS else "warn",
                )
                yield weighed(source, rewrite, group, added)
