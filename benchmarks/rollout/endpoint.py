"""A loopback endpoint, runs with a model behind it, and clients in processes of their own."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pipeline.config import load_config
from pipeline.records import Json, Task, trajectory_id
from pipeline.stages.context import Context
from pipeline.stages.players import Players
from pipeline.stages.units import STAGES, work
from pipeline.store import RunFolder

ROOT = Path(__file__).resolve().parent.parent.parent
CLIENTS = Path(__file__).resolve().parent / "clients"
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}


@contextmanager
def endpoint(latency: float, log: Path, plans: Path) -> Iterator[str]:
    log.parent.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, str(CLIENTS / "endpoint.py"), str(latency), str(log), str(plans)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip()
    finally:
        process.communicate("")


def client(script: str, *words: str) -> dict[str, float]:
    command = [sys.executable, str(CLIENTS / f"{script}.py"), *words]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=ENVIRONMENT)
    if done.returncode:
        raise RuntimeError(done.stderr[-2000:])
    figures: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return figures


def prepared(data: Path, name: str, url: str, plans: Path, tasks: int, **more: Any) -> RunFolder:
    """A run with tasks, and as its agent a model at `url`, which finds each task's reference calls in `plans`."""
    flags = {
        "data": str(data),
        "tasks.count": tasks,
        "tasks.fault_rate": 0.5,
        "cache.enabled": False,
        "endpoints": {"default": {"base_url": url}},
        "models": {"m": {}},
        "roles.policy": "m",
        "limits": {"concurrency": 1000},
        "trajectories.attempts": 1,
        **more,
    }
    config = load_config(None, flags, {})
    folder = RunFolder.create(data, name, "trajectories", config.seed, config.to_yaml())
    for stage in ("worlds", "domains", "evolve", "tasks"):
        for number in range(STAGES[stage].units(Context.open(folder.path))):
            asyncio.run(work(folder.path, stage, number))
    plans.write_text(json.dumps(dict(_plans(Context.open(folder.path)))))
    return folder


def _plans(context: Context) -> Iterator[tuple[str, list[list[Json]]]]:
    """Seed of an episode's requests to its task's reference calls."""
    config = context.config
    players = Players(config, None, "trajectories")  # type: ignore[arg-type] # no model is asked
    for row in context.folder.rows("tasks", columns=("record",)):
        task = Task.model_validate_json(row["record"])
        for attempt in range(config.trajectories.attempts):
            seat = players.seat("policy", trajectory_id(task.id, attempt, config.seed), attempt)
            yield str(seat.seed), [[call.tool, call.arguments] for call in task.reference]
