"""What a model is asked to make a task like, along the axes that can be asked for; what it is like is measured."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from pipeline.config import Config

_KINDS: tuple[Literal["act", "ask", "refuse"], ...] = ("act", "ask", "refuse")
MOST_GOALS = 3
"""Goals of one task that a model is asked for."""


@dataclass(frozen=True)
class Wanted:
    """What a task is asked to be like; what it is like is measured."""

    kinds: tuple[str, ...]
    """What each goal is: act, ask, refuse."""
    calls: int
    hidden: int
    hops: int = 1
    """Calls that use what an earlier one returned."""

    @property
    def goals(self) -> int:
        return len(self.kinds)

    def __str__(self) -> str:
        whats = [_WHATS[kind] for kind in self.kinds]
        if self.goals > 1:
            whats = [f"({number}) {what}" for number, what in enumerate(whats, 1)]
        return (
            f"{'; '.join(whats)}; about {self.calls} calls in all, {self.hops} of them with a value that an earlier call"
            f" returned; {self.hidden} facts that the person tells only when asked."
        )


_WHATS = {
    "act": "something is changed for the person",
    "ask": "the person learns something from the data, and nothing is changed",
    "refuse": "the person wants what the policy forbids, and the last call is refused by its tool",
}


def wanted_tasks(config: Config, count: int, rng: random.Random) -> list[Wanted]:
    """What each of so many tasks is asked to be like, after the weights of `tasks.goal_kinds`."""
    weights = [config.tasks.goal_kinds.get(kind, 0.0) for kind in _KINDS]
    if not any(weights):
        weights = [1.0, 0.0, 0.0]
    return [_wanted(config, weights, rng) for _ in range(count)]


def _wanted(config: Config, weights: Sequence[float], rng: random.Random) -> Wanted:
    """So many goals as `tasks.goal_counts` weighs, and of each its calls and hops."""
    counts = list(config.tasks.goal_counts)
    goals = rng.choices(counts, [config.tasks.goal_counts[one] for one in counts])[0]
    kinds = tuple(rng.choices(_KINDS, weights, k=min(goals, MOST_GOALS)))
    calls = [rng.choice((2, 2, 3, 3, 4, 5)) if len(kinds) == 1 else rng.choice((1, 2, 3)) for _ in kinds]
    hops = sum(rng.randint(min(1, one - 1), min(2, one - 1)) for one in calls)
    return Wanted(kinds, sum(calls), rng.choice((0, 1, 1, 2)), hops)
