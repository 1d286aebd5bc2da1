"""The stage `tasks` with a model as author: what is asked for, in waves, and the account of it."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence

from pipeline.config import Config
from pipeline.records import Task, World, canonical_json
from pipeline.stages.context import Context, Tally
from pipeline.stages.players import Players
from pipeline.stages.task_making import Proposal, TaskMaker
from pipeline.stages.yields import lost_rows, yield_rows
from pipeline.store import Row
from pipeline.tasks.authored.wanted import Wanted, wanted_tasks
from pipeline.tasks.authored.wishes import Stage
from pipeline.tasks.gate import Attempt
from pipeline.tools.evolve.authored.texts import foreign

STAGE = "tasks"
Add = Callable[[Task, World, object], None]
"""Takes an admitted task with its world and what the gate and the probes saw."""
DISPENSABLE = ("cast", "checks")
"""What a task can do without: the personas that ship stand in for a cast, and assertions that rules derive from the
calls are in every rubric. It is a row all the same."""
_WAVE = 4
"""Tasks of one world that are proposed side by side; the next wave sees what the last one brought."""


async def authored_tasks(
    context: Context, players: Players, world: World, count: int, attempt: Attempt, tally: Tally, add: Add,
    host: Callable[[], Stage] | None = None,
) -> list[Row]:  # fmt: skip
    """The tasks of one world, into `tally` and `add`; returns the account of it as rows of `measures`.

    `host` opens a fresh one for a task's calls, where the world is not one of SQL programs."""
    if not count:
        return []
    maker = TaskMaker(
        players.pen(f"tasks {world.id}"),
        context.config,
        world,
        attempt,
        players.solver(),
        language_of(world, context.config),
        host,
    )
    await propose_all(maker, context.config, world, count, tally, add)
    tally.failures += lost_rows(STAGE, [step for step in maker.steps if step.stage in DISPENSABLE])
    tally.tokens += sum(step.tokens for step in maker.steps)
    tally.cost += sum(step.cost for step in maker.steps)
    model = players.plays("author")
    return [
        *yield_rows(STAGE, model, maker.steps, subject=world.name),
        *_as_wanted(model, world, maker.admitted),
    ]


def _as_wanted(model: str, world: World, admitted: Sequence[tuple[Wanted, Task]]) -> list[Row]:
    """Rows of `measures` named `as requested`: the share of admitted tasks that have what was asked for, per axis."""
    rows: list[Row] = []
    for axis, asked in (
        ("goals", [one.goals for one, _ in admitted]),
        ("calls", [one.calls for one, _ in admitted]),
        ("hops", [one.hops for one, _ in admitted]),
        ("hidden_facts", [one.hidden for one, _ in admitted]),
    ):
        found = [int(task.axes[axis]) for _, task in admitted]
        if found:
            share = sum(have == want for have, want in zip(found, asked, strict=True)) / len(found)
            detail = {
                "asked": sum(asked) / len(asked),
                "measured": sum(found) / len(found),
                "axis": axis,
                "model": model,
            }
            part = f"{axis} by {model} for {world.name}"
            rows.append(
                {
                    "stage": STAGE,
                    "name": "as requested",
                    "part": part,
                    "value": share,
                    "n": len(found),
                    "detail": canonical_json(detail),
                }
            )
    return rows


def language_of(world: World, config: Config) -> str:
    """The configured language that the world's own texts are written in; the first where that cannot be told."""
    text = " ".join((world.summary, *(tool.description for tool in world.tools)))
    return next(
        (one for one in config.author.languages if not foreign(text, one)), config.author.languages[0]
    )


async def propose_all(
    maker: TaskMaker,
    config: Config,
    world: World,
    count: int,
    tally: Tally,
    add: Add,
) -> None:
    """Asks for tasks in waves until `count` are admitted, at most twice as many as wanted."""
    rng = random.Random(f"{config.seed}/wanted/{world.id}")
    await maker.cast(rng)
    kept, asked = 0, wanted_tasks(config, 2 * count, rng)
    while kept < count and asked:
        size = min(_WAVE, count - kept, len(asked))
        wave, asked = asked[:size], asked[size:]
        jobs: list[Awaitable[Proposal]] = [
            maker.propose(one, random.Random(f"{config.seed}/{world.id}/{len(asked)}/{number}"))
            for number, one in enumerate(wave)
        ]
        for proposal in await asyncio.gather(*jobs):
            maker.steps += proposal.steps
            task = proposal.task
            if task is not None and not proposal.kind and proposal.signature in maker.seen:
                tally.reject("same wish again", task.goals[0].intent, subject=task.id)
            elif task is not None and not proposal.kind:
                kept += 1
                maker.seen[proposal.signature] = "; then ".join(goal.intent for goal in task.goals)
                tally.keep()
                maker.admitted.append((proposal.wanted, task))
                add(task, world, proposal.evidence)
            else:
                subject = task.id if task is not None else world.name
                tally.reject(
                    proposal.kind or "no task",
                    proposal.message,
                    subject=subject,
                    detail=proposal.evidence or None,
                )
