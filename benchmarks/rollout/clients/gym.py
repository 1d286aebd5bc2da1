"""Calls a second through the gym surface, and of the host behind it: `python gym.py DATA`. One JSON line."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from pathlib import Path
from typing import Any

import psutil

from pipeline.config import load_config
from pipeline.config.trajectories import LimitsConfig
from pipeline.records import Json, Task, World
from pipeline.rollout.episode import render_result
from pipeline.stages.context import Context
from pipeline.stages.gym import tasks_of, world_gym
from pipeline.stages.units import STAGES, work
from pipeline.store import RunFolder
from pipeline.worlds.mixed import open_host, task_world

CALLS = 20
Action = dict[str, Any]


def main(data: Path) -> None:
    config = load_config(None, {"data": str(data), "tasks.count": 40, "worlds.only": ["harbour-hotel"]}, {})
    folder = RunFolder.create(data, "gym", "trajectories", config.seed, config.to_yaml())
    for stage in ("worlds", "tasks"):
        for number in range(STAGES[stage].units(Context.open(folder.path))):
            asyncio.run(work(folder.path, stage, number))
    tasks, worlds = tasks_of(data, "gym")
    limits = LimitsConfig(turns=5000, calls=5000, equal_calls=5000)
    gym = world_gym(worlds.values(), limits=limits)
    plans = []
    for task in tasks:
        made = [(call.tool, json.dumps(call.arguments)) for call in task.reference if call.error is None]
        if made and not task.faults:
            plans.append((task, [_turn(*made[n % len(made)]) for n in range(CALLS)]))
    count, began, inside = 0, time.perf_counter(), 0.0
    rounds = 0
    while time.perf_counter() - began < 5.0:
        for task, turns in plans:
            gym.reset(task, rounds)
            start = time.perf_counter()
            for turn in turns:
                _, _, done, info = gym.step(turn)
                assert info["state"]
                assert not done
            inside += time.perf_counter() - start
            count += len(turns)
            gym.close()
            rounds += 1
    whole = time.perf_counter() - began
    bare = alone(worlds, plans, 5.0)
    before = psutil.Process().memory_info().rss
    many = [world_gym(worlds.values(), limits=limits) for _ in range(2000)]
    for number, one in enumerate(many):
        task, turns = plans[number % len(plans)]
        one.reset(task, number)
        one.step(turns[0])
    mb = (psutil.Process().memory_info().rss - before) / 2**20 / len(many)
    print(
        json.dumps(
            {
                "whole": count / whole,
                "within": count / inside,
                "alone": bare,
                "episodes": rounds,
                "calls_each": CALLS,
                "mb_each": mb,
            }
        )
    )


def alone(worlds: dict[str, World], plans: list[tuple[Task, list[Action]]], seconds: float) -> float:
    """Calls a second of the host alone, results as the agent reads them: no turn, no record, no user."""
    made, used = 0, 0.0

    async def play(task: Task, calls: list[tuple[str, Json]]) -> float:
        host = open_host(task_world(task, worlds), task.initial)
        start = time.perf_counter()
        for name, arguments in calls:
            result = await host.call(name, arguments)
            assert result.after
            render_result(result, 10_000)
        spent = time.perf_counter() - start
        await host.close()
        return spent

    async def rounds() -> None:
        nonlocal made, used
        while used < seconds:
            for task, turns in plans:
                functions = [turn["tool_calls"][0]["function"] for turn in turns]
                calls = [(one["name"], json.loads(one["arguments"])) for one in functions]
                used += await play(task, calls)
                made += len(calls)

    asyncio.run(rounds())
    return made / used


def _turn(name: str, arguments: str) -> Action:
    return {"tool_calls": [{"function": {"name": name, "arguments": arguments}}]}


main(Path(sys.argv[1]))
