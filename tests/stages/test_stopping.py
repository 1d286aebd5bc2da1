"""A run that may not spend more pauses, keeps what was played, and goes on when the limit is raised."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from pipeline.config import load_config
from pipeline.records import BudgetExceeded
from pipeline.stages.context import Context, raise_limits
from pipeline.stages.units import STAGES, work
from pipeline.store import RunFolder
from tests.endpoint.server import Endpoint, completion


def test_a_spent_budget_stops_the_unit_and_a_higher_one_finishes_it(tmp_path: Path) -> None:
    with Endpoint(lambda received: completion("I'm sorry, I can't do that.", tokens=(1000, 10))) as endpoint:
        flags = {
            "data": str(tmp_path),
            "cache.enabled": False,
            "tasks.count": 4,
            "worlds.only": ["harbour-hotel"],
            "roles.policy": f"agent@{endpoint.base_url}",
            "run.max_tokens": 4000,
            "trajectories.concurrency": 2,
        }
        config = load_config(None, flags, {})
        folder = RunFolder.create(tmp_path, "short", "trajectories", config.seed, config.to_yaml())
        for stage in ("worlds", "tasks"):
            for number in range(STAGES[stage].units(Context.open(folder.path))):
                asyncio.run(work(folder.path, stage, number))
        with pytest.raises(BudgetExceeded):
            asyncio.run(work(folder.path, "trajectories", 0))
        assert not folder.shard_done("trajectories", 0)
        asked = len(endpoint.calls)
        assert asked > 0
        raise_limits(folder, {"max_tokens": 10_000_000})
        assert asyncio.run(work(folder.path, "trajectories", 0))
        paid = len(endpoint.calls)
    assert paid > asked
    assert sum(1 for _ in folder.rows("trajectories")) == 8
    calls = list(folder.rows("model_calls"))
    assert sum(not call["cached"] for call in calls) == paid, (
        "what an earlier part paid for is still in the books"
    )
