"""What was asked of a run's tasks, and what was reached."""

from __future__ import annotations

import json

from pipeline.config.tasks import TasksConfig
from pipeline.report.asked import asked_and_reached, asked_lines


def _task(worlds: int, distractors: int, faults: int, language: str = "en") -> str:
    return json.dumps(
        {
            "axes": {"worlds": worlds, "distractors": distractors},
            "faults": [
                {"kind": "error", "permanent": number > 0, "explicit": True} for number in range(faults)
            ],
            "goals": [{"kind": "blocked" if faults > 1 else "ask"}],
            "persona": {"language": language},
            "world_name": "library" if language != "en" else "elsewhere",
        }
    )


def test_shares_stand_beside_what_was_asked() -> None:
    tasks = [_task(1, 0, 0), _task(1, 8, 1), _task(2, 8, 2), _task(1, 0, 0, "de")]
    found = {row["what"]: row["reached"] for row in asked_and_reached(TasksConfig(), tasks)}
    assert [found[f"toolsets: {kind}"] for kind in ("own", "mixed", "two")] == [0.5, 0.25, 0.25]
    assert found["tasks with faults"] == 0.5
    assert found["faults in a task: 2"] == 0.5
    assert [found[f"faults: {kind}"] for kind in ("error", "outage", "stale")] == [2 / 3, 1 / 3, 0.0]
    assert [found[f"kinds of goals: {kind}"] for kind in ("ask", "act")] == [0.75, 0.25]
    assert found["distractors: 8"] == 1.0
    assert found["languages, where there are several: de"] == 1.0
    assert asked_and_reached(TasksConfig(), []) == []
    assert asked_lines(asked_and_reached(TasksConfig(), tasks))[0].endswith("asked 0.500  reached 0.500")
