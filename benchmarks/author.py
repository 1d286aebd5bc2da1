"""A scripted author that errs in known ways, over real HTTP: what is caught, what is repaired, what is let in.

    python -m benchmarks.author [WORLDS [FIRST]]

Of 500 worlds (and a task in each) most hold one planted error. An error that is not stubborn is put right when it is
objected to; a stubborn one comes again each time. Whether an admitted world or task is faulty is decided by comparing it
with the sound answers of the script, which the pipeline never sees.
"""

from __future__ import annotations

import asyncio
import random
import re
import sys
import time
from collections import Counter
from dataclasses import dataclass, field

from pipeline.config import Config, load_config
from pipeline.models import Models
from pipeline.models.players.author import Asker
from pipeline.models.players.seat import Seat
from pipeline.records import Domain, StateCheck, Task, World
from pipeline.stages.task_making import Proposal, TaskMaker
from pipeline.stages.tasks import _attempt
from pipeline.tasks.authored.wanted import Wanted
from pipeline.tools.evolve.authored.making import Made, WorldMaker
from pipeline.worlds.sql import SqlWorld
from tests.endpoint.author import Error, ScriptedAuthor
from tests.endpoint.errors import ANSWER_ERRORS, TASK_ERRORS, WORLD_ERRORS, error
from tests.endpoint.server import Endpoint
from tests.endpoint.shop import Shop

WORLDS = 500
AT_ONCE = 12
_KEY = re.compile(r"\b[PTD]\d\d\b")


@dataclass
class Score:
    """What became of the worlds and tasks with one error."""

    planted: int = 0
    met: int = 0
    """Times that the author was asked where it errs, and did."""
    caught: int = 0
    repaired: int = 0
    dropped: int = 0
    """The faulty part was left out, or the world or task rejected, with its reason."""
    faulty: list[str] = field(default_factory=list)


