"""What a command says when a run has ended: how it went, and what to do with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pipeline.store import RunFolder


def what_next(folder: RunFolder) -> str:
    """Commands that look at what the run made, as far as it made any."""
    name = folder.name
    steps = [("figures", f"tracemill stats {name}"), ("report", f"tracemill report {name} --out {name}.html")]
    if first := _first(folder, "trajectories"):
        steps.append(("one of them", f"tracemill show {first} --state"))
        steps.append(("dataset", f"tracemill export {name} --out data/exports/{name}"))
    elif _first(folder, "texts", "document"):
        steps.append(("one of them", f"tracemill show {_first(folder, 'rewrites')}"))
        steps.append(("dataset", f"tracemill export {name} --format text --out data/exports/{name}"))
    elif first := _first(folder, "tasks") or _first(folder, "tools"):
        steps.append(("one of them", f"tracemill show {first}"))
    if _first(folder, "failures", "stage"):
        steps.append(
            (
                "what was left out",
                f"tracemill sql \"select stage, kind, message from failures where run = '{name}'\"",
            )
        )
    return "\n".join(f"{what:<18} {command}" for what, command in steps)


def _first(folder: RunFolder, table: str, column: str = "id") -> str:
    row = next(folder.rows(table, columns=(column,)), None)
    return str(row[column]) if row else ""


def in_vain(folder: RunFolder) -> dict[str, str]:
    """Stages in which everything failed, with the first reason: not what was refused, but what did not work."""
    sums: dict[str, list[int]] = {}
    for row in folder.funnel():
        counts = sums.setdefault(row["stage"], [0, 0])
        counts[0] += row["kept"] + row["rejected"]
        counts[1] += row["failed"]
    lost = {stage for stage, (worked, failed) in sums.items() if failed and not worked}
    reasons: dict[str, str] = {}
    if lost:
        for row in folder.rows("failures", columns=("stage", "message"), latest=True):
            if row["stage"] in lost:
                reasons.setdefault(row["stage"], row["message"])
    return {stage: reasons.get(stage, "") for stage in sorted(lost)}
