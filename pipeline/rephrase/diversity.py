"""How much of one text stands in another: shared word n-grams."""

from __future__ import annotations

import re

_WORD = re.compile(r"[\u3400-\u9fff]|\w+")


def grams(text: str, size: int = 5) -> set[tuple[str, ...]]:
    """The word n-grams of `text`; ideographs count as words. A text shorter than `size` words has none."""
    words = _WORD.findall(text.lower())
    return {tuple(words[at : at + size]) for at in range(len(words) - size + 1)}


def overlap(text: str, other: str, size: int = 5) -> float:
    """Share of the n-grams of `text` that `other` has too; 0 for a text without n-grams."""
    mine = grams(text, size)
    return len(mine & grams(other, size)) / len(mine) if mine else 0.0