def plan(first: int, count: int) -> dict[int, Error]:
    """Nine of ten places err: each kind equally often, in a third of its places stubbornly."""
    names = [*WORLD_ERRORS, *ANSWER_ERRORS, *TASK_ERRORS]
    found = {}
    for number in range(first, first + count):
        if number % 10:
            name = names[number % len(names)]
            stubborn = (number // len(names)) % 3 == 2 or name in ANSWER_ERRORS
            found[number] = error(name, stubborn=stubborn)
    return found


def world_faults(world: World, shop: Shop) -> list[str]:
    """Where an admitted world differs from the sound one, which may hold less but nothing else."""
    found = []
    if world.schema_sql != shop.sql:
        found.append("schema")
    if world.summary != shop.plan()["summary"]:
        found.append("summary")
    for table, rows in world.seed.items():
        if any(row not in shop.rows(table)["rows"] for row in rows):
            found.append(f"rows of {table}")
    sound = {entry["name"]: shop.tool(entry["name"]) for entry in shop.tools()["tools"]}
    for tool in world.tools:
        assert tool.program is not None
        right = sound[tool.name]
        steps = [step.sql for step in tool.program.steps]
        if steps != [*(rule["sql"] for rule in right["rules"]), *right["changes"], right["result"]]:
            found.append(f"program of {tool.name}")
        if tool.description != right["description"] or set(tool.input_schema["properties"]) != {
            one["name"] for one in right["arguments"]
        }:
            found.append(f"signature of {tool.name}")
        live = SqlWorld(world)
        for witness in tool.program.witnesses:
            live.reset()
            result = live.call(tool.name, witness.arguments)
            if (None if result.ok else (result.error or ("?",))[0]) != witness.error:
                found.append(f"witness of {tool.name}")
        live.close()
    if any(
        {"name": one.name, "sql": one.sql} not in shop.invariants()["invariants"] for one in world.invariants
    ):
        found.append("invariants")
    if any(
        {"rule": one.rule, "enforced_by": one.enforced_by} not in shop.policy()["rules"]
        for one in world.policy
    ):
        found.append("policy")
    return found


def task_faults(task: Task, world: World) -> list[str]:
    """What a sound task never has."""
    found = []
    goal = task.goals[0]
    texts = [goal.intent, *goal.phrasings, *goal.reasons]
    if any(_KEY.search(text) for text in texts):
        found.append("a key in the wording")
    if any(tool.name in text for tool in world.tools for text in texts):
        found.append("a tool in the wording")
    for fact in task.facts:
        if fact.disclosure != "open" and any(fact.spoken in text for text in goal.phrasings):
            found.append("a hidden fact in the wording")
        if not isinstance(fact.value, dict) and str(fact.value) not in fact.spoken:
            found.append("a fact that does not say its value")
    live = SqlWorld(world)
    for check in task.rubric.checks:
        if isinstance(check, StateCheck) and "(author" in check.name and live.holds(check.sql):
            found.append("a check that is true from the start")
    for call in task.reference:
        result = live.call(call.tool, call.arguments)
        if (None if result.ok else (result.error or ("?",))[0]) != call.error:
            found.append("a reference that fails")
    live.close()
    return found


def account(score: Score, planted: Error, made: Made, proposal: Proposal | None, shop: Shop) -> None:
    """Books what became of one planted error."""
    steps = [*made.steps, *(proposal.steps if proposal else ())]
    score.planted += 1
    score.caught += any(step.caught for step in steps)
    whole = made.world is not None and len(made.world.tools) == 6 and len(made.world.invariants) == 1
    task_in = proposal is not None and proposal.task is not None and not proposal.kind
    here = whole if planted.name not in TASK_ERRORS else task_in
    score.repaired += here and not planted.stubborn
    score.dropped += not here or planted.stubborn


async def one(
    number: int, models: Models, config: Config, script: ScriptedAuthor, scores: dict[str, Score]
) -> tuple[bool, bool]:
    """A world and a task of one place; whether each was admitted."""
    shop = Shop(number)
    pen = Asker(Seat(models, "m", "author", purpose=str(number)))
    made = await WorldMaker(pen, config.author).make(Domain(path=f"lending/sheds/place {number}"))
    planted = script.errors.get(number)
    name = planted.name if planted else "none"
    score = scores.setdefault(name, Score())
    proposal = None
    if made.world is not None:
        score.faulty += [f"place {number}: {fault}" for fault in world_faults(made.world, shop)]
        rng = random.Random(number)
        maker = TaskMaker(pen, config, made.world, _attempt(made.world))
        await maker.cast(rng)
        hidden = 1 + number % 2
        proposal = await maker.propose(Wanted(("act",), 3, hidden), rng)
        if proposal.task is not None and not proposal.kind:
            score.faulty += [f"place {number}: {fault}" for fault in task_faults(proposal.task, made.world)]
    if planted is not None:
        account(score, planted, made, proposal, shop)
    return made.world is not None, proposal is not None and proposal.task is not None and not proposal.kind


async def run(count: int, first: int) -> int:
    script = ScriptedAuthor(plan(first, count))
    scores: dict[str, Score] = {}
    with Endpoint(script) as endpoint:
        flags = {
            "models": {"m": f"scripted@{endpoint.base_url}"},
            "cache.enabled": False,
            "author.words": False,
            "author.repairs": 2,
        }
        config = load_config(None, flags, {})
        gate = asyncio.Semaphore(AT_ONCE)
        async with Models(config) as models:

            async def bounded(number: int) -> tuple[bool, bool]:
                async with gate:
                    return await one(number, models, config, script, scores)

            started = time.monotonic()
            ends = await asyncio.gather(*map(bounded, range(first, first + count)))
            totals = models.ledger.totals
    worlds, tasks = sum(world for world, _ in ends), sum(task for _, task in ends)
    print(
        f"{count} places, {totals.calls} requests, {time.monotonic() - started:.0f} s; admitted {worlds} worlds and {tasks} tasks"
    )
    print(f"{'error':<30}{'planted':>8}{'made':>6}{'caught':>8}{'repaired':>9}{'dropped':>9}{'faulty':>8}")
    for name, score in sorted(scores.items(), key=lambda item: item[0]):
        if name != "none":
            print(
                f"{name:<30}{score.planted:>8}{script.erred[name]:>6}{score.caught:>8}{score.repaired:>9}{score.dropped:>9}{len(score.faulty):>8}"
            )
    return verdict(script, scores)


def verdict(script: ScriptedAuthor, scores: dict[str, Score]) -> int:
    planted = Counter(one.name for one in script.errors.values())
    missed = sum(score.planted - score.caught for score in scores.values())
    mild = sum(not one.stubborn for one in script.errors.values())
    repaired = sum(score.repaired for score in scores.values())
    faults = [fault for score in scores.values() for fault in score.faulty]
    print(
        f"planted {sum(planted.values())} errors of {len(planted)} kinds: missed {missed} (0); repaired {repaired} of {mild} that are not stubborn "
        f"(all); faulty worlds or tasks admitted {len(faults)} (0)"
    )
    for fault in faults[:20]:
        print("  faulty:", fault)
    return int(missed > 0 or repaired < mild or bool(faults))


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else WORLDS
    first = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    sys.exit(asyncio.run(run(count, first)))


if __name__ == "__main__":
    main()
