"""How often one of k attempts at a task passes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import comb
from typing import Any


def pass_at(k: int, attempts: int, passed: int) -> float:
    """The chance that one of `k` attempts passes, drawn without replacement from those that were made: the unbiased
    estimator of Chen et al. (2021, arXiv 2107.03374, section 2.1). `k` is at most `attempts`."""
    return 1.0 - comb(attempts - passed, k) / comb(attempts, k)


def pass_at_k(tasks: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Rows `k`, `value`, `tasks` for k = 1, 2, 4 … as far as tasks have so many decided attempts (`n`, of which
    `passed`); each task counts alike."""
    listed = [(int(one["n"]), int(one["passed"])) for one in tasks if one["n"]]
    most = max((n for n, _ in listed), default=0)
    sizes = sorted(
        {2**step for step in range(most.bit_length()) if 2**step <= most} | ({most} if most else set())
    )
    rows = []
    for k in sizes:
        values = [pass_at(k, n, passed) for n, passed in listed if n >= k]
        rows.append({"k": k, "value": sum(values) / len(values), "tasks": len(values)})
    return rows


def pass_at_k_line(rows: Sequence[Mapping[str, Any]]) -> str:
    """One line for a terminal."""
    told = ", ".join(f"pass@{row['k']} {row['value']:.3f} of {row['tasks']} tasks" for row in rows)
    return f"attempts         {told or 'none decided'}"
