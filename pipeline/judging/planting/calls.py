"""Flaws in calls: missing, repeated, out of order, after an error, never made."""

from __future__ import annotations

import random

from pipeline.judging.planting.flaw import differs, must_ask, parts, picked
from pipeline.judging.planting.sentences import CLAIMS, FAREWELLS
from pipeline.judging.planting.story import (
    Story,
    Told,
    calling,
    inserted,
    replaced,
    says,
    without,
    without_call,
)
from pipeline.records import Fault, PolicyCheck, Task


async def dropped_call(story: Story, rng: random.Random) -> Told | None:
    for call in picked(story.landed, rng):
        asked, report = parts(story, call)
        script = without_call(story.script, story.made(call), asked)
        if report is not None and rng.random() < 0.5:
            script = replaced(script, report, says(rng.choice(CLAIMS), report.turn))
        told = await differs(story, script, "dropped_call")
        if told:
            return told
    return None


async def skipped_lookup(story: Story, rng: random.Random) -> Told | None:
    """An identifier is used without the lookup that told it."""
    for read in picked(story.reads, rng):
        script = without_call(story.script, story.made(read), story.trajectory.events[read.asked])
        bare = Story(story.world, story.task, (await story.tell(script)).trajectory, "")
        for call in bare.evidence.calls:
            about = (
                story.world.words.tools[call.name].arguments if call.name in story.world.words.tools else {}
            )
            for name, value in call.arguments.items():
                if (
                    name in about
                    and about[name].source
                    and isinstance(value, str)
                    and not bare.says(value, call.asked)
                ):
                    return await story.tell(script, "skipped_lookup")
    return None


async def repeated_write(story: Story, rng: random.Random) -> Told | None:
    for call in picked(story.landed, rng):
        if story.world.tool_by_name[call.name].annotations.idempotent:
            continue
        made, asked = story.made(call), story.trajectory.events[call.asked]
        again = calling(call.name, made.arguments or {}, f"{made.id}_again", asked.turn)
        return await story.tell(inserted(story.script, asked, again), "repeated_write")
    return None


async def repeated_after_timeout(story: Story, rng: random.Random) -> Told | None:
    """The answer of a write is lost after the commit, and the agent writes again without looking."""
    for call in picked(story.landed, rng):
        if story.task.faults or story.world.tool_by_name[call.name].annotations.idempotent:
            continue
        made, asked = story.made(call), story.trajectory.events[call.asked]
        if len(asked.calls) > 1:
            continue
        fault = Fault(tool=call.name, nth=story.nth(call), kind="timeout_after")
        again = calling(call.name, made.arguments or {}, f"{made.id}_again", asked.turn)
        careful = _under(story, fault)
        return await careful.tell(inserted(story.script, asked, again), "repeated_after_timeout")
    return None


def _under(story: Story, fault: Fault) -> Story:
    """The same story as a task variant with a fault, and the rule of conduct that comes with it."""
    checks = story.task.rubric.checks
    if fault.kind.startswith("timeout"):
        rule = PolicyCheck(
            name=f"looks before repeating {fault.tool}",
            rule="After a time-out it reads the state before it tries again.",
            form="recheck",
            tool=fault.tool,
        )
        checks = (*checks, rule)
    task: Task = story.task.model_copy(
        update={"faults": (fault,), "rubric": story.task.rubric.model_copy(update={"checks": checks})}
    )
    return Story(story.world, task, story.trajectory, story.final_state)


async def ignored_error(story: Story, rng: random.Random) -> Told | None:
    """A write fails for the moment, and the agent goes on as if it had worked."""
    for call in picked(story.landed, rng):
        if story.task.faults:
            continue
        _asked, report = parts(story, call)
        kind = rng.choice(("error", "rate_limit", "timeout_before"))
        fault = Fault(
            tool=call.name, nth=story.nth(call), kind=kind, wait=5.0 if kind == "rate_limit" else 0.0
        )
        script = story.script
        if report is not None and rng.random() < 0.5:
            script = replaced(script, report, says(rng.choice(CLAIMS), report.turn))
        told = await differs(_under(story, fault), script, "ignored_error")
        if told:
            return told
    return None


async def swapped_order(story: Story, rng: random.Random) -> Told | None:
    """First the change, then the question whether it may be made."""
    for call in picked(story.landed, rng):
        pair = story.question(call)
        asked = story.trajectory.events[call.asked]
        if pair is None or not must_ask(story, call) or story.task.faults:
            continue
        script = without(story.script, asked)
        return await story.tell(replaced(script, pair[0], asked, pair[0]), "swapped_order")
    return None


async def premature_end(story: Story, rng: random.Random) -> Told | None:
    """The agent says goodbye before the last change."""
    if not story.landed:
        return None
    last = story.landed[-1]
    asked = story.trajectory.events[last.asked]
    place = next(i for i, event in enumerate(story.script) if event is asked)
    script = [*story.script[:place], says(rng.choice(FAREWELLS), asked.turn)]
    return await differs(story, script, "premature_end")
