"""Several worlds behind one toolset: tools keep their names where they can, states stay apart, one host serves all.

The first world is the task's own; the others are opened when one of their tools is called for the first time.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import cached_property
from typing import NamedTuple

from pipeline.records import (
    ArgumentWords,
    Json,
    Snapshot,
    Task,
    ToolSpec,
    ToolWords,
    Words,
    World,
    content_id,
)
from pipeline.worlds.host import Ability, CallResult, ToolHost
from pipeline.worlds.sql import SqlHost

_LONGEST_NAME = 64
_COMPOSED = 256
"""Compositions remembered in a process."""


class Place(NamedTuple):
    """Where a tool of a mixed world lives: the position of its world, and its name there."""

    part: int
    name: str


class MixedWorld(World):
    """A view of several worlds as one, made by `compose` and never stored. Its tables are named `world:table`."""

    parts: tuple[World, ...]
    places: dict[str, Place]
    """The tool's name in the mixture to its place."""

    @cached_property
    def id(self) -> str:
        return content_id("mix", [part.id for part in self.parts])


def parts_of(world: World) -> tuple[World, ...]:
    """The worlds behind a world: itself where it is no mixture."""
    return world.parts if isinstance(world, MixedWorld) else (world,)


def home_of(world: World, tool: str) -> World:
    """The world that a tool of a world, or of a mixture, belongs to."""
    return world.parts[world.places[tool].part] if isinstance(world, MixedWorld) else world


def shown_names(worlds: Sequence[World]) -> dict[str, Place]:
    """The names under which tools are offered together: a name that an earlier world has gets its world's name in
    front."""
    places: dict[str, Place] = {}
    for number, world in enumerate(worlds):
        for tool in world.tools:
            name = tool.name
            if name in places:
                name = f"{world.name}_{tool.name}"[:_LONGEST_NAME]
            while name in places:
                name = f"{name[: _LONGEST_NAME - 3]}_{number}"
            places[name] = Place(number, tool.name)
    return places


_WORLDS: dict[tuple[str, ...], MixedWorld] = {}


def compose(worlds: Sequence[World]) -> World:
    """One world out of several, the first one leading; a single one is returned as it is."""
    if len(worlds) == 1:
        return worlds[0]
    key = tuple(world.id for world in worlds)
    if key not in _WORLDS:
        if len(_WORLDS) >= _COMPOSED:
            _WORLDS.clear()
        _WORLDS[key] = _composed(worlds)
    return _WORLDS[key]


def _composed(worlds: Sequence[World]) -> MixedWorld:
    first = worlds[0]
    places = shown_names(worlds)
    tools = []
    words: dict[str, ToolWords] = {}
    for name, place in places.items():
        world = worlds[place.part]
        tool = world.tool_by_name[place.name]
        tools.append(tool if tool.name == name else tool.replace(name=name))
        if place.name in world.words.tools:
            words[name] = _words(world.words.tools[place.name], world.name)
    entities = {
        f"{world.name}:{table}": entity for world in worlds for table, entity in world.words.entities.items()
    }
    return MixedWorld(
        name="+".join(world.name for world in worlds),
        domain=first.domain,
        summary=first.summary,
        archetype=first.archetype,
        clock=first.clock,
        schema_sql="",
        policy=first.policy,
        tools=tuple(tools),
        words=Words(tools=words, entities=entities, agent=first.words.agent, asides=first.words.asides),
        parts=tuple(worlds),
        places=places,
    )


def _words(words: ToolWords, world: str) -> ToolWords:
    """The words of a tool with its sources in the mixture's tables."""
    return words.replace(arguments={name: _from(about, world) for name, about in words.arguments.items()})


def _from(about: ArgumentWords, world: str) -> ArgumentWords:
    return about.replace(source=f"{world}:{about.source}") if about.source else about


def ahead(world: World, clock: str) -> float:
    """Seconds by which a world has to be moved on to a common clock: those of a world that begins earlier on the same
    day; other worlds keep their own time."""
    same = world.clock[:10] == clock[:10]
    return max(_seconds(world.clock, clock), 0.0) if same else 0.0


