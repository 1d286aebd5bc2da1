"""Whether a source supports a claim: a score from lemmas, and the plain floors to compare it with.

The score of a claim is the mean, over its sentences, of the longest common lemma subsequence with the best of the three
nearest source sentences, and 0.3 of the share of its content, the rare words weighing more, that one of these sentences
has; less half the largest share of novel names, less 0.3 for any novel number. Numbers are equal in words and figures; a name is known by its parts and by its adjective (Germany, German).
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from pipeline.rephrase.fidelity.lemmas import Lemmas, Word, lemmas
from pipeline.rephrase.fidelity.numerals import words

_NEAREST = 3
_WEIGHTED, _NAME, _NUMBER = 0.3, 0.5, 0.3
_HEAD = 5
"""Letters that a name and its adjective share."""
FIXED_THRESHOLD = 0.48
"""Score from which a claim counts as supported where no batch is given to calibrate on."""


@dataclass(frozen=True, slots=True)
class Support:
    """`score` is at most 1.3. `lexical` and `numbers` are the floors: shares of content words and of numbers found."""

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
        return Support(1.0 + _WEIGHTED, 1.0, 1.0)
    known = {form for sentence in source for word in sentence for form in (word.lemma, word.lower)}
    wide = _forms(source)
    contents = [frozenset(word.lemma for word in sentence if word.content) for sentence in source]
    counts = Counter(lemma for content in contents for lemma in content)
    orders, shares, strange_names = [], [], []
    strange_number = False
    for sentence in claim:
        nearest = _nearest(sentence, contents, counts)
        mine = [word.lemma for word in sentence]
        orders.append(
            max((_common(mine, [word.lemma for word in source[at]]) for at in nearest), default=0) / len(mine)
        )
        content = [word for word in sentence if word.content]
        weight = _weights(sentence, len(contents), counts)
        whole = sum(weight.values())
        held = max(
            (sum(weight[lemma] for lemma in weight.keys() & contents[at]) for at in nearest), default=0.0
        )
        shares.append(held / whole if whole else 1.0)
        strange_names.append(_share([not _known(word, known, wide) for word in content if word.name]))
        strange_number = strange_number or any(
            word.number and not _known(word, known, wide) for word in sentence
        )
    numbers = [word for sentence in claim for word in sentence if word.number]
    said = [word for sentence in claim for word in sentence if word.content]
    score = _mean(orders) + _WEIGHTED * _mean(shares) - _NAME * max(strange_names) - _NUMBER * strange_number
    return Support(
        round(score, 6),
        1 - _share([not _in(word, known) for word in said]),
        1 - _share([not _in(word, known) for word in numbers]),
    )


def _nearest(sentence: Sequence[Word], contents: list[frozenset[str]], counts: Counter[str]) -> list[int]:
    """The source sentences that share the most (and rarest) content words, at most three."""
    mine = _weights(sentence, len(contents), counts)
    scores = [sum(mine[lemma] for lemma in mine.keys() & content) for content in contents]
    return sorted(range(len(scores)), key=lambda at: -scores[at])[:_NEAREST]


def _weights(sentence: Sequence[Word], total: int, counts: Counter[str]) -> dict[str, float]:
    """Inverse sentence frequency of each content lemma of a sentence."""
    return {
        word.lemma: math.log(1 + max(1, total) / (counts[word.lemma] + 0.5))
        for word in sentence
        if word.content
    }


def _forms(source: Lemmas) -> set[str]:
    """Further forms by which names and numbers of the source are known: values, parts of compounds, heads."""
    found = set()
    for sentence in source:
        for word in sentence:
            if word.number:
                found.add(_value(word))
            elif word.content:
                found.update(part for part in _PART.split(word.lower) if part)
                if len(word.lower) >= _HEAD:
                    found.add(f"{word.lower[:_HEAD]}…")
    return found


_PART = re.compile(r"[-‐'’./]")
_WORDS = {name: str(value) for name, value in words("en").items()}


def _value(word: Word) -> str:
    return _WORDS.get(word.lower, word.lower.replace(",", ""))


def _known(word: Word, known: set[str], wide: set[str]) -> bool:
    if _in(word, known):
        return True
    if word.number:
        return _value(word) in wide
    return word.name and (word.lower.rstrip("s") in wide or f"{word.lower[:_HEAD]}…" in wide)


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
