"""The stages `trajectories` and `resumed`: k attempts at each task, and those that had paused, taken up again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AsyncExitStack

from pydantic_core import from_json

from pipeline.records import Json, Task, ToolSpec
from pipeline.stages.attempts import Attempts, Job
from pipeline.stages.context import Context, call_rows
from pipeline.stages.hosts import host_parts
from pipeline.stages.paused import RESUMED, PausedJobs, set_aside
from pipeline.stages.players import Players
from pipeline.stages.worlds import read_worlds
from pipeline.store import Journal, Row, gather
from pipeline.worlds.mixed import world_ids

STAGE = "trajectories"


def trajectory_units(context: Context) -> list[list[str]]:
    """Task ids per unit, in the order of the task shards."""
    rows = context.folder.rows("tasks", columns=("id", "admitted", "host"))
    ids = [row["id"] for row in rows if row["admitted"] and row["host"] != "container"]
    size = context.config.trajectories.shard_tasks
    return [ids[start : start + size] for start in range(0, len(ids), size)]


async def trajectories_unit(context: Context, number: int) -> bool:
    """Plays and judges the attempts of a unit.

    Episodes that paused at a limit of one part are set aside: the unit stands without them, and counts them as pending.
    False when the run's time is up: the unit stays unfinished.
    """
    wanted = trajectory_units(context)[number]
    tasks = _read_tasks(context, set(wanted))
    jobs = [(tasks[task], k) for task in wanted for k in range(context.config.trajectories.attempts)]
    return await _unit(context, STAGE, number, lambda journal: jobs, list(tasks.values()))


async def resumed_unit(context: Context, number: int) -> bool:
    """Takes up the episodes that had paused when round `number` began; those that pause again wait for the next one."""
    paused = PausedJobs(context.folder, STAGE, number)
    tasks = _read_tasks(context, paused.tasks)

    def bring(journal: Journal) -> list[Job]:
        paused.copy_to(journal)
        return [(tasks[task], attempt) for task, attempt in paused.jobs]

    return await _unit(context, RESUMED[STAGE], number, bring, list(tasks.values()))


async def _unit(
    context: Context,
    stage: str,
    number: int,
    find_jobs: Callable[[Journal], Sequence[Job]],
    tasks: Sequence[Task],
) -> bool:
    worlds = read_worlds(context, world_ids(tasks))
    with context.folder.journal(stage, number) as journal:
        jobs = find_jobs(journal)
        async with AsyncExitStack() as stack:
            models = await stack.enter_async_context(context.models(journal))
            players = Players(context.config, models, STAGE)
            parts = await stack.enter_async_context(host_parts(context.config, tasks, players.simulator))
            unit = Attempts(context, journal, players, worlds, parts)
            tables = await unit.run(jobs)
            if unit.owed:
                return False
            calls = call_rows(models.ledger.drain())
        unit.account(calls, len(jobs) if stage != STAGE else 0)
        set_aside(context.folder, stage, number, journal, unit.paused)
    context.folder.write_shard(stage, number, gather([*tables, {"model_calls": calls}, unit.tally.tables()]))
    return True


def _read_tasks(context: Context, ids: set[str]) -> dict[str, Task]:
    rows = context.folder.rows("tasks", columns=("id", "record"))
    return read_tasks(row for row in rows if row["id"] in ids)


def read_tasks(rows: Iterable[Row]) -> dict[str, Task]:
    """Tasks by id, from rows with `id` and `record`. Equal tools are one object, read and hashed once: most of a task's
    record is its tools with their programs, and tasks of a world share them."""
    tools: dict[str, ToolSpec] = {}
    found = {}
    for row in rows:
        body = from_json(row["record"])
        toolset = body["agent"]["toolset"]
        toolset["tools"] = [_shared(tool, tools) for tool in toolset["tools"]]
        task = found[row["id"]] = Task.model_validate(body)
        # Kept, since hashing a task with its tools again takes longer than playing it.
        task.__dict__["id"] = row["id"]
    return found


def _shared(tool: dict[str, Json], seen: dict[str, ToolSpec]) -> ToolSpec:
    text = repr(tool)
    if text not in seen:
        seen[text] = ToolSpec.model_validate(tool)
    return seen[text]
