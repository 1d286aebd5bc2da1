"""Which sentences of a rewriting say what which sentences of the source say."""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass

from pipeline.rephrase.fidelity.analysis import Analysis, Token

_FLOOR = 0.16
"""Least mutual overlap that links two units."""


@dataclass(frozen=True, slots=True)
class Group:
    """Sentences of each side that belong together (indexes, in order)."""

    source: tuple[int, ...]
    rewrite: tuple[int, ...]


def weights(source: Analysis, rewrite: Analysis) -> dict[str, float]:
    """Weight of each content stem: rare ones count more (inverse sentence frequency over both texts)."""
    counts: Counter[str] = Counter()
    for stems in [*_said(source), *_said(rewrite)]:
        counts.update(stems)
    total = len(source.stems) + len(rewrite.stems)
    return {stem: math.log(1 + total / count) for stem, count in counts.items()}


def _said(analysis: Analysis) -> list[frozenset[str]]:
    """What each sentence says: its content stems, and its formulas without their white space."""
    bodies: list[set[str]] = [set() for _ in analysis.sentences]
    for formula in analysis.formulas:
        bodies[formula.sentence].add(re.sub(r"\s", "", formula.body))
    return [stems | body for stems, body in zip(analysis.stems, bodies, strict=True)]


def overlap(a: frozenset[str], b: frozenset[str], weight: dict[str, float]) -> float:
    """Weighted share of the stems of `a` that `b` has; 0 for an empty `a`."""
    whole = sum(weight[stem] for stem in a)
    return sum(weight[stem] for stem in a & b) / whole if whole else 0.0


def units(analysis: Analysis) -> list[tuple[int, ...]]:
    """Sentences that are read together: a question with its answer, a fragment with what stands before it."""
    joined: list[list[int]] = []
    open_question = False
    for sentence in analysis.sentences:
        fragment = len(analysis.stems[sentence.index]) < 2
        if joined and (open_question or (fragment and not sentence.question)):
            joined[-1].append(sentence.index)
            open_question = open_question and fragment and len(joined[-1]) < 3
        else:
            joined.append([sentence.index])
        if sentence.question:
            open_question = True
    return [tuple(unit) for unit in joined]


def align(source: Analysis, rewrite: Analysis) -> list[Group]:
    """Groups of sentences, joined by each unit's best match on the other side. Unmatched units are in no group."""
    ours, theirs = units(source), units(rewrite)
    weight = weights(source, rewrite)
    mine, yours = _said(source), _said(rewrite)
    stems_a = [frozenset().union(*(mine[index] for index in unit)) for unit in ours]
    stems_b = [frozenset().union(*(yours[index] for index in unit)) for unit in theirs]
    scores = [[_mutual(a, b, weight) for b in stems_b] for a in stems_a]
    links: set[tuple[int, int]] = set()
    for row in range(len(ours)):
        best = max(range(len(theirs)), key=lambda column: scores[row][column], default=-1)
        if best >= 0 and scores[row][best] >= _FLOOR:
            links.add((row, best))
    for column in range(len(theirs)):
        best = max(range(len(ours)), key=lambda row: scores[row][column], default=-1)
        if best >= 0 and scores[best][column] >= _FLOOR:
            links.add((best, column))
    return _groups(links, ours, theirs)


def _mutual(a: frozenset[str], b: frozenset[str], weight: dict[str, float]) -> float:
    return (overlap(a, b, weight) + overlap(b, a, weight)) / 2


def _groups(
    links: set[tuple[int, int]], ours: list[tuple[int, ...]], theirs: list[tuple[int, ...]]
) -> list[Group]:
    parent: dict[tuple[str, int], tuple[str, int]] = {}

    def root(node: tuple[str, int]) -> tuple[str, int]:
        while parent.setdefault(node, node) != node:
            node = parent[node]
        return node

    for row, column in links:
        parent[root(("a", row))] = root(("b", column))
    sets: dict[tuple[str, int], tuple[list[int], list[int]]] = {}
    for node in parent:
        left, right = sets.setdefault(root(node), ([], []))
        (left if node[0] == "a" else right).append(node[1])
    found = [
        Group(
            tuple(sorted(index for unit in left for index in ours[unit])),
            tuple(sorted(index for unit in right for index in theirs[unit])),
        )
        for left, right in sets.values()
    ]
    return sorted(found, key=lambda group: group.source)


def tokens_of(analysis: Analysis, sentences: tuple[int, ...]) -> list[Token]:
    """The tokens of some sentences, in order."""
    return [token for index in sentences for token in analysis.by_sentence[index]]
