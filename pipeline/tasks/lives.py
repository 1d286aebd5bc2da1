"""Live copies of the worlds of a task while it is written: calls by the names that the agent sees."""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.records import Json, World
from pipeline.worlds.host import CallResult
from pipeline.worlds.mixed import MixedWorld, ahead
from pipeline.worlds.sql import SqlWorld


class Lives:
    """`world` and a copy of each of its parts that the task is about, in their order."""

    def __init__(self, world: World, copies: Sequence[SqlWorld]) -> None:
        self.world = world
        self.copies = copies
        self.reads = frozenset(tool.name for tool in world.tools if tool.annotations.read_only)
        """Names of the tools that change nothing."""

    def reset(self) -> None:
        """Back to the seeds, all clocks at the start of the conversation."""
        for live in self.copies:
            live.reset()
            live.advance(ahead(live.world, self.world.clock))

    def call(self, tool: str, arguments: dict[str, Json]) -> CallResult:
        """One call, by the name that the toolset gives it."""
        if isinstance(self.world, MixedWorld):
            place = self.world.places[tool]
            return self.copies[place.part].call(place.name, arguments)
        return self.copies[0].call(tool, arguments)

    @property
    def state(self) -> tuple[str, ...]:
        """The state hashes of all copies."""
        return tuple(live.state for live in self.copies)
