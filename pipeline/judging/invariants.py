"""The invariants of a world in every state that a trajectory went through, each state looked at once.

An invariant that reads no changed table holds as it does in the seed, with which the world was admitted.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from pipeline.judging.states import opened_at
from pipeline.judging.verdict import verdict
from pipeline.records import Event, Invariant, Owner, Snapshot, Value, Verdict, World, WorldError
from pipeline.worlds.mixed import parts_of

CHECK = "invariants"
_REMEMBERED = 200_000
_broken: dict[tuple[str, ...], str] = {}
"""World, state (and clock, where it matters) to what is broken there; empty where nothing is."""


def invariant_verdicts(
    events: Sequence[Event],
    world: World | None,
    final: Snapshot | None,
    states: Mapping[str, Snapshot] | None = None,
) -> list[Verdict]:
    """One verdict with the event after which an invariant no longer held; none where nothing changed, or the world
    states no invariants.

    `states` are the recorded snapshots by reference; without them only the final state is looked at. A state that was
    not recorded leaves it unscored.
    """
    worlds = {part.id: part for part in parts_of(world) if part.invariants} if world else {}
    if not worlds or final is None:
        return []
    seen: set[str] = set()
    missing: int | None = None
    for event in events:
        if event.role != "tool" or event.after == event.before or event.after in seen:
            continue
        seen.add(event.after)
        state = (states or {}).get(event.after) or (final if event.after == final.ref else None)
        if state is None:
            missing = event.index if states is not None and missing is None else missing
            continue
        reason = _broken_in(state, worlds)
        if reason:
            return [verdict(CHECK, "state", Value.FAIL, Owner.TOOL, (event.index,), reason)]
    if final.ref not in seen:
        reason = _broken_in(final, worlds)
        if reason:
            return [verdict(CHECK, "state", Value.FAIL, Owner.TOOL, (), reason)]
    if missing is not None:
        reason = "a state on the way was not recorded"
        return [verdict(CHECK, "state", Value.UNSCORED, Owner.INFRA, (missing,), reason)]
    return [verdict(CHECK, "state", Value.PASS, Owner.TOOL)] if seen else []


def _broken_in(state: Snapshot, worlds: Mapping[str, World]) -> str:
    """What is broken in a state or one of its parts."""
    for one in (state, *state.parts):
        if one.world in worlds and one.rows:
            reason = _broken_at(worlds[one.world], one)
            if reason:
                return reason
    return ""


def _broken_at(world: World, state: Snapshot) -> str:
    touched = frozenset(row[0] for row in state.rows)
    asked, timed = _reading(world, touched)
    if not asked:
        return ""
    rows = str(state.rows) if world.log_tables else ""
    clock = state.clock if timed else ""
    key = (world.id, state.state, rows, clock)
    if key not in _broken:
        if len(_broken) > _REMEMBERED:
            _broken.clear()
        _broken[key] = _ask(world, state, asked)
    return _broken[key]


def _ask(world: World, state: Snapshot, asked: Sequence[Invariant]) -> str:
    live, _ = opened_at(world, state)
    try:
        if live.holds("select " + " and ".join(f"({one.sql})" for one in asked)):
            return ""
    except WorldError:
        pass  # asked one by one it is told which it is
    for one in asked:
        try:
            if not live.holds(one.sql):
                return f"the invariant {one.name!r} is broken"
        except WorldError as error:
            return error.what
    return ""


_READ: dict[tuple[str, frozenset[str]], tuple[tuple[Invariant, ...], bool]] = {}
_WORD = re.compile(r"\w+")


def _reading(world: World, touched: frozenset[str]) -> tuple[tuple[Invariant, ...], bool]:
    """The invariants that read one of some tables, or a view, and whether one of them reads the clock."""
    key = world.id, touched
    if key not in _READ:
        if len(_READ) > 20_000:
            _READ.clear()
        views = re.findall(r"create\s+view\s+(?:if\s+not\s+exists\s+)?\W?(\w+)", world.schema_sql.lower())
        names = {name.lower() for name in touched} | set(views)
        found = tuple(one for one in world.invariants if not names.isdisjoint(_WORD.findall(one.sql.lower())))
        _READ[key] = found, any(":now" in one.sql for one in found)
    return _READ[key]
