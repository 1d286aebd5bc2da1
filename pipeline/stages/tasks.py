"""The stage `tasks`: an author proposes, the gate admits."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from functools import partial

from pipeline.config.trajectories import LimitsConfig
from pipeline.judging.judge import judge
from pipeline.records import Author, Policy, Task, World
from pipeline.rollout.episode import Episode
from pipeline.stages.authored_tasks import authored_tasks
from pipeline.stages.authoring import authored
from pipeline.stages.context import Context, Tally, call_rows
from pipeline.stages.players import Players
from pipeline.stages.worlds import admitted_worlds, read_worlds
from pipeline.store import Row, agent_row, persona_row, task_row
from pipeline.tasks.gate import Attempt, Outcome, gate
from pipeline.tasks.toolsets import Surroundings
from pipeline.teacher.author import TeacherAuthor
from pipeline.teacher.policy import TeacherPolicy
from pipeline.teacher.user import TeacherUser
from pipeline.tools.repository import Repository
from pipeline.worlds.mixed import open_host, state_of, task_world

STAGE = "tasks"
UNITS = 64
"""Units at most; beyond that a unit takes several worlds."""


def task_units(context: Context) -> list[list[str]]:
    """World ids per unit."""
    worlds = admitted_worlds(context)
    size = max(1, math.ceil(len(worlds) / UNITS))
    return [worlds[start : start + size] for start in range(0, len(worlds), size)]


async def tasks_unit(context: Context, number: int) -> None:
    """Proposes and gates the tasks of the unit's worlds; their share of `tasks.count` is even."""
    everywhere = admitted_worlds(context)
    mine = task_units(context)[number]
    worlds = read_worlds(context, {*mine, *_neighbors(context, everywhere, number)})
    tally, rows = Tally(STAGE), Rows()
    surroundings = _surroundings(worlds)
    with context.folder.journal(STAGE, number) as journal:
        async with context.models(journal) as models:
            players = Players(context.config, models, STAGE)
            author = _author(players, surroundings)
            for world_id in mine:
                share = _share(context.config.tasks.count, len(everywhere), everywhere.index(world_id))
                if authored(context):
                    attempt = _attempt(worlds[world_id])
                    rows.measures += await authored_tasks(
                        context, players, worlds[world_id], share, attempt, tally, rows.add
                    )
                else:
                    await _propose(context, author, worlds, world_id, share, tally, rows)
            rows.calls = call_rows(models.ledger.drain())
    context.folder.write_shard(STAGE, number, {**rows.tables(), **tally.tables()})


def _neighbors(context: Context, everywhere: Sequence[str], number: int) -> list[str]:
    """Ids of the worlds that a unit may borrow from: all, or a sample that depends on the run's seed."""
    wanted = context.config.tasks.neighbors
    rng = random.Random(f"neighbors/{context.config.seed}/{number}")
    return rng.sample(list(everywhere), min(wanted, len(everywhere)))


def _surroundings(worlds: Mapping[str, World]) -> Surroundings:
    """Worlds to borrow from, with the search for look-alikes among their tools."""
    ordered = [worlds[one] for one in sorted(worlds)]
    tools = Repository(tool for world in ordered for tool in world.tools)
    return Surroundings(ordered, lambda tool, count, beside: tools.similar(tool, count, beside))


def _author(players: Players, surroundings: Surroundings) -> Author:
    """The author as configured; the teacher is told of its surroundings."""
    author = players.author()
    if isinstance(author, TeacherAuthor):
        author.surroundings = surroundings
    return author


def _share(count: int, worlds: int, position: int) -> int:
    return count // worlds + (position < count % worlds)


class Rows:
    """Rows of one unit; agents and personas once each."""

    def __init__(self) -> None:
        self.tasks: list[Row] = []
        self.agents: dict[str, Row] = {}
        self.personas: dict[str, Row] = {}
        self.calls: list[Row] = []
        self.measures: list[Row] = []

    def add(self, task: Task, world: World, evidence: object) -> None:
        self.tasks.append(task_row(task, evidence=evidence, domain=world.domain.path))
        self.agents.setdefault(task.agent.id, agent_row(task.agent))
        self.personas.setdefault(task.persona.id, persona_row(task.persona))

    def tables(self) -> dict[str, list[Row]]:
        return {
            "tasks": self.tasks,
            "agents": list(self.agents.values()),
            "personas": list(self.personas.values()),
            "model_calls": self.calls,
            "measures": self.measures,
        }


async def _propose(
    context: Context,
    author: Author,
    worlds: Mapping[str, World],
    world_id: str,
    count: int,
    tally: Tally,
    rows: Rows,
) -> None:
    """Asks the author for tasks until `count` are admitted, at most three times as many as wanted."""
    kept, seen, batch = 0, set(), 0
    while kept < count and batch < 3:
        home = worlds[world_id]
        proposed = await author.tasks(home, count, context.config.seed + 1_000_003 * batch)
        batch += 1
        for task in proposed:
            if kept == count:
                break
            if task.id in seen:
                continue
            seen.add(task.id)
            world = task_world(task, worlds)
            report = await gate(
                task,
                _attempt(world),
                partial(_reference, world),
                context.config.seed,
                context.config.tasks.max_passing_mutations,
            )
            if report.admitted:
                kept += 1
                tally.keep()
                rows.add(task, home, report.evidence())
            else:
                kind = report.reason.split(":")[0]
                tally.reject(kind, report.reason, subject=task.id, detail=report.evidence())


def _reference(world: World, task: Task, number: int) -> Policy:
    return TeacherPolicy(task, world, f"gate/{number}")


def _attempt(world: World) -> Attempt:
    limits = LimitsConfig(turns=40, calls=60)

    async def attempt(task: Task, policy: Policy, number: int) -> Outcome:
        host = open_host(world, task.initial)
        try:
            user = TeacherUser(task, world, f"gate/{task.id}/{number}")
            trajectory = await Episode(task, number, 0, policy, user, host, limits).run()
            state, final = state_of(host), host.snapshot()
        finally:
            await host.close()
        return Outcome(await judge(task, trajectory, final, world), trajectory, state)

    return attempt
