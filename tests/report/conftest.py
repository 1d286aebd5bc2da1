"""A small real run, and beside its shards one whose every text tries to break out of the page."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from pipeline.config import parse_config
from pipeline.stages.context import Context
from pipeline.stages.units import STAGES, stages_of, work
from pipeline.store import RunFolder

EVIL = "</script><script>window.owned = 1</script><img src=x onerror='window.owned = 2'>\u2028<!--"
TASKS = 8


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with the run `small`."""
    place = tmp_path_factory.mktemp("report") / "data"
    config = parse_config(
        {"data": str(place), "tasks": {"count": TASKS}, "worlds": {"only": ["skerry-air", "smart-home"]}},
        where="test",
    )
    folder = RunFolder.create(place, "small", "trajectories", config.seed, config.to_yaml())
    context = Context(folder, config)
    for stage in stages_of("trajectories", config):
        for number in range(STAGES[stage].units(context)):
            asyncio.run(work(folder.path, stage, number))
    folder.write_shard("hostile", 0, hostile())
    folder.status = "finished"
    return place


def hostile() -> dict[str, list[dict[str, Any]]]:
    """Rows of every table that the page shows, with markup, script and line separators in each text."""
    trajectory = {
        "id": "traj_evil", "task": "task_evil", "world": EVIL, "world_id": "", "difficulty": EVIL, "style": EVIL,
        "kinds": EVIL, "attempt": 0, "seed": 0, "passed": False, "value": "fail", "owner": "agent", "reason": EVIL,
        "reward": 0.0, "end_reason": EVIL, "turns": 1, "calls": 1, "failed_calls": 0, "faults": 1, "tokens": 9,
        "tokens_in": 4, "tokens_out": 5, "cost": 0.0, "planted": [EVIL], "host": "sql", "policy": EVIL,
    }  # fmt: skip
    event = {
        "trajectory": "traj_evil",
        "turn": 1,
        "calls": [],
        "before": "",
        "after": "",
        "reasoning": EVIL,
        "note": "",
    }
    call = {"id": "1", "name": EVIL, "raw": EVIL, "arguments": {EVIL: EVIL}}
    events = [
        {**event, "index": 0, "role": "system", "content": EVIL},
        {**event, "index": 1, "role": "user", "content": EVIL},
        {**event, "index": 2, "role": "assistant", "content": EVIL, "calls": [call]},
        {**event, "index": 3, "role": "tool", "content": EVIL, "name": EVIL, "ok": False, "error_code": EVIL, "after": "s",
         "fault": {"kind": EVIL}},
    ]  # fmt: skip
    verdict = {
        "trajectory": "traj_evil", "round": 0, "check": EVIL, "kind": "reply", "value": "fail", "owner": "agent",
        "evidence": [2, 3], "reason": f"it says '{EVIL}'", "judge": EVIL, "mandatory": True, "weight": 1.0,
    }  # fmt: skip
    rewrite = {
        "document": "doc_evil", "chunk": 0, "style": "lecture", "attempts": 1, "tokens_source": 3, "tokens": 4,
        "heading": EVIL, "overlap": 0.2, "source_text": f"There are 12 of {EVIL}", "text": f"There are 13 of {EVIL}",
    }  # fmt: skip
    finding = {
        "rewrite": "rw_a", "document": "doc_evil", "chunk": 0, "style": "lecture", "index": 0, "kind": "number",
        "direction": "added", "severity": "fail", "message": EVIL, "source_text": "12", "source_start": 10,
        "source_end": 12, "rewrite_text": "13", "rewrite_start": 10, "rewrite_end": 12,
    }  # fmt: skip
    return {
        "trajectories": [trajectory],
        "events": events,
        "verdicts": [verdict],
        "snapshots": [{"ref": "s", "state": "", "world_id": "", "clock": "", "counter": 0, "rows": [[EVIL, EVIL, {EVIL: EVIL}]]}],
        "calls": [{"trajectory": "traj_evil", "index": 3, "position": 0, "name": EVIL, "answered": True, "ok": False}],
        "faults": [{"trajectory": "traj_evil", "index": 3, "tool": EVIL, "nth": 1, "kind": EVIL}],
        "failures": [{"stage": EVIL, "kind": EVIL, "subject": EVIL, "message": EVIL}],
        "documents": [{"id": "doc_evil", "source": EVIL, "title": EVIL, "text": EVIL}],
        "rewrites": [
            {**rewrite, "id": "rw_a", "verdict": "source_kept", "reason": EVIL, "fidelity": "unfaithful", "score": 0.1, "findings": 1},
            {**rewrite, "id": "rw_b", "verdict": "kept", "reason": "", "fidelity": "faithful", "score": 0.9, "findings": 0},
        ],
        "findings": [finding],
    }  # fmt: skip
