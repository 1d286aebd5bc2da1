"""Each product once with a real small model in the model's chair: whatever it says, the run ends and its books balance."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from pipeline.assets import asset
from pipeline.config import load_config
from pipeline.records import BudgetExceeded
from pipeline.stages.context import Context
from pipeline.stages.units import STAGES, stages_of, work
from pipeline.store import RunFolder
from tests.endpoint.local import local_model  # noqa: F401 - a fixture
from tests.sandbox.conftest import docker_ready  # noqa: F401 - a fixture

pytestmark = pytest.mark.slow

DOCUMENT = """# Kettles

A kettle of 1.5 litres boils in 4 minutes at 2000 watts. It never boils dry when the lid is closed.
"""


def _run(folder: Path, url: str, flow: str, flags: dict[str, Any]) -> RunFolder:
    settings = {
        "data": str(folder),
        "cache.dir": str(folder / "cache"),
        "models": {"small": {"name": "smollm2", "max_tokens": 48, "temperature": 0.0, "tools": "structured"}},
        "endpoints": {"default": {"base_url": url}},
        "limits": {"concurrency": 2},
        "repairs": 1,
        **flags,
    }
    config = load_config(None, settings, {})
    run = RunFolder.create(folder, flow, flow, config.seed, config.to_yaml())
    context = Context.open(run.path)
    for stage in stages_of(flow, config):
        for number in range(STAGES[stage].units(context)):
            assert asyncio.run(work(run.path, stage, number)), f"{stage} {number} does not stand"
    return run


def _balanced(run: RunFolder) -> None:
    for row in run.rows("funnel"):
        assert row["entered"] == row["kept"] + row["rejected"] + row["failed"] + row["pending"], row
    calls = list(run.rows("model_calls"))
    assert sum(call["tokens_out"] for call in calls) > 0
    assert {call["outcome"] for call in calls} <= {"ok", "truncated", "refused", "invalid", "failed"}


def test_trajectories_are_played_and_judged(local_model: str, tmp_path: Path) -> None:  # noqa: F811
    run = _run(
        tmp_path,
        local_model,
        "trajectories",
        {
            "worlds.only": ["harbour-hotel"],
            "tasks.count": 2,
            "tasks.goal_counts": {1: 1.0},
            "tasks.distractors": {0: 1.0},
            "tasks.toolsets": {"own": 1.0},
            "roles.policy": "small",
            "roles.user": "small",
            "judging.judges": ["small"],
            "trajectories.attempts": 1,
            "trajectories.limits.turns": 4,
        },
    )
    _balanced(run)
    rows = list(run.rows("trajectories"))
    assert rows
    judged = {row["trajectory"] for row in run.rows("verdicts")}
    assert {row["id"] for row in rows} <= judged


@pytest.mark.docker
def test_code_is_attempted_in_containers(
    docker_ready: None,  # noqa: F811
    local_model: str,  # noqa: F811
    tmp_path: Path,
) -> None:
    tasks = sorted(str(path) for path in asset("data/code_tasks").iterdir())[:1]
    run = _run(
        tmp_path,
        local_model,
        "code",
        {
            "code.tasks": tasks,
            "code.attempts": 1,
            "roles.policy": "small",
            "trajectories.limits.turns": 4,
        },
    )
    _balanced(run)
    assert list(run.rows("trajectories"))


def test_an_author_that_gets_nowhere_stops_at_the_budget(local_model: str, tmp_path: Path) -> None:  # noqa: F811
    flags = {"evolve.tools": 6, "roles.author": "small", "run.max_tokens": 1200, "run.workers": 1}
    with pytest.raises(BudgetExceeded, match="tokens"):
        _run(tmp_path, local_model, "tools", flags)
    run = RunFolder.open(tmp_path, "tools")
    assert list((run.path / "journal").glob("*.db")), "what was paid for is kept for the next resume"
    assert not run.shard_done("evolve", 0)


def test_documents_are_rephrased(local_model: str, tmp_path: Path) -> None:  # noqa: F811
    (tmp_path / "kettles.md").write_text(DOCUMENT, encoding="utf-8")
    run = _run(
        tmp_path,
        local_model,
        "rephrase",
        {"rephrase.inputs": [str(tmp_path / "kettles.md")], "roles.rewriter": "small"},
    )
    _balanced(run)
    rows = list(run.rows("rewrites"))
    assert rows
    assert all(row["text"] for row in rows)
