"""Draws by configured weights that lean toward what has come too seldom so far."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Collection, Hashable, Mapping
from typing import Any, TypeVar

Value = TypeVar("Value", bound=Hashable)

_LEAST, _MOST = 0.05, 3.0
"""How far a draw leans, as factors of a value's share: what came too often stays possible, and what hardly ever fits
does not take every draw."""


class Steering:
    """What a growing set of tasks has come to, so that shares are met although some drawn values do not fit."""

    def __init__(self) -> None:
        self._counts: dict[str, Counter[Hashable]] = {}

    def draw(
        self,
        what: str,
        weights: Mapping[Value, float],
        rng: random.Random,
        among: Collection[Value] | None = None,
    ) -> Value:
        """One of the values with a weight, or of those `among` them."""
        total, counts = sum(weights.values()), self._counts.get(what, Counter())
        seen = counts.total() + 1
        values = [value for value in weights if among is None or value in among]
        leaning = []
        for value in values:
            share = weights[value] / total
            missing = share * seen - counts[value]
            leaning.append(min(max(missing, _LEAST * share), _MOST * share))
        return rng.choices(values, leaning)[0]

    def took(self, what: str, *values: Any) -> None:
        """Counts values of a task that was taken."""
        self._counts.setdefault(what, Counter()).update(values)
