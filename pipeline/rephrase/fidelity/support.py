"""Whether a source supports a claim: a score from lemmas, and the plain floors to compare it with.

The score of a claim is the mean, over its sentences, of the longest common lemma subsequence with the best of the three
nearest source sentences, less half the largest share of novel names, less 0.3 for any novel number, less a fifth of the
share of novel content words.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from pipeline.rephrase.fidelity.lemmas import Lemmas, Word, lemmas

_NEAREST = 3
_NAME, _NUMBER, _NOVEL = 0.5, 0.3, 0.2
FIXED_THRESHOLD = 0.4
"""Score from which a claim counts as supported where no batch is given to calibrate on."""


@dataclass(frozen=True, slots=True)
class Support:
    """`score` is at most 1. `lexical` and `numbers` are the floors: shares of content words and of numbers found."""

    score: float
    lexical: float
    numbers: float

    @property
    def both(self) -> float:
        return (self.lexical + self.numbers) / 2


def support(source: str, claim: str) -> Support:
    """How well `source` supports `claim`. A claim without words is fully supported."""
    return _support(lemmas(source), lemmas(claim))


def _support(source: Lemmas, claim: Lemmas) -> Support:
    if not claim:
        return Support(1.0, 1.0, 1.0)
    known = {form for sentence in source for word in sentence for form in (word.lemma, word.lower)}
    contents = [frozenset(word.lemma for word in sentence if word.content) for sentence in source]
    counts = Counter(lemma for content in contents for lemma in content)
    orders, novelties, strange_names = [], [], []
    strange_number = False
    for sentence in claim:
        nearest = _nearest(sentence, contents, counts)
        mine = [word.lemma for word in sentence]
        orders.append(
            max((_common(mine, [word.lemma for word in source[at]]) for at in nearest), default=0) / len(mine)
        )
        content = [word for word in sentence if word.content]
        novelties.append(_share([not _in(word, known) for word in content]))
        strange_names.append(_share([not _in(word, known) for word in content if word.name]))
        strange_number = strange_number or any(word.number and not _in(word, known) for word in sentence)
    numbers = [word for sentence in claim for word in sentence if word.number]
    words = [word for sentence in claim for word in sentence if word.content]
    score = _mean(orders) - _NAME * max(strange_names) - _NUMBER * strange_number - _NOVEL * _mean(novelties)
    return Support(
        round(score, 6),
        1 - _share([not _in(word, known) for word in words]),
        1 - _share([not _in(word, known) for word in numbers]),
    )


def _nearest(sentence: Sequence[Word], contents: list[frozenset[str]], counts: Counter[str]) -> list[int]:
    """The source sentences that share the most (and rarest) content words, at most three."""
    total = max(1, len(contents))
    mine = {word.lemma: math.log(1 + total / (counts[word.lemma] + 0.5)) for word in sentence if word.content}
    scores = [sum(mine[lemma] for lemma in mine.keys() & content) for content in contents]
    return sorted(range(len(scores)), key=lambda at: -scores[at])[:_NEAREST]


def _in(word: Word, known: set[str]) -> bool:
    return word.lemma in known or word.lower in known


def _common(a: list[str], b: list[str]) -> int:
    """Length of the longest common subsequence, by bit vectors (Hyyrö 2004)."""
    where: dict[str, int] = {}
    for position, lemma in enumerate(a):
        where[lemma] = where.get(lemma, 0) | 1 << position
    full = (1 << len(a)) - 1
    row = full
    for lemma in b:
        match = row & where.get(lemma, 0)
        row = (row + match | row - match) & full
    return len(a) - row.bit_count()


def _share(flags: list[bool]) -> float:
    return sum(flags) / len(flags) if flags else 0.0


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)
