"""Code tasks through the rollout: a host whose snapshots bring files back, and a run from tasks to graded attempts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pipeline import __version__
from pipeline.config import load_config
from pipeline.records import CodeTask, WorldError
from pipeline.sandbox import Pool
from pipeline.stages.code import changes_of
from pipeline.stages.context import Context
from pipeline.stages.replay import replay_trajectory
from pipeline.stages.units import STAGES, work
from pipeline.store import RunFolder
from pipeline.worlds.container import ContainerHost
from tests.sandbox.conftest import DATA
from tests.sandbox.test_sources import HUMANEVAL

pytestmark = [pytest.mark.slow, pytest.mark.docker]


async def test_a_snapshot_brings_the_files_back(pool: Pool, tasks: dict[str, CodeTask]) -> None:
    task = tasks["bank-transfer-atomic"]
    host = await ContainerHost.open(pool, task)
    other = await ContainerHost.open(pool, task)
    try:
        first = host.snapshot()
        looked = await host.call("read_file", {"path": "bank/transfers.py"})
        assert looked.before == looked.after == first.ref
        await host.call("bash", {"command": "rm bank/accounts.py; printf 'x\\377' > raw; chmod +x raw"})
        changed = host.snapshot()
        assert changed.ref != first.ref
        await host.call("write_file", {"path": "raw", "content": "other"})
        await other.restore(changed)
        assert other.snapshot() == changed
        assert changes_of(other.snapshot()) == changes_of(changed) == other.changes()
        assert not (await other.call("read_file", {"path": "bank/accounts.py"})).ok
        await host.restore(first)
        assert host.snapshot() == first
        with pytest.raises(WorldError):
            await host.restore(first.replace(world="another"))
    finally:
        await host.close()
        await host.close()
        await other.close()


async def test_a_run_from_tasks_to_graded_attempts(docker_ready: None, tmp_path: Path) -> None:
    rows = tmp_path / "rows.jsonl"
    hopeless = HUMANEVAL | {"task_id": "Own/1", "canonical_solution": "    return a - b\n"}
    rows.write_text("".join(json.dumps(row) + "\n" for row in (HUMANEVAL, hopeless, {"prompt": "no task"})))
    sources = [str(DATA / "stock-ledger"), str(rows)]
    contents = []
    for name in ("first", "second"):
        config = load_config(
            flags={"data": str(tmp_path), "code.tasks": sources, "code.flaw_rate": 0.5}, environment={}
        )
        folder = RunFolder.create(tmp_path, name, "code", 7, config.to_yaml(), version=__version__)
        for stage in ("code_tasks", "code"):
            for number in range(STAGES[stage].units(Context.open(folder.path))):
                assert await work(folder.path, stage, number)
        contents.append(
            {
                table: list(folder.rows(table))
                for table in ("trajectories", "events", "code_reports", "verdicts")
            }
        )
        admitted = {row["name"]: row["admitted"] for row in folder.rows("code_tasks")}
        assert admitted == {"stock-ledger": True, "Own-0": True, "Own-1": False}
        attempts = list(folder.rows("trajectories"))
        assert len(attempts) == 4
        for row in attempts:
            flawed = any(label.startswith("flaw:") for label in json.loads(row["planted"]))
            assert row["passed"] is not flawed, row["reason"]
    assert contents[0] == contents[1]
    replayed = await replay_trajectory(tmp_path, contents[0]["trajectories"][0]["id"])
    assert replayed.same, replayed.text
    assert replayed.calls > 2
