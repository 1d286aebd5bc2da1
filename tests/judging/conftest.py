"""Good trajectories to judge: the teacher's, in two of the shipped worlds."""

from __future__ import annotations

import asyncio

import pytest

from pipeline.assets import asset
from pipeline.config.tasks import TasksConfig
from pipeline.config.trajectories import LimitsConfig
from pipeline.judging.judge import judge
from pipeline.judging.planting import Story
from pipeline.records import Snapshot, Task, Trajectory, World
from pipeline.rollout.episode import Episode
from pipeline.teacher.author import TeacherAuthor
from pipeline.teacher.policy import TeacherPolicy
from pipeline.teacher.user import TeacherUser
from pipeline.worlds.load import load_world
from pipeline.worlds.sql import SqlHost


async def play(task: Task, world: World, name: str) -> tuple[Trajectory, Snapshot]:
    host = SqlHost(world)
    try:
        policy, user = TeacherPolicy(task, world, name), TeacherUser(task, world, name)
        trajectory = await Episode(task, 0, 7, policy, user, host, LimitsConfig()).run()
        return trajectory, host.snapshot()
    finally:
        await host.close()


async def _stories(name: str, count: int) -> list[Story]:
    world = load_world(asset(f"tools_repo/worlds/{name}.yaml"))
    found = []
    for task in await TeacherAuthor(TasksConfig()).tasks(world, count, 5):
        trajectory, final = await play(task, world, task.id)
        if (await judge(task, trajectory, final, world)).passed:
            found.append(Story(world, task, trajectory, final.state))
    return found


@pytest.fixture(scope="session")
def stories() -> list[Story]:
    return [
        *asyncio.run(_stories("airline", 20)),
        *asyncio.run(_stories("clinic", 20)),
    ]
