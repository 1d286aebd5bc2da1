"""The gym surface with all its parts: worlds, the teacher as user, the rubric as reward."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from pathlib import Path

from pipeline.config.trajectories import LimitsConfig
from pipeline.judging.judge import judge
from pipeline.records import Snapshot, Task, TaskError, Trajectory, User, World
from pipeline.rollout.gym import Gym, OpenHost, OpenUser
from pipeline.stages.context import Context
from pipeline.stages.trajectories import read_tasks
from pipeline.stages.worlds import read_worlds
from pipeline.store import RunFolder
from pipeline.teacher.user import TeacherUser
from pipeline.worlds.mixed import open_host, parts_of, task_world, world_ids


def tasks_of(data: Path, run: str) -> tuple[list[Task], dict[str, World]]:
    """The admitted tasks of a run that play in worlds, and these worlds by id. Raises RunError."""
    context = Context.open(RunFolder.open(data, run).path)
    rows = context.folder.rows("tasks", columns=("id", "record", "admitted", "host"))
    tasks = list(read_tasks(row for row in rows if row["admitted"] and row["host"] == "sql").values())
    return tasks, read_worlds(context, world_ids(tasks))


def world_gym(
    worlds: Iterable[World],
    *,
    user: OpenUser | None = None,
    host: OpenHost | None = None,
    limits: LimitsConfig | None = None,
    loop: asyncio.AbstractEventLoop | None = None,
) -> Gym:
    """An environment for tasks in these worlds.

    The teacher plays the user unless `user` opens another one; the reward is that of the rubric, by the certain checks
    alone (0 where only a model judge could decide). A `host` or `user` that has to wait needs a `loop`.
    """
    by_id = {world.id: world for world in worlds}

    def world_of(task: Task) -> World:
        missing = world_ids([task]) - set(by_id)
        if missing:
            raise TaskError(
                f"Task {task.id} plays in world {sorted(missing)[0]}, which this gym does not have."
            )
        return task_world(task, by_id)

    async def grade(task: Task, trajectory: Trajectory, final: Snapshot) -> float:
        world = world_of(task)
        known = final.world in {part.id for part in parts_of(world)}
        judgement = await judge(task, trajectory, final if known else None, world)
        return judgement.reward or 0.0

    def teacher(task: Task, trajectory: str) -> User:
        return TeacherUser(task, world_of(task), trajectory)

    return Gym(
        host or (lambda task: open_host(world_of(task), task.initial)),
        user or teacher,
        grade,
        limits=limits,
        loop=loop,
    )
