"""What a flaw is, and what the functions that plant one have in common."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass

from pipeline.judging.evidence import MadeCall
from pipeline.judging.planting.story import (
    Script,
    Story,
    Told,
)
from pipeline.records import Event

Plant = Callable[[Story, random.Random], Awaitable[Told | None]]


@dataclass(frozen=True, slots=True)
class Flaw:
    """A kind of flaw: what it touches (`state`, `calls`, `facts` or `conduct`), and how it is planted."""

    kind: str
    touches: str
    plant: Plant


async def differs(story: Story, script: Script, kind: str) -> Told | None:
    """A telling that ends in another state than the honest one; None when it does not."""
    told = await story.tell(script, kind)
    return told if told.final.state != story.final_state else None


def picked(calls: list[MadeCall], rng: random.Random) -> Iterator[MadeCall]:
    return iter(rng.sample(calls, len(calls)))


def parts(story: Story, call: MadeCall) -> tuple[Event, Event | None]:
    """The event in which a call was made, and the report on it."""
    return story.trajectory.events[call.asked], story.report(call)


def must_ask(story: Story, call: MadeCall) -> bool:
    about = story.world.tool_by_name[call.name].annotations
    habit = story.task.agent.confirms
    return bool(consents(story, call)) or habit == "writes" or (habit == "destructive" and about.destructive)


def consents(story: Story, call: MadeCall) -> list[str]:
    words = story.world.words.tools[call.name].arguments
    return [name for name, about in words.items() if about.consent and call.arguments.get(name)]
