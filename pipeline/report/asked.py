"""What a run's configuration asked its tasks to be like, and what was reached."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from pipeline.config.tasks import TasksConfig


def asked_and_reached(config: TasksConfig, tasks: Iterable[str]) -> list[dict[str, Any]]:
    """Rows `what`, `asked`, `reached` (shares), from the records (JSON) of admitted tasks."""
    records = [json.loads(text) for text in tasks]
    if not records:
        return []
    faulty = [record for record in records if record["faults"]]
    two = [record["axes"].get("worlds", 1) > 1 for record in records]
    lent = [record["axes"].get("distractors", 0) > 0 for record in records]
    toolsets = [
        "two" if both else "mixed" if guests else "own" for both, guests in zip(two, lent, strict=True)
    ]
    foreign = {record["world_name"] for record in records if record["persona"]["language"] != "en"}
    spoken = [record["persona"]["language"] for record in records if record["world_name"] in foreign]
    kinds = Counter(_wished(goal["kind"]) for record in records for goal in record["goals"])
    guests = [int(record["axes"].get("distractors", 0)) for record in records]
    return [
        *_shares("toolsets", config.toolsets, Counter(toolsets)),
        *_shares("distractors", config.distractors, Counter(one for one in guests if one)),
        *_shares("goals", config.goal_counts, Counter(len(record["goals"]) for record in records)),
        *_shares("kinds of goals", config.goal_kinds, kinds),
        {"what": "tasks with faults", "asked": config.fault_rate, "reached": len(faulty) / len(records)},
        *_shares(
            "faults in a task", config.fault_counts, Counter(len(record["faults"]) for record in faulty)
        ),
        *_shares(
            "faults",
            config.faults,
            Counter(_asked_fault(one) for record in faulty for one in record["faults"]),
        ),
        *_shares("languages, where there are several", config.languages, Counter(spoken)),
    ]


def _wished(kind: str) -> str:
    """What was drawn as a goal of this kind: a lasting fault or a change of mind comes later."""
    return "act" if kind in ("blocked", "withdrawn") else kind


def _asked_fault(fault: Mapping[str, Any]) -> str:
    """The configured kind of a planned fault: some kinds are variants of one."""
    if fault["kind"] == "error" and fault["permanent"]:
        return "outage"
    if fault["kind"] == "partial" and not fault["explicit"]:
        return "truncated"
    return str(fault["kind"])


def _shares(what: str, weights: Mapping[Any, float], counts: Counter[Any]) -> list[dict[str, Any]]:
    total, found = sum(weights.values()), counts.total()
    return [
        {
            "what": f"{what}: {name}",
            "asked": weight / total,
            "reached": counts[name] / found if found else None,
        }
        for name, weight in weights.items()
    ]


def asked_lines(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """One line per row for a terminal."""
    return [
        f"{row['what']:<40} asked {row['asked']:.3f}  reached "
        + ("-" if row["reached"] is None else f"{row['reached']:.3f}")
        for row in rows
    ]
