"""A run on a real MCP server: played live, recorded, replayed without it; killed, it goes on; a server that dies is infra."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from pipeline.config import load_config
from pipeline.config.tools import IngestConfig
from pipeline.records import AgentProfile, EndReason, Goal, Persona, Rubric, Task, ToolCheck, Toolset
from pipeline.stages.context import Context, raise_limits
from pipeline.stages.replay import replay_trajectory
from pipeline.stages.units import work
from pipeline.store import RunFolder, task_row
from pipeline.tools.ingest import list_server
from tests.endpoint.server import Endpoint, Received, completion
from tests.worlds.hosts import SHELF


def _task(goal: str, tools: Any) -> Task:
    return Task(
        world="",
        agent=AgentProfile(name="shelf", system_prompt="You keep a shelf.", toolset=Toolset(tools=tools)),
        persona=Persona(name="p", style="terse"),
        goals=(Goal(intent=goal, kind="act", phrasings=(goal,)),),
        rubric=Rubric(checks=(ToolCheck(name="put", tool="shelf_put", mode="must"),)),
        host="live",
        proof="recorded",
    )


def _answers(received: Received) -> dict[str, Any]:
    """The user repeats its goal; the agent puts a thing on the shelf, looks at it and says so; or makes it die."""
    messages = received.body["messages"]
    if received.body["model"] == "talker":
        return completion("Please keep it: a thing on the shelf, or let it die.")
    told = " ".join(str(one["content"]) for one in messages if one["role"] == "user")
    made = sum(one["role"] == "tool" for one in messages)
    tool = "shelf_die" if "END" in messages[0]["content"] else "shelf_put"
    steps: list[tuple[str, str]] = [
        (tool, json.dumps({"key": "thing", "value": "blue"}) if tool == "shelf_put" else "{}"),
        ("shelf_get", '{"key": "thing"}'),
        ("shelf_home", "{}"),
    ]
    assert told
    return (
        completion("", calls=[steps[made]]) if made < len(steps) else completion("It is done, anything else?")
    )


@pytest.fixture
def folder(tmp_path: Path) -> Any:
    tools = asyncio.run(list_server(SHELF, IngestConfig())).tools
    (tmp_path / "servers.json").write_text(
        json.dumps({"mcpServers": {"shelf": {"command": sys.executable, "args": list(SHELF.args),
                                              "env": {"SHELF_KEY": "planted-secret-77"}}}})
    )  # fmt: skip
    with Endpoint(_answers) as endpoint:
        flags = {
            "data": str(tmp_path),
            "cache.enabled": False,
            "roles.policy": f"agent@{endpoint.base_url}",
            "roles.user": f"talker@{endpoint.base_url}",
            "tools.ingest.servers": str(tmp_path / "servers.json"),
            "trajectories.limits.pause_after_turns": 2,
        }
        config = load_config(None, flags, {})
        made = RunFolder.create(tmp_path, "live", "trajectories", config.seed, config.to_yaml())
        good = _task("keep a thing", tools)
        bad = good.replace(agent=good.agent.replace(system_prompt="END"))
        made.write_shard("tasks", 0, {"tasks": [task_row(one, domain="a/b/c") for one in (good, bad)]})
        yield made, good, bad


def test_a_run_on_a_real_server(folder: Any) -> None:
    """Paused after two turns and resumed: the server is started anew, its writes are made again."""
    run, good, bad = folder
    assert asyncio.run(work(run.path, "trajectories", 0))
    lost = list(run.rows("trajectories"))
    assert {(row["task"], row["end_reason"], row["owner"]) for row in lost} == {
        (bad.id, EndReason.HOST_ERROR, "infra")
    }
    [detail] = {row["detail"] for row in run.rows("failures")}
    assert "The MCP server shelf was lost in a call of shelf.die (exited)" in detail
    raise_limits(run, {"resume_paused": True})
    for number in range(3):
        assert asyncio.run(work(run.path, "resumed", number))
        if sum(row["pending"] for row in run.rows("funnel")) == 0:
            break
    rows = [row for row in run.rows("trajectories") if row["task"] == good.id]
    assert len(rows) == 2
    assert all(row["passed"] for row in rows), [row["reason"] for row in rows]
    results = [
        e["content"] for e in run.rows("events") if e["trajectory"] == rows[0]["id"] and e["role"] == "tool"
    ]
    assert [json.loads(text) for text in results] == [
        {"kept": "blue", "items": 1},
        {"value": "blue"},
        {"home": "/home/user", "key": "[removed]"},
    ]
    assert not [p for p in run.path.rglob("*.parquet") if b"planted-secret-77" in p.read_bytes()]
    assert Context.open(run.path).config.trajectories.live.session == "episode"
    for row in rows:
        told = asyncio.run(replay_trajectory(run.data_dir, row["id"]))
        assert told.same, told.text
        assert told.calls == 3
        again = asyncio.run(replay_trajectory(run.data_dir, row["id"], live=True))
        assert again.same, again.text
