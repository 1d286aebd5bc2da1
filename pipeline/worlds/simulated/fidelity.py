"""Environment fidelity: the same calls through a simulated host and through the truth, compared part by part.

The truth is a SQL world; the simulator sees its specification, its tables and rows, and none of its programs. Ids that a
call makes are compared by place, not by name: two answers that differ only in the number of a new row agree.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pipeline.records import (
    Call,
    Failure,
    Json,
    Simulator,
    ToolSpec,
    Witness,
    World,
    WorldError,
    canonical_json,
)
from pipeline.worlds.admission import fitted, witness_rows
from pipeline.worlds.host import CallResult
from pipeline.worlds.simulated.host import SimulatedHost
from pipeline.worlds.simulated.programs import hidden
from pipeline.worlds.simulated.results import complaints, same
from pipeline.worlds.simulated.slices import SliceLimits
from pipeline.worlds.sql import RowChange, SqlWorld
from pipeline.worlds.sql.schema import Table

BUCKETS = ("0", "1-2", "3-6", "more")
"""Calls by the rows that they change in truth."""


def bucket(rows: int) -> str:
    return BUCKETS[0] if rows == 0 else BUCKETS[1] if rows <= 2 else BUCKETS[2] if rows <= 6 else BUCKETS[3]


@dataclass(frozen=True, slots=True)
class Sampled:
    """A call to compare, and the calls that come before it."""

    tool: str
    arguments: dict[str, Json]
    before: tuple[Call, ...] = ()
    rows: int = 0
    """Rows that it changes in truth."""


@dataclass(frozen=True, slots=True)
class Compared:
    """One call through both. `schema`, `values` and `state` are true also where both refuse alike."""

    world: str
    tool: str
    arguments: dict[str, Json]
    rows: int
    outcome: bool
    """Success in both, or a refusal with the same code."""
    schema: bool
    values: bool
    state: bool
    expected: str
    """`ok` or the error's code."""
    got: str
    detail: str = ""

    @property
    def agreed(self) -> bool:
        return self.outcome and self.schema and self.values and self.state


def sample_calls(world: World, most: int, seed: int = 0, per_witness: int = 12) -> list[Sampled]:
    """Up to `most` calls of a SQL world, from its witnesses: as even over the numbers of changed rows as there are."""
    live = SqlWorld(world)
    rng = random.Random(f"fidelity/{world.id}/{seed}")
    found: dict[str, dict[str, Sampled]] = {name: {} for name in BUCKETS}
    try:
        for tool in world.tools:
            for witness in tool.program.witnesses if tool.program else ():
                for one in _tried(live, tool, witness, rng, per_witness):
                    found[bucket(one.rows)].setdefault(canonical_json([one.tool, one.arguments]), one)
    finally:
        live.close()
    pools = [list(found[name].values()) for name in BUCKETS]
    for pool in pools:
        rng.shuffle(pool)
    taken: list[Sampled] = []
    while len(taken) < most and any(pools):
        taken += [pool.pop() for pool in pools if pool]
    return taken[:most]


def _tried(
    live: SqlWorld, tool: ToolSpec, witness: Witness, rng: random.Random, most: int
) -> Iterator[Sampled]:
    live.reset()
    try:
        rows = witness_rows(live, witness, 200)
    except WorldError:
        return
    for row in rng.sample(rows, min(most, len(rows))):
        live.reset()
        live.replay(witness.before)
        start = live.snapshot()
        arguments = fitted(tool, row)
        live.call(tool.name, arguments)
        changed = len(_moved(start.rows, live.snapshot().rows))
        yield Sampled(tool.name, arguments, witness.before, changed)


def _moved(before: Sequence[Json], after: Sequence[Json]) -> set[tuple[str, str]]:
    """The rows that differ between two snapshots."""
    start = {(table, key): row for table, key, row in before}
    end = {(table, key): row for table, key, row in after}
    return {place for place in start.keys() | end.keys() if start.get(place, 0) != end.get(place, 0)}


