"""How a run's tasks spread over the axes of difficulty: so many tasks for each value of each axis."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Any

_BINS = 8
"""Values of an axis that are listed one by one; higher ones are counted together."""


def spread(axes: Iterable[str]) -> dict[str, dict[str, Any]]:
    """For each axis its mean and the number of tasks by value, from the column `axes` (JSON) of admitted tasks."""
    counts: dict[str, Counter[float]] = defaultdict(Counter)
    for text in axes:
        for name, value in json.loads(text).items():
            counts[name][float(value)] += 1
    return {name: _figures(counted) for name, counted in sorted(counts.items())}


def _figures(counted: Counter[float]) -> dict[str, Any]:
    tasks = counted.total()
    listed = sorted(counted)[:_BINS]
    values = {f"{value:g}": counted[value] for value in listed}
    rest = tasks - sum(values.values())
    if rest:
        values["more"] = rest
    mean = sum(value * count for value, count in counted.items()) / tasks
    return {"mean": round(mean, 3), "tasks": values}


def lines(figures: dict[str, dict[str, Any]]) -> list[str]:
    """One line per axis for a terminal."""
    return [
        f"axis {name:<17} mean {one['mean']:<7g} "
        + "  ".join(f"{value}: {count}" for value, count in one["tasks"].items())
        for name, one in figures.items()
    ]
