"""Toolsets: the tools of one world, of several, and distractors that look like what is needed."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field

from pipeline.records import Toolset, ToolSpec, World
from pipeline.worlds.mixed import MixedWorld, compose, parts_of

GUESTS = 4
"""Worlds that distractors of one toolset come from, at most; each costs a copy once one of its tools is called."""
SAMPLED = 4
"""Relevant tools for which look-alikes are searched."""

Similar = Callable[[ToolSpec, int, Collection[ToolSpec]], list[ToolSpec]]
"""The tools most like one, so many of them, that are neither duplicates of nor at home with the given ones
(`pipeline.tools.repository.Repository.similar`)."""


@dataclass
class Surroundings:
    """The worlds that may lend tools, and how look-alikes are found."""

    worlds: Sequence[World] = ()
    similar: Similar = lambda tool, count, beside: []
    _homes: dict[str, World] = field(default_factory=dict)
    _found: dict[tuple[str, int], list[ToolSpec]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._homes = {tool.id: world for world in self.worlds for tool in world.tools}

    def partners(self, world: World) -> list[World]:
        """Worlds that one conversation can be about as well: others that begin on the same day."""
        day = world.clock[:10]
        return [one for one in self.worlds if one.name != world.name and one.clock[:10] == day]

    def distractors(
        self, worlds: Sequence[World], relevant: Sequence[str], count: int, rng: random.Random
    ) -> list[tuple[World, ToolSpec]]:
        """Up to `count` tools of other worlds that look like the relevant ones of `worlds` (by their own names)."""
        needed = [tool for world in worlds for tool in world.tools if tool.name in relevant]
        homes: dict[str, World] = {}
        found: dict[str, tuple[World, ToolSpec]] = {}
        for tool in self._alike(needed, count, rng):
            world = self._homes.get(tool.id)
            if world is None or any(world.id == one.id for one in worlds):
                continue
            if world.id in homes or len(homes) < GUESTS:
                homes[world.id] = world
                found.setdefault(tool.id, (world, tool))
            if len(found) == count:
                break
        rest = [(world, tool) for world in homes.values() for tool in world.tools if tool.id not in found]
        rng.shuffle(rest)
        return [*found.values(), *rest][:count]

    def _alike(self, needed: Sequence[ToolSpec], count: int, rng: random.Random) -> Iterator[ToolSpec]:
        """Look-alikes of the needed tools in turn, the most similar of each first."""
        picked = rng.sample(list(needed), min(SAMPLED, len(needed)))
        lists = [self._similar(tool, count) for tool in picked]
        for rank in range(max(map(len, lists), default=0)):
            yield from (one[rank] for one in lists if rank < len(one))

    def _similar(self, tool: ToolSpec, count: int) -> list[ToolSpec]:
        key = tool.id, count
        if key not in self._found:
            self._found[key] = self.similar(tool, count, ())
        return self._found[key]


def toolset(
    worlds: Sequence[World],
    relevant: Sequence[str],
    distractors: Sequence[tuple[World, ToolSpec]],
    rng: random.Random,
) -> tuple[World, Toolset]:
    """The world that is played in (a mixture where there are several) and the tools that are offered, shuffled.

    `relevant` are names in that world; all tools of `worlds` are offered, and the distractors of their own.
    """
    guests = {world.id: world for world, _ in distractors}
    world = compose([*worlds, *guests.values()])
    lent = {(one.id, tool.name) for one, tool in distractors}
    own = {one.id for one in worlds}
    shown = list(world.tools)
    if isinstance(world, MixedWorld):
        homes = [part.id for part in world.parts]
        shown = [
            tool
            for tool in world.tools
            if homes[world.places[tool.name].part] in own
            or (homes[world.places[tool.name].part], world.places[tool.name].name) in lent
        ]
    rng.shuffle(shown)
    ids = tuple(part.id for part in parts_of(world))
    return world, Toolset(tools=tuple(shown), relevant=tuple(dict.fromkeys(relevant)), worlds=ids)
