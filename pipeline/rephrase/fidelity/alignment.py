"""Which sentences of a rewriting say what which sentences of the source say."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass

from pipeline.rephrase.fidelity.analysis import Analysis


@dataclass(frozen=True, slots=True)
class Pair:
    """A group of sentences of each side that say the same (indexes), and how much of their words they share."""

    source: tuple[int, ...]
    rewrite: tuple[int, ...]
    overlap: float


def weights(source: Analysis, rewrite: Analysis) -> dict[str, float]:
    """Weight of each content stem: rare ones count more (inverse sentence frequency over both texts)."""
    counts: Counter[str] = Counter()
    for stems in [*source.stems, *rewrite.stems]:
        counts.update(stems)
    total = len(source.stems) + len(rewrite.stems)
    return {stem: math.log(1 + total / count) for stem, count in counts.items()}


def overlap(a: frozenset[str], b: frozenset[str], weight: dict[str, float]) -> float:
    """Weighted share of the stems of `a` that `b` has; 0 for an empty `a`."""
    whole = sum(weight[stem] for stem in a)
    return sum(weight[stem] for stem in a & b) / whole if whole else 0.0


def align(source: Analysis, rewrite: Analysis) -> list[Pair]:
    """Groups of sentences that belong together, joined by each rewritten sentence's best match in the source.

    A sentence without a match above a floor is in no group (see `support`).
    """
    weight = weights(source, rewrite)
    groups: dict[int, list[int]] = {}
    for index, stems in enumerate(rewrite.stems):
        best, score = _best(stems, source.stems, weight)
        if score > 0.15 and not (rewrite.sentences[index].question and len(rewrite.sentences) > 1):
            groups.setdefault(best, []).append(index)
    pairs = []
    for index, theirs in sorted(groups.items()):
        joined = frozenset().union(*(rewrite.stems[other] for other in theirs))
        pairs.append(Pair((index,), tuple(theirs), overlap(source.stems[index], joined, weight)))
    return pairs


def _best(stems: frozenset[str], others: list[frozenset[str]], weight: dict[str, float]) -> tuple[int, float]:
    scores = [overlap(stems, other, weight) * 0.6 + overlap(other, stems, weight) * 0.4 for other in others]
    best = max(range(len(scores)), key=scores.__getitem__, default=0)
    return best, scores[best] if scores else 0.0
