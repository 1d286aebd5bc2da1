"""Flaws in arguments: another value, another row, one that nobody has told."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator

from pipeline.judging.evidence import MadeCall
from pipeline.judging.planting.flaw import differs, picked
from pipeline.judging.planting.story import (
    Story,
    Told,
    with_call,
    without,
)
from pipeline.judging.statements import rows_of
from pipeline.records import Json
from pipeline.tasks.mutations import changed_value
from pipeline.tasks.values import mentions
from pipeline.worlds.mixed import home_of
from pipeline.worlds.sql import SqlWorld


async def wrong_argument(story: Story, rng: random.Random) -> Told | None:
    """Another amount, date or choice than the user wanted, in a call that succeeds all the same."""
    for call in picked(story.landed, rng):
        about = story.world.words.tools[call.name].arguments
        schema = story.world.tool_by_name[call.name].input_schema.get("properties", {})
        names = [n for n in call.arguments if not (n in about and (about[n].source or about[n].consent))]
        for name in rng.sample(names, len(names)):
            for other in _others(story, call, name, schema.get(name, {}), rng):
                told = await _changed_call(story, call, name, other, "wrong_argument")
                if told:
                    return told
    return None


def _others(story: Story, call: MadeCall, name: str, schema: Json, rng: random.Random) -> Iterator[Json]:
    value = call.arguments[name]
    tool = story.world.tool_by_name[call.name]
    yield from {
        json.dumps(other): other
        for other in (changed_value(value, schema, rng) for _ in range(3))
        if other != value
    }.values()
    for witness in tool.program.witnesses if tool.program else ():
        if isinstance(witness.arguments.get(name), type(value)) and witness.arguments[name] != value:
            yield witness.arguments[name]
    if isinstance(value, int | float) and not isinstance(value, bool) and value > 1:
        yield value - 1


async def _changed_call(story: Story, call: MadeCall, name: str, other: Json, kind: str) -> Told | None:
    """A telling with another argument, when the call succeeds and the state ends up different."""
    asked = story.trajectory.events[call.asked]
    told = await differs(story, with_call(story.script, story.made(call), asked, **{name: other}), kind)
    if told is None:
        return None
    id = story.made(call).id
    return told if any(e.call_id == id and e.ok for e in told.trajectory.events) else None


async def wrong_entity(story: Story, rng: random.Random) -> Told | None:
    """Another row of the same table: one from the list the agent read, else any."""
    for call in picked(story.landed, rng):
        about = story.world.words.tools[call.name].arguments
        names = [n for n in call.arguments if n in about and about[n].source]
        for name in rng.sample(names, len(names)):
            for other in _siblings(story, call, name, about[name].source, rng):
                told = await _changed_call(story, call, name, other, "wrong_entity")
                if told:
                    return told
    return None


def _siblings(story: Story, call: MadeCall, name: str, source: str, rng: random.Random) -> Iterator[Json]:
    value = call.arguments[name]
    seen: list[Json] = []
    for read in story.evidence.calls:
        if read.index < call.index and read.ok:
            for row in rows_of(story.trajectory.events[read.index].content):
                if value in row.columns.values() or name in row.columns:
                    seen += [v for k, v in row.columns.items() if k == name and v != value]
    yield from rng.sample(seen, len(seen))
    table, column = source.split(".")
    live = SqlWorld(home_of(story.world, call.name))
    try:
        rows = live.ask(f"select {column} as x from {table.rpartition(':')[2]}", limit=1_000)
    finally:
        live.close()
    yield from (row["x"] for row in rng.sample(rows, min(len(rows), 12)) if row["x"] != value)


async def invented_fact(story: Story, rng: random.Random) -> Told | None:
    """A value that only the user knows is used before the user has told it."""
    facts = [f for f in story.task.facts if f.disclosure != "open" and isinstance(f.value, str | int | float)]
    for fact in rng.sample(facts, len(facts)):
        if isinstance(fact.value, bool) or len(str(fact.value)) < 3:
            continue
        told = [e for e in story.script if e.role == "user" and mentions(e.content, fact.spoken)]
        if len(told) != 1 or told[0].note != "act:answer":
            continue
        place = next(i for i, event in enumerate(story.script) if event is told[0])
        if sum(mentions(told[0].content, other.spoken) for other in story.task.facts) > 1:
            continue
        using = [
            c for c in story.evidence.calls if c.index > told[0].index and fact.value in c.arguments.values()
        ]
        if not using or story.says(str(fact.value), told[0].index) or _default(story, using[0], fact.value):
            continue
        return await story.tell(without(story.script, story.script[place - 1], told[0]), "invented_fact")
    return None


def _default(story: Story, call: MadeCall, value: Json) -> bool:
    schema = story.world.tool_by_name[call.name].input_schema.get("properties", {})
    return any(call.arguments.get(name) == value == about.get("default") for name, about in schema.items())
