"""What a trajectory has changed in its world, in lines that a judge can read."""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.judging.states import opened_at
from pipeline.records import Json, Snapshot, World, canonical_json
from pipeline.worlds.mixed import parts_of
from pipeline.worlds.sql.ledger import changed_columns

_MOST = 200
"""Lines; what is left out is counted."""


def differences(world: World | None, final: Snapshot | None, initial: Sequence[str] = ()) -> str:
    """One line per changed row: `bookings CZ8TW6: total 195.0 -> 227.0`. Empty without a state."""
    if world is None or final is None:
        return ""
    lines: list[str] = []
    for number, part in enumerate(parts_of(world)):
        state = final if number == 0 else next((s for s in final.parts if s.world == part.id), None)
        if state is not None:
            lines += _lines(part, state, () if number else initial)
    if not lines:
        return "nothing"
    left = len(lines) - _MOST
    return "\n".join([*lines[:_MOST], *([f"[{left} more rows changed]"] if left > 0 else [])])


def _lines(world: World, state: Snapshot, initial: Sequence[str]) -> list[str]:
    live, since = opened_at(world, state, initial)
    rows: dict[tuple[Json, Json, Json], list[str]] = {}
    for table, key, op, column, old, new in changed_columns(live.changes(), since, live.runtime.image.tables):
        said = f"{column} {canonical_json(old)} -> {canonical_json(new)}"
        if op != "update":
            said = f"{column} {canonical_json(new if op == 'insert' else old)}"
        rows.setdefault((table, key, op), []).append(said)
    words = {"insert": "new row: ", "delete": "deleted row: ", "update": ""}
    return [f"{table} {key}: {words[str(op)]}{', '.join(said)}" for (table, key, op), said in rows.items()]
