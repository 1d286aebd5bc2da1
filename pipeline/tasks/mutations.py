"""Mutated references: what a task's checks have to notice."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

from pipeline.records import ArgumentSource, Json, ReferenceCall, Task

MOST = 8
"""Mutations tried per task."""


@dataclass(frozen=True, slots=True)
class Mutation:
    """A reference with one thing wrong in it."""

    name: str
    reference: tuple[ReferenceCall, ...]


def mutations(task: Task, rng: random.Random) -> list[Mutation]:
    """Up to MOST mutations: each call dropped, told arguments changed, neighbors swapped, a change made to the same row
    first with another value, the user's first mind acted upon, a withdrawn change made all the same."""
    found = [
        *_dropped(task),
        *_changed(task, rng),
        *_swapped(task),
        *_extra(task, rng),
        *_first_minds(task),
    ]
    rng.shuffle(found)
    return sorted(found[:MOST], key=lambda one: one.name)


def _dropped(task: Task) -> Iterator[Mutation]:
    for step, call in enumerate(task.reference):
        kept = [one for index, one in enumerate(task.reference) if index != step]
        yield Mutation(f"without {step}:{call.tool}", tuple(_shifted(one, step) for one in kept))


def _shifted(call: ReferenceCall, gone: int) -> ReferenceCall:
    """Sources renumbered after step `gone`; what was read there is now a value out of nowhere."""
    sources = {}
    for name, source in call.sources.items():
        step = source.step
        if source.kind == "read" and step is not None:
            if step == gone:
                source = ArgumentSource(kind="fixed")
            elif step > gone:
                source = source.replace(step=step - 1)
        sources[name] = source
    return call.replace(sources=sources)


def _changed(task: Task, rng: random.Random) -> Iterator[Mutation]:
    schemas = {tool.name: tool.input_schema.get("properties", {}) for tool in task.agent.toolset.tools}
    for step, call in enumerate(task.reference):
        for name, value in call.arguments.items():
            source = call.sources.get(name)
            if source is None or source.kind == "consent":
                continue
            other = changed_value(value, schemas.get(call.tool, {}).get(name, {}), rng)
            if other == value:
                continue
            wrong = call.replace(
                arguments={**call.arguments, name: other},
                sources={**call.sources, name: ArgumentSource(kind="fixed")},
            )
            changed = (*task.reference[:step], wrong, *task.reference[step + 1 :])
            yield Mutation(f"{step}:{call.tool}.{name} changed", changed)


def _extra(task: Task, rng: random.Random) -> Iterator[Mutation]:
    """A second change of the same row, which the right one then overwrites."""
    tools = {tool.name: tool for tool in task.agent.toolset.tools}
    for step, call in enumerate(task.reference):
        about = tools.get(call.tool)
        if about is None or about.annotations.read_only or call.error is not None or call.withdrawn:
            continue
        schemas = about.input_schema.get("properties", {})
        for name, value in call.arguments.items():
            source = call.sources.get(name)
            if source is None or source.kind != "told":
                continue
            other = changed_value(value, schemas.get(name, {}), rng)
            if other == value:
                continue
            extra = call.replace(
                arguments={**call.arguments, name: other},
                sources={**call.sources, name: ArgumentSource(kind="fixed")},
            )
            before = [*task.reference[:step], extra]
            after = [_later(one, step) for one in task.reference[step:]]
            yield Mutation(f"{step}:{call.tool} made before with another {name}", (*before, *after))


def _later(call: ReferenceCall, step: int) -> ReferenceCall:
    """A call after one that was put in at `step`."""
    sources = {
        name: source.replace(step=source.step + 1)
        if source.step is not None and source.step >= step
        else source
        for name, source in call.sources.items()
    }
    return call.replace(sources=sources)


def _first_minds(task: Task) -> Iterator[Mutation]:
    """What the user took back is done all the same."""
    for step, call in enumerate(task.reference):
        if call.withdrawn:
            done = call.replace(withdrawn=False)
            yield Mutation(
                f"{step}:{call.tool} made though withdrawn",
                (*task.reference[:step], done, *task.reference[step + 1 :]),
            )


def _swapped(task: Task) -> Iterator[Mutation]:
    for step in range(len(task.reference) - 1):
        first, second = task.reference[step], task.reference[step + 1]
        if first.goal != second.goal:
            continue
        renumber = {step: step + 1, step + 1: step}
        order = [*task.reference[:step], second, first, *task.reference[step + 2 :]]
        yield Mutation(f"{step} and {step + 1} swapped", tuple(_renumbered(one, renumber) for one in order))


def _renumbered(call: ReferenceCall, numbers: dict[int, int]) -> ReferenceCall:
    sources = {
        name: source.replace(step=numbers.get(source.step, source.step))
        if source.step is not None
        else source
        for name, source in call.sources.items()
    }
    return call.replace(sources=sources)


def changed_value(value: Json, schema: Json, rng: random.Random) -> Json:
    """Another value of the same type that the schema allows, or the same where none can be found."""
    if isinstance(schema, dict) and schema.get("enum"):
        others = [one for one in schema["enum"] if one != value]
        return rng.choice(others) if others else value
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, float):
        return round(value + 1.5, 2)
    if isinstance(value, str):
        places = [i for i, letter in enumerate(value) if letter.isdigit()]
        if places:
            place = rng.choice(places)
            return value[:place] + str((int(value[place]) + rng.randint(1, 8)) % 10) + value[place + 1 :]
        return value + "x"
    return value
