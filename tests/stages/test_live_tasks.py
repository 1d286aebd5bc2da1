"""Tasks on a real MCP server: proposed from its listing, proven on it, played, judged and replayed without it."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

import pytest

from pipeline.config import load_config
from pipeline.records import Task
from pipeline.report.stats import collect
from pipeline.stages.context import Context
from pipeline.stages.environment import compare_run, replay_run, summary
from pipeline.stages.replay import replay_trajectory
from pipeline.stages.units import STAGES as UNITS
from pipeline.stages.units import work
from pipeline.store import RunFolder
from tests.worlds.hosts import SHELF

STAGES = ("mcp", "live_tasks", "trajectories")


def played(place: Path, servers: dict[str, object], **flags: object) -> RunFolder:
    """A run with tasks on these servers, worked through in this process."""
    (place / "servers.json").write_text(json.dumps({"mcpServers": servers}))
    given = {
        "data": str(place),
        "tools.ingest.servers": str(place / "servers.json"),
        "evolve.mcp": True,
        "trajectories.live.tasks": 4,
        "trajectories.flaw_rate": 0.0,
        **flags,
    }
    config = load_config(None, given, {})
    folder = RunFolder.create(place, "live", "trajectories", config.seed, config.to_yaml())
    for stage in STAGES:
        for number in range(UNITS[stage].units(Context.open(folder.path))):
            asyncio.run(work(folder.path, stage, number))
    return folder


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    entry = {"command": sys.executable, "args": list(SHELF.args)}
    return played(tmp_path_factory.mktemp("shelf"), {"shelf": entry}, **{"tools.ingest.call_timeout": 2.0})


def test_tasks_are_admitted_with_the_level_of_their_proof(shelf: RunFolder) -> None:
    tasks = [Task.model_validate_json(row["record"]) for row in shelf.rows("tasks") if row["admitted"]]
    assert len(tasks) == 4
    for task in tasks:
        assert (task.host, task.proof) == ("live", "recorded")
        assert {call.tool for call in task.reference} <= {"shelf_put", "shelf_get", "shelf_home"}
        assert any(check.kind == "tool" for check in task.rubric.checks)
    evidence = [json.loads(row["evidence"]) for row in shelf.rows("tasks")]
    assert all(one["reference"] == ["pass", "pass"] and one["trivial_passes"] == [] for one in evidence)
    assert sum(one["killed"] for one in evidence) > 0


def test_what_one_call_writes_another_reads(shelf: RunFolder) -> None:
    tasks = [Task.model_validate_json(row["record"]) for row in shelf.rows("tasks")]
    chained = [task for task in tasks if [c.tool for c in task.reference][:2] == ["shelf_put", "shelf_get"]]
    assert all(t.reference[0].arguments["key"] == t.reference[1].arguments["key"] for t in chained)
    assert chained


def test_a_tool_that_kills_its_server_costs_itself_alone(shelf: RunFolder) -> None:
    lost = [row for row in shelf.rows("failures") if row["kind"] == "host_error"]
    assert lost
    assert {row["owner"] for row in lost} == {"infra"}
    assert len([row for row in lost if "shelf.die" in row["message"]]) <= 1


def test_honest_attempts_are_kept_and_replayed_without_the_server(shelf: RunFolder) -> None:
    rows = list(shelf.rows("trajectories"))
    assert len(rows) == 8
    assert all(row["passed"] for row in rows), [row["reason"] for row in rows]
    for row in rows:
        told = asyncio.run(replay_trajectory(shelf.data_dir, row["id"]))
        assert told.same, told.text


def test_a_server_that_does_not_start_is_a_row_and_ends_nothing(tmp_path: Path) -> None:
    entry = {"command": sys.executable, "args": list(SHELF.args)}
    folder = played(tmp_path, {"shelf": entry}, **{"trajectories.live.servers": ["gone"]})
    [row] = [row for row in folder.rows("failures") if row["stage"] == "live_tasks"]
    assert row["kind"] == "no such server"
    assert "'gone'" in row["message"]


def test_recorded_calls_against_the_server_now_and_against_a_simulator(shelf: RunFolder) -> None:
    """Both measures of `tracemill fidelity` on live servers, with their intervals in `stats`."""
    again = asyncio.run(replay_run(Context.open(shelf.path), 20))
    assert {row["source"] for row in again} == {"live"}
    assert all(row["agreed"] for row in again)
    rate = summary(again)["all"]
    assert (rate["share"], rate["n"]) == (1.0, len(again))
    played = asyncio.run(compare_run(Context.open(shelf.path), 20))
    assert {(row["source"], row["bucket"]) for row in played} == {("server", "real servers")}
    assert [row["tool"] for row in played] == [row["tool"] for row in again]
    told = collect(shelf.data_dir, shelf.path.name)["environment"]
    low, high = told["replay"][0]["ci95"]
    assert 0 < low < 1
    assert high == pytest.approx(1.0)
