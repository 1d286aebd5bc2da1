"""The stage `tasks`: an author proposes, the gate admits."""

from __future__ import annotations

import math

from pipeline.config.trajectories import LimitsConfig
from pipeline.judging.judge import judge
from pipeline.records import Policy, Task, World
from pipeline.rollout.episode import Episode
from pipeline.stages.context import Context, Tally, call_rows
from pipeline.stages.players import Players
from pipeline.stages.worlds import admitted_worlds, read_worlds
from pipeline.store import Row, agent_row, persona_row, task_row
from pipeline.tasks.gate import Attempt, Outcome, gate
from pipeline.teacher.policy import TeacherPolicy
from pipeline.teacher.user import TeacherUser
from pipeline.worlds.mixed import open_host, state_of

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
    worlds = read_worlds(context, set(mine))
    tally, rows = Tally(STAGE), Rows()
    with context.folder.journal(STAGE, number) as journal:
        async with context.models(journal) as models:
            players = Players(context.config, models, STAGE)
            for world_id in mine:
                share = _share(context.config.tasks.count, len(everywhere), everywhere.index(world_id))
                await _propose(context, players, worlds[world_id], share, tally, rows)
            rows.calls = call_rows(models.ledger.drain())
    context.folder.write_shard(STAGE, number, {**rows.tables(), **tally.tables()})


def _share(count: int, worlds: int, position: int) -> int:
    return count // worlds + (position < count % worlds)


class Rows:
    """Rows of one unit; agents and personas once each."""

    def __init__(self) -> None:
        self.tasks: list[Row] = []
        self.agents: dict[str, Row] = {}
        self.personas: dict[str, Row] = {}
        self.calls: list[Row] = []

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
        }


async def _propose(
    context: Context, players: Players, world: World, count: int, tally: Tally, rows: Rows
) -> None:
    """Asks the author for tasks until `count` are admitted, at most three times as many as wanted."""
    kept, seen, batch = 0, set(), 0
    attempt = _attempt(world)
    while kept < count and batch < 3:
        proposed = await players.author().tasks(world, count, context.config.seed + 1_000_003 * batch)
        batch += 1
        for task in proposed:
            if kept == count:
                break
            if task.id in seen:
                continue
            seen.add(task.id)
            report = await gate(
                task,
                attempt,
                lambda one, number: TeacherPolicy(one, world, f"gate/{number}"),
                context.config.seed,
                context.config.tasks.max_passing_mutations,
            )
            if report.admitted:
                kept += 1
                tally.keep()
                rows.add(task, world, report.evidence())
            else:
                kind = report.reason.split(":")[0]
                tally.reject(kind, report.reason, subject=task.id, detail=report.evidence())


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
