"""Harmless variations of good trajectories: other notation, phrasing and order, extra reads, another correct path.

All of them are right, so a judge that fails one raises a false alarm. A variation that changes the final state or
makes a call fail is not used.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Awaitable, Callable

from pipeline.judging.planting.sentences import ENDINGS, GREETINGS
from pipeline.judging.planting.story import Script, Story, Told, calling, inserted, replaced, says
from pipeline.judging.statements import rows_of
from pipeline.records import Event, Json, ToolCall

Vary = Callable[[Story, random.Random], Awaitable[Told | None]]


async def _told(story: Story, script: Script, kind: str) -> Told | None:
    """The telling, when it ends in the same state and no call fails that did not fail before."""
    told = await story.tell(script)
    failed = sum(not e.ok for e in told.trajectory.events if e.role == "tool")
    before = sum(not e.ok for e in story.trajectory.events if e.role == "tool")
    if told.final.state != story.final_state or failed > before:
        return None
    id = f"{told.trajectory.id}~{kind}"
    return Told(told.task, told.trajectory.model_copy(update={"id": id}), told.final)


async def _extra_read(story: Story, rng: random.Random) -> Told | None:
    """A read is made twice."""
    if not story.reads or story.task.faults:
        return None
    read = rng.choice(story.reads)
    asked, made = story.trajectory.events[read.asked], story.made(read)
    again = calling(read.name, made.arguments or {}, f"{made.id}_twice", asked.turn)
    return await _told(story, inserted(story.script, asked, again), "extra_read")


async def _other_order(story: Story, rng: random.Random) -> Told | None:
    """Independent calls of one turn in another order, or one by one."""
    turns = [
        e
        for e in story.script
        if len(e.calls) > 1 and all(c.name not in story.evidence.writes for c in e.calls)
    ]
    if not turns or story.task.faults:
        return None
    event = rng.choice(turns)
    if rng.random() < 0.5:
        turned = event.model_copy(update={"calls": tuple(reversed(event.calls))})
        return await _told(story, replaced(story.script, event, turned), "other_order")
    single = [
        event.model_copy(update={"calls": (call,), "content": event.content if number == 0 else ""})
        for number, call in enumerate(event.calls)
    ]
    return await _told(story, replaced(story.script, event, *single), "other_order")


async def _argument_notation(story: Story, rng: random.Random) -> Told | None:
    """25 as 25.0, keys in another order, spaces: the same arguments."""
    changed = []
    touched = False
    for event in story.script:
        calls = tuple(_respelled(call) for call in event.calls)
        touched = touched or any(one.raw != other.raw for one, other in zip(calls, event.calls, strict=True))
        changed.append(event.model_copy(update={"calls": calls}) if event.calls else event)
    return await _told(story, changed, "argument_notation") if touched else None


def _respelled(call: ToolCall) -> ToolCall:
    arguments = {
        name: float(value) if isinstance(value, int) and not isinstance(value, bool) else value
        for name, value in reversed(list((call.arguments or {}).items()))
    }
    raw = json.dumps(arguments, ensure_ascii=True, indent=1)
    return call.model_copy(update={"arguments": arguments, "raw": raw})


async def _spoken_notation(story: Story, rng: random.Random) -> Told | None:
    """Dates, times and amounts written in another way."""
    style = rng.randrange(3)
    changed = [
        event.model_copy(update={"content": _rewritten(event.content, style)})
        if event.role == "assistant" and event.content
        else event
        for event in story.script
    ]
    if all(one.content == other.content for one, other in zip(changed, story.script, strict=True)):
        return None
    return await _told(story, changed, "spoken_notation")


_MONTHS = "January February March April May June July August September October November December".split()
_DAY = re.compile(rf"\b({'|'.join(_MONTHS)}) (\d{{1,2}})\b(?!,? \d{{4}})")
_TIME = re.compile(r"\b(\d{2}):(\d{2})\b(?! ?[ap]m)")
_MONEY = re.compile(r"(?<![\d.,:-])(\d+)\.00\b")


def _rewritten(text: str, style: int) -> str:
    if style == 0:
        return _DAY.sub(lambda m: f"{m[2]} {m[1]}", text)
    if style == 1:
        return _TIME.sub(
            lambda m: f"{(int(m[1]) - 1) % 12 + 1}:{m[2]} {'am' if int(m[1]) < 12 else 'pm'}", text
        )
    return _MONEY.sub(lambda m: f"{int(m[1]):,}", text)


async def _other_phrasing(story: Story, rng: random.Random) -> Told | None:
    """Courtesies around a report."""
    reports = [e for e in story.evidence.spoken if not e.calls and not e.content.rstrip().endswith("?")]
    if not reports or not story.english:
        return None
    report = rng.choice(reports)
    text = f"{rng.choice(GREETINGS)} {report.content} {rng.choice(ENDINGS)}"
    return await _told(story, replaced(story.script, report, says(text, report.turn)), "other_phrasing")


async def _other_path(story: Story, rng: random.Random) -> Told | None:
    """Another tool is asked on the way, with what is known by then."""
    reads = [tool for tool in story.world.tools if tool.annotations.read_only]
    turns = [call for call in story.reads if not story.task.faults]
    for call in rng.sample(turns, len(turns)):
        asked = story.trajectory.events[call.asked]
        known = _known(story, call.index)
        for tool in rng.sample(reads, len(reads)):
            arguments = _bound(tool.input_schema, known)
            if tool.name == call.name or not arguments:
                continue
            extra = calling(tool.name, arguments, "call_other_path", asked.turn)
            told = await _told(story, inserted(story.script, asked, extra), "other_path")
            if told:
                return told
    return None


def _known(story: Story, until: int) -> dict[str, Json]:
    known: dict[str, Json] = {}
    for call in story.evidence.calls:
        if call.index > until or not call.ok:
            continue
        known |= {name: value for name, value in call.arguments.items() if isinstance(value, str)}
        rows = rows_of(story.trajectory.events[call.index].content)
        if len(rows) == 1:
            known |= {name: value for name, value in rows[0].columns.items() if isinstance(value, str)}
    return known


def _bound(schema: dict[str, Json], known: dict[str, Json]) -> dict[str, Json]:
    needed = schema.get("required", [])
    return {name: known[name] for name in needed} if needed and all(name in known for name in needed) else {}


async def _extra_question(story: Story, rng: random.Random) -> Told | None:
    """A confirmation more than the rules ask for."""
    for call in rng.sample(story.landed, len(story.landed)) if story.english else ():
        asked = story.trajectory.events[call.asked]
        if story.question(call) is not None or len(asked.calls) > 1:
            continue
        ask = says("Shall I go ahead with that?", asked.turn)
        yes = Event(index=0, turn=asked.turn, role="user", content="Yes, please do.", note="act:confirm")
        return await _told(story, replaced(story.script, asked, ask, yes, asked), "extra_question")
    return None


async def _as_it_was(story: Story, rng: random.Random) -> Told | None:
    """The trajectory itself, told again."""
    return await _told(story, story.script, "as_it_was")


HARMLESS: dict[str, Vary] = {
    "as_it_was": _as_it_was,
    "extra_read": _extra_read,
    "other_order": _other_order,
    "argument_notation": _argument_notation,
    "spoken_notation": _spoken_notation,
    "other_phrasing": _other_phrasing,
    "other_path": _other_path,
    "extra_question": _extra_question,
}