def task_world(task: Task, worlds: Mapping[str, World]) -> World:
    """The world a task plays in, composed where its tools come from several. Raises KeyError for one that is not in
    `worlds` (by id)."""
    ids = task.agent.toolset.worlds
    return compose([worlds[one] for one in ids]) if len(ids) > 1 else worlds[task.world]


def world_ids(tasks: Iterable[Task]) -> set[str]:
    """The ids of all worlds that tasks need."""
    return {one for task in tasks for one in (task.world, *task.agent.toolset.worlds) if one}


def open_host(world: World, initial: Sequence[str] = ()) -> SqlHost | MixedHost:
    """A fresh host for one episode. `initial` belongs to the first world; WorldError when a statement fails."""
    return MixedHost(world, initial) if isinstance(world, MixedWorld) else SqlHost(world, initial)


class MixedHost:
    """One episode's copies of several worlds behind one `ToolHost`.

    A snapshot is that of the first world as long as nothing changed in another; after that it carries the others'
    in `parts`.
    """

    ability: Ability = "exact"

    def __init__(self, world: MixedWorld, initial: Sequence[str] = ()) -> None:
        self.world = world
        self._initial = initial
        self.tools: Mapping[str, ToolSpec] = world.tool_by_name
        self._hosts: dict[int, SqlHost] = {}
        self._touched: set[int] = set()
        self._moved = 0.0
        self._ref = ""
        self._host(0)

    def _host(self, part: int) -> SqlHost:
        """The copy of a world, opened on first use, with the time that has passed."""
        if part not in self._hosts:
            world = self.world.parts[part]
            host = self._hosts[part] = SqlHost(world, () if part else self._initial)
            moved = ahead(world, self.world.clock) + self._moved
            if moved:
                host.advance(moved)
        return self._hosts[part]

    async def call(self, name: str, arguments: dict[str, Json]) -> CallResult:
        place = self.world.places.get(name, Place(0, name))
        before = self.ref
        result = await self._host(place.part).call(place.name, arguments)
        if result.before != result.after:
            self._touched.add(place.part)
            self._ref = ""
        return replace(result, before=before, after=self.ref)

    @property
    def ref(self) -> str:
        """Content address of all states together."""
        if not self._ref:
            refs = [self._host(part).live.ref for part in sorted(self._touched | {0})]
            self._ref = refs[0] if len(refs) == 1 else _joined(refs)
        return self._ref

    @property
    def state(self) -> str:
        """Canonical hash of all counted rows of all worlds."""
        states = [self._host(part).live.state for part in sorted(self._touched | {0})]
        return states[0] if len(states) == 1 else _joined(states)

    def snapshot(self) -> Snapshot:
        first = self._host(0).snapshot()
        others = tuple(self._host(part).snapshot() for part in sorted(self._touched - {0}))
        return first.replace(ref=self.ref, parts=others) if others else first

    async def restore(self, snapshot: Snapshot) -> None:
        """Returns to a state. Raises WorldError when a part of it belongs to none of these worlds."""
        for part in [one for one in self._hosts if one]:
            await self._hosts.pop(part).close()
        await self._host(0).restore(snapshot)
        self._moved = _seconds(self.world.clock, snapshot.clock)
        numbers = {world.id: number for number, world in enumerate(self.world.parts)}
        self._touched = {0}
        for one in snapshot.parts:
            await self._host(numbers.get(one.world, 0)).restore(one)
            self._touched.add(numbers[one.world])
        self._ref = ""

    def advance(self, seconds: float) -> None:
        self._moved += seconds
        for host in self._hosts.values():
            host.advance(seconds)
        self._ref = ""

    async def close(self) -> None:
        for host in self._hosts.values():
            await host.close()


def _joined(refs: Sequence[str]) -> str:
    return "snap_" + hashlib.blake2b("|".join(refs).encode(), digest_size=10).hexdigest()


def _seconds(start: str, end: str) -> float:
    return (datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds()


def state_of(host: ToolHost) -> str:
    """The canonical hash of a host's rows; empty for hosts that keep none."""
    if isinstance(host, MixedHost):
        return host.state
    return host.live.state if isinstance(host, SqlHost) else ""