@dataclass
class Comparison:
    """A simulated host beside the truth, for one call after the other."""

    world: World
    simulator: Simulator
    repairs: int = 2
    limits: SliceLimits | None = None
    truth: SqlWorld = field(init=False)
    unseen: World = field(init=False)

    def __post_init__(self) -> None:
        self.truth = SqlWorld(self.world)
        self.unseen = hidden(self.world)

    async def compare(self, call: Sampled) -> Compared:
        """Raises ModelError when the simulator cannot be reached."""
        self.truth.reset()
        self.truth.replay(call.before)
        start = self.truth.snapshot()
        since = {(one.table, one.key): one.new for one in self.truth.changes()}
        right = self.truth.call(call.tool, call.arguments)
        host = SimulatedHost(self.unseen, self.simulator, repairs=self.repairs, limits=self.limits)
        try:
            await host.restore(start.replace(world=self.unseen.id))
            got = await host.call(call.tool, call.arguments)
            rows = [_effect(live.changes(), since) for live in (self.truth, host.live)]
            defect = host.defects[-1].message if host.defects else ""
        finally:
            await host.close()
        return self._compared(call, right, got, rows, defect)

    def _compared(
        self, call: Sampled, right: CallResult, got: CallResult, rows: Sequence[list[RowChange]], defect: str
    ) -> Compared:
        tables = self.truth.runtime.image.tables
        (wanted, state), (said, found) = (
            _canonical(result.value, change, tables)
            for result, change in zip((right, got), rows, strict=True)
        )
        outcome = _kind(right) == _kind(got)
        schema = self.truth.tools[call.tool].output_schema
        fits = outcome and (not got.ok or schema is None or not complaints(schema, got.value))
        values = outcome and alike(wanted, said)
        detail = defect or (
            ""
            if values
            else f"{canonical_json(got.value)[:300]} instead of {canonical_json(right.value)[:300]}"
        )
        return Compared(
            world=self.world.name,
            tool=call.tool,
            arguments=call.arguments,
            rows=len(rows[0]),
            outcome=outcome,
            schema=fits,
            values=values,
            state=state == found,
            expected=_kind(right),
            got=_kind(got),
            detail=detail,
        )

    def close(self) -> None:
        self.truth.close()


async def compare(
    world: World,
    simulator: Simulator,
    calls: Sequence[Sampled],
    *,
    repairs: int = 2,
    limits: SliceLimits | None = None,
) -> list[Compared]:
    """All calls of one world through both, each from its own start. Raises ModelError."""
    both = Comparison(world, simulator, repairs, limits)
    try:
        return [await both.compare(call) for call in calls]
    finally:
        both.close()


def _kind(result: CallResult) -> str:
    code = (result.error or ("",))[0]
    return "ok" if result.ok else str(Failure.CONSTRAINT) if code == Failure.INVALID_ARGUMENTS else code


def _effect(changes: Sequence[RowChange], since: Mapping[tuple[str, str], Any]) -> list[RowChange]:
    """What one call changed: rows that differ from the seed now, and did not so before."""
    found = []
    seen = set()
    for one in changes:
        place = (one.table, one.key)
        seen.add(place)
        old = since.get(place, one.old)
        if old != one.new:
            found.append(RowChange(one.table, one.key, old, one.new))
    found += [
        RowChange(table, key, old, None) for (table, key), old in since.items() if (table, key) not in seen
    ]
    return found


def _canonical(
    value: Json, changes: Sequence[RowChange], tables: Mapping[str, Table]
) -> tuple[Json, list[str]]:
    """A result and the changed rows with the keys of new rows replaced by their place."""
    made: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for one in changes:
        if one.old is None and one.new is not None:
            table = tables[one.table]
            rest = [item for i, item in enumerate(one.new[: len(table.columns)]) if i not in table.key]
            for i in table.key:
                made[one.table].append((canonical_json([rest, i]), str(one.new[i])))
    names = {
        key: f"<new {table} {number}>"
        for table, keys in made.items()
        if len(tables[table].key) == 1
        for number, (_, key) in enumerate(sorted(keys), 1)
    }
    rows = []
    for one in changes:
        table = tables[one.table]
        row = None if one.new is None else [_plain(item) for item in one.new[: len(table.columns)]]
        rows.append(canonical_json([one.table, names.get(one.key, one.key), _renamed(row, names)]))
    return _renamed(value, names), sorted(rows)


def _plain(value: Json) -> Json:
    return round(float(value), 6) if isinstance(value, int | float) else value


def _renamed(value: Json, names: Mapping[str, str]) -> Json:
    if not names:
        return value
    if isinstance(value, dict):
        return {key: _renamed(item, names) for key, item in value.items()}
    if isinstance(value, list):
        return [_renamed(item, names) for item in value]
    if isinstance(value, str | int) and not isinstance(value, bool):
        return names.get(str(value), value)
    return value


def alike(left: Json, right: Json) -> bool:
    """Equality by value; the order of the rows of a list does not matter."""
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(alike(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        if len(left) != len(right):
            return False
        rest = list(right)
        for item in left:
            place = next((i for i, other in enumerate(rest) if alike(item, other)), None)
            if place is None:
                return False
            rest.pop(place)
        return True
    return same(left, right)
