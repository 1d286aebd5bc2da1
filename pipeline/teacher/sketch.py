"""A sketch: drafts from one or several worlds joined, rehearsed as a whole, with faults in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pipeline.records import ArgumentSource, Fact, Failure, Fault, Goal, Json, ReferenceCall
from pipeline.tasks.lives import Lives
from pipeline.teacher.drafts import Draft
from pipeline.teacher.meeting import Caller
from pipeline.worlds.mixed import MixedWorld

REFUSES = {"denied": str(Failure.PERMISSION_DENIED), "error": str(Failure.UNAVAILABLE)}
"""What a lasting fault answers."""


@dataclass
class Sketch:
    """Goals, reference calls and facts of a task that is being written; calls use the names of the toolset."""

    lives: Lives
    goals: list[Goal]
    calls: list[ReferenceCall]
    facts: dict[str, Fact]
    told: dict[int, tuple[str, ...]]


def join(lives: Lives, drafts: Sequence[Draft]) -> Sketch | None:
    """The drafts one after the other; None when they cannot be one person's: two of them are about somebody's own rows
    (the worlds know different people), or a thing that is called the same in both has two values."""
    if sum(draft.personal for draft in drafts) > 1:
        return None
    sketch = Sketch(lives, [], [], {}, {})
    for number, draft in enumerate(drafts):
        names = _fact_names(sketch, draft, number)
        if names is None:
            return None
        shown = _shown(lives, number)
        goals, steps = len(sketch.goals), len(sketch.calls)
        for name, fact in draft.plan.facts.items():
            sketch.facts.setdefault(names[name], fact.replace(name=names[name]))
        sketch.calls += [_moved(call, goals, steps, names, shown) for call in draft.plan.calls]
        sketch.goals += [
            goal.replace(facts=tuple(names[name] for name in goal.facts)) for goal in draft.goals
        ]
        sketch.told |= {goals + goal: values for goal, values in draft.told.items()}
    return sketch


def _shown(lives: Lives, part: int) -> dict[str, str]:
    """Names of a world's tools as the toolset gives them."""
    world = lives.world
    if not isinstance(world, MixedWorld):
        return {tool.name: tool.name for tool in world.tools}
    return {place.name: name for name, place in world.places.items() if place.part == part}


def _fact_names(sketch: Sketch, draft: Draft, number: int) -> dict[str, str] | None:
    names = {}
    for name, fact in draft.plan.facts.items():
        alike = [other for other in sketch.facts.values() if other.label == fact.label]
        if any(other.value != fact.value for other in alike if not isinstance(fact.value, dict)):
            return None
        names[name] = name if not number else f"{name} ({draft.world.name})"
        same = [other for other in alike if other.value == fact.value]
        if same:
            names[name] = same[0].name
    return names


def _moved(
    call: ReferenceCall, goals: int, steps: int, names: Mapping[str, str], shown: Mapping[str, str]
) -> ReferenceCall:
    """A draft's call in its place in the sketch."""
    sources: dict[str, ArgumentSource] = {}
    for argument, source in call.sources.items():
        step = None if source.step is None else source.step + steps
        fact = names[source.fact] if source.fact else None
        sources[argument] = source.replace(step=step, fact=fact)
    return call.replace(
        goal=call.goal + goals,
        tool=shown[call.tool],
        sources=sources,
        fact=names[call.fact] if call.fact else None,
    )


def rehearse(lives: Lives, calls: Sequence[ReferenceCall], faults: Sequence[Fault] = ()) -> bool:
    """Whether the reference works from the start, lasting faults and changes by others included; leaves its final
    state in `lives`."""
    lives.reset()
    results: list[Json] = []
    caller = Caller(lives.reads, faults)
    for call in calls:
        if call.withdrawn:
            results.append(None)
            continue
        fault = caller.make(call)
        if not _read(call, results):
            return False
        if fault is not None and fault.kind in REFUSES:
            code: str | None = REFUSES[fault.kind]
            results.append(None)
        else:
            for one in fault.by if fault is not None else ():
                if not lives.call(one.tool, one.arguments).ok:
                    return False
            result = lives.call(call.tool, call.arguments)
            code = None if result.ok else (result.error or ("", ""))[0]
            results.append(result.value if caller.answered else None)
        if code != call.error:
            return False
    return True


def _read(call: ReferenceCall, results: Sequence[Json]) -> bool:
    """Whether each value that a call takes from an earlier result stands there."""
    for name, source in call.sources.items():
        if source.kind == "read" and source.step is not None and source.column is not None:
            rows = results[source.step]
            rows = rows if isinstance(rows, list) else [rows]
            if not any(
                isinstance(row, dict) and row.get(source.column) == call.arguments[name] for row in rows
            ):
                return False
    return True
