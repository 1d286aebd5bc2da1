"""A whole set of episodes over real HTTP, with models as user and agent at an OpenAI-compatible server."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest

from pipeline.config import load_config
from pipeline.stages.context import Context
from pipeline.stages.units import STAGES, work
from pipeline.store import RunFolder
from tests.endpoint.server import Endpoint, Received, completion

KEY = "sk-planted-0123456789abcdef"


def _answers(received: Received) -> dict[str, Any]:
    """A user that repeats what its prompt says, and an agent that calls one tool and then declines."""
    messages = received.body["messages"]
    if received.body["model"] == "talker":
        said = "\n".join(str(message["content"]) for message in messages)
        return completion(re.sub(r"\bdata_\w+", "", said))  # a mark's digits are no number of the user's
    if messages[-1]["role"] == "user" and not any(message["role"] == "tool" for message in messages):
        return completion("", calls=[(received.body["tools"][0]["function"]["name"], "{}")])
    return completion("I'm sorry, that isn't something I can do from here.")


def _play(folder: RunFolder) -> None:
    context = Context.open(folder.path)
    for stage in ("worlds", "tasks", "trajectories"):
        for number in range(STAGES[stage].units(context)):
            assert asyncio.run(work(folder.path, stage, number))


def test_models_play_user_and_agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with Endpoint(_answers) as endpoint:
        flags = {
            "data": str(tmp_path),
            "cache.dir": str(tmp_path / "cache"),
            "tasks.count": 8,
            "tasks.goal_kinds": {"act": 1.0, "unserved": 1.0},
            "tasks.goal_counts": {1: 1.0},
            "worlds.only": ["harbour-hotel"],
            "roles.policy": f"agent@{endpoint.base_url}",
            "roles.user": f"talker@{endpoint.base_url}",
            "trajectories.temperature": [0.2, 0.9],
        }
        config = load_config(None, flags, {})
        folder = RunFolder.create(tmp_path, "models", "trajectories", config.seed, config.to_yaml())
        _play(folder)
        asked = len(endpoint.calls)
        bodies = [received.body for received in endpoint.calls]
    rows = list(folder.rows("trajectories"))
    assert len(rows) == 16
    assert {row["end_reason"] for row in rows} <= {"user_done", "user_gave_up"}
    assert any(row["passed"] for row in rows)
    assert any(row["passed"] is False for row in rows)
    calls = list(folder.rows("model_calls"))
    assert {call["role"] for call in calls} == {"policy", "user"}
    assert all(call["outcome"] == "ok" for call in calls)
    assert sum(not call["cached"] for call in calls) == asked > 16
    agent = [body for body in bodies if body["model"] == "agent"]
    assert {body["temperature"] for body in agent} == {0.2, 0.9}, "one temperature per attempt"
    seeds = {
        body["temperature"]: {b["seed"] for b in agent if b["temperature"] == body["temperature"]}
        for body in agent
    }
    assert seeds[0.2]
    assert seeds[0.2].isdisjoint(seeds[0.9]), "and one seed"
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert written
    assert not [path for path in written if KEY.encode() in path.read_bytes()]
