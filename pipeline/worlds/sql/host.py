"""The SQL world as a `ToolHost`."""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.records import Json, Snapshot, World, WorldError
from pipeline.worlds.host import Ability, CallResult
from pipeline.worlds.sql.engine import SqlWorld

_POOL: dict[str, list[SqlWorld]] = {}
"""Idle copies by world, the worlds used last at the end, so that an episode does not pay for a new connection."""
_POOLED = 4
"""Idle copies of one world."""
_WORLDS = 16
"""Worlds with idle copies."""


def _keep(live: SqlWorld) -> None:
    """Puts a copy back; the copies of the world that has rested longest make room."""
    idle = _POOL.pop(live.world.id, [])
    _POOL[live.world.id] = idle
    if len(idle) < _POOLED:
        idle.append(live)
    else:
        live.close()
    while len(_POOL) > _WORLDS:
        for old in _POOL.pop(next(iter(_POOL))):
            old.close()


class SqlHost:
    """One episode's copy of a world. Copies go back to a pool of this process when closed.

    `initial` are a task's statements that turn the seed into the state it begins in; WorldError when one fails.
    """

    ability: Ability = "exact"

    def __init__(self, world: World, initial: Sequence[str] = ()) -> None:
        idle = _POOL.get(world.id)
        self.live = idle.pop() if idle else SqlWorld(world)
        self.live.reset()
        self.tools = self.live.tools
        self._open = True
        if initial:
            try:
                self.live.apply(initial)
            except WorldError:
                _keep(self.live)
                raise

    async def call(self, name: str, arguments: dict[str, Json]) -> CallResult:
        return self.live.call(name, arguments)

    def snapshot(self) -> Snapshot:
        return self.live.snapshot()

    async def restore(self, snapshot: Snapshot) -> None:
        self.live.restore(snapshot)

    def advance(self, seconds: float) -> None:
        self.live.advance(seconds)

    async def close(self) -> None:
        if not self._open:
            return
        self._open = False
        _keep(self.live)
