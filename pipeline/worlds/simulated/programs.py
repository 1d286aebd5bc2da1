"""Simulators that are programs: the SQL truth behind a specification, and one that errs at a known rate."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from pipeline.records import Json, Scene, SimulatedCall, Simulator, Snapshot, ToolSpec, World, canonical_json
from pipeline.records.worlds import SIMULATED
from pipeline.worlds.sql import RowChange, SqlWorld
from pipeline.worlds.sql.schema import Table


def hidden(world: World) -> World:
    """A world behind its specification: the same tables, rows and tools, without any program."""
    tools = tuple(tool.replace(program=None) for tool in world.tools)
    return world.replace(archetype=SIMULATED, tools=tools)


class ProgramSimulator:
    """Plays the tools of a world by its programs: exact, as far as these are what the tools do."""

    def __init__(self, world: World, name: str = "programs") -> None:
        self.name = name
        self._live = SqlWorld(world)

    async def answer(
        self,
        tool: ToolSpec,
        arguments: dict[str, Json],
        scene: Scene,
        tried: Sequence[tuple[SimulatedCall, str]] = (),
    ) -> SimulatedCall:
        """What the program does in the state of the scene."""
        return self.play(tool.name, arguments, scene.snapshot)

    def play(self, tool: str, arguments: dict[str, Json], state: Snapshot) -> SimulatedCall:
        """What the program does in a state, whichever form of the world it was taken in."""
        self._live.restore(state.replace(world=self._live.world.id))
        before = self._live.changes()
        result = self._live.call(tool, arguments)
        if result.error is not None:
            return SimulatedCall(error=result.error)
        patch = patch_of(before, self._live.changes(), self._live.runtime.image.tables)
        return SimulatedCall(result=result.value, patch=patch)

    def close(self) -> None:
        self._live.close()


def patch_of(
    before: Sequence[RowChange], after: Sequence[RowChange], tables: Mapping[str, Table]
) -> tuple[dict[str, Any], ...]:
    """The changes between two states of a world, each given as its difference to the seed."""
    start = {(one.table, one.key): one for one in before}
    end = {(one.table, one.key): one for one in after}
    patch: list[dict[str, Any]] = []
    for place in sorted(start.keys() | end.keys()):
        seed = (end.get(place) or start[place]).old
        old = start[place].new if place in start else seed
        new = end[place].new if place in end else seed
        if old == new:
            continue
        table = tables[place[0]]
        row = new if new is not None else old
        assert row is not None
        key = {table.columns[i]: row[i] for i in table.key}
        values = {
            column: new[i]
            for i, column in enumerate(table.columns)
            if new is not None and column not in key and (old is None or old[i] != new[i])
        }
        op = "delete" if new is None else "insert" if old is None else "update"
        patch.append({"op": op, "table": place[0], "key": key, "values": values})
    return tuple(sorted(patch, key=_order))


def _order(change: Mapping[str, Any]) -> int:
    """Rows that make room come first, so that no unique value is taken twice on the way."""
    if change["op"] == "update":
        return 1 if None in change["values"].values() else 2
    return 0 if change["op"] == "delete" else 3


class ErringSimulator:
    """Another simulator whose answers are wrong for a share of the calls, always the same ones.

    A wrong answer is one that a validator may well take: a changed value in the patch or in the result, a change left
    out, a success where a refusal is due or the other way round.
    """

    def __init__(self, inner: Simulator, rate: float, seed: int = 0) -> None:
        self.name = f"{inner.name}, {rate:.0%} wrong"
        self._inner = inner
        self._rate = rate
        self._seed = seed

    async def answer(
        self,
        tool: ToolSpec,
        arguments: dict[str, Json],
        scene: Scene,
        tried: Sequence[tuple[SimulatedCall, str]] = (),
    ) -> SimulatedCall:
        right = await self._inner.answer(tool, arguments, scene, tried)
        rng = random.Random(f"{self._seed}/{tool.name}/{canonical_json(arguments)}/{scene.snapshot.state}")
        return _spoiled(right, tool, rng) if rng.random() < self._rate else right


def _spoiled(right: SimulatedCall, tool: ToolSpec, rng: random.Random) -> SimulatedCall:
    if right.error is not None:
        return SimulatedCall(result=None, problem="It cannot be said.")
    if right.patch and rng.random() < 0.7:
        place = rng.randrange(len(right.patch))
        return replace(right, patch=(*right.patch[:place], *right.patch[place + 1 :]))
    code = tool.errors[0].code if tool.errors else "NOT_FOUND"
    return SimulatedCall(error=(code, "It cannot be done."))
