"""The slice of a state that matters for one call: the rows its arguments name, their neighbors, and a few examples."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from pipeline.records import Json, ToolSpec, World, canonical_json
from pipeline.worlds.sql import SqlWorld, quoted
from pipeline.worlds.sql.schema import Table

_EXAMPLES = 2
"""The last rows of each table, which show how keys look."""


@dataclass(frozen=True, slots=True)
class SliceLimits:
    """Bounds of what is shown."""

    rows: int = 30
    """Rows of one table."""
    characters: int = 12_000
    """All rows together, as JSON."""


def slice_of(
    live: SqlWorld, tool: ToolSpec, arguments: Mapping[str, Json], limits: SliceLimits | None = None
) -> dict[str, Json]:
    """`{"schema": DDL, "tables": {name: {"rows_in_all": n, "rows": […]}}}` for one call in the present state.

    In this order, as far as the limits go: rows that hold a value of the arguments, the rows these refer to and the
    rows that refer to them, examples of every table, then further rows of the tables that the tool's name speaks of.
    """
    limits = limits or SliceLimits()
    picked = _Picked(live, limits)
    values = sorted({str(value) for value in _scalars(dict(arguments))})
    for name, table in picked.tables.items():
        picked.add(name, _where_any(table.columns, values), [*values] * len(table.columns) if values else [])
    for _ in range(2):
        picked.add_neighbors(references(live.world))
    for name in picked.tables:
        picked.add(name, f"1 order by {_order(picked.tables[name])} desc", [], _EXAMPLES)
    spoken = set(re.findall(r"[a-z]{3,}", f"{tool.name} {' '.join(arguments)}".lower()))
    near = [name for name in picked.tables if any(_alike(word, name) for word in spoken)]
    for name in near or picked.tables:
        picked.add(name, f"1 order by {_order(picked.tables[name])}", [])
    return {"schema": live.world.schema_sql.strip(), "tables": picked.shown()}


def _scalars(value: Json) -> Iterator[str | int | float]:
    if isinstance(value, dict):
        for item in value.values():
            yield from _scalars(item)
    elif isinstance(value, list):
        for item in value:
            yield from _scalars(item)
    elif value is not None and not isinstance(value, bool) and value != "":
        yield value


def _where_any(columns: tuple[str, ...], values: list[str]) -> str:
    if not values:
        return "0"
    marks = ",".join("?" * len(values))
    return " or ".join(f"cast({quoted(column)} as text) in ({marks})" for column in columns)


def _order(table: Table) -> str:
    return table.rowid or ",".join(quoted(table.columns[i]) for i in table.key)


def _alike(word: str, table: str) -> bool:
    return table.lower().startswith(word.rstrip("s")) or word.startswith(table.lower().rstrip("s"))


@dataclass
class _Picked:
    """Rows taken so far, by table and key."""

    live: SqlWorld
    limits: SliceLimits
    tables: dict[str, Table] = field(init=False)
    rows: dict[str, dict[str, dict[str, Json]]] = field(init=False)
    left: int = field(init=False)

    def __post_init__(self) -> None:
        self.tables = self.live.runtime.image.tables
        self.rows = {name: {} for name in self.tables}
        self.left = self.limits.characters

    def add(self, name: str, where: str, values: list[Json], most: int | None = None) -> None:
        """Further rows of a table, until it or everything together is as large as it may be."""
        table, taken = self.tables[name], self.rows[name]
        room = min(self.limits.rows - len(taken), most or self.limits.rows)
        if room <= 0 or self.left <= 0 or where == "0":
            return
        columns = ",".join(map(quoted, table.columns))
        sql = f"select {columns} from {quoted(name)} where {where} limit {room + len(taken)}"
        for row in self.live.rows_of(sql, values):
            key = table.key_of(row)
            if key in taken or room <= 0 or self.left <= 0:
                continue
            shown = dict(zip(table.columns, row, strict=False))
            size = len(canonical_json(shown))
            if size > self.left:
                self.left = 0
                break
            taken[key], room, self.left = shown, room - 1, self.left - size

    def add_neighbors(self, links: tuple[Link, ...]) -> None:
        """The rows that taken rows refer to, and those that refer to them."""
        for child, column, parent, target in links:
            for source, there, goal, here in (
                (child, column, parent, target),
                (parent, target, child, column),
            ):
                found = {str(row[there]) for row in self.rows[source].values() if row.get(there) is not None}
                if found:
                    marks = ",".join("?" * len(found))
                    self.add(goal, f"cast({quoted(here)} as text) in ({marks})", sorted(found))

    def shown(self) -> dict[str, Json]:
        counts = {
            name: self.live.rows_of(f"select count(*) from {quoted(name)}", [])[0][0] for name in self.tables
        }
        return {
            name: {"rows_in_all": counts[name], "rows": list(rows.values())}
            for name, rows in self.rows.items()
        }


Link = tuple[str, str, str, str]
"""(table, column, table it refers to, column there)."""


@lru_cache(maxsize=512)
def _references(schema_sql: str) -> tuple[Link, ...]:
    connection = sqlite3.connect(":memory:")
    try:
        connection.executescript(schema_sql)
        names = {
            row[0].lower(): row[0]
            for row in connection.execute("select name from sqlite_master where type = 'table'")
        }
        found = []
        for name in sorted(names.values()):
            for row in connection.execute(f"pragma foreign_key_list({quoted(name)})"):
                parent = names.get(str(row[2]).lower())
                if parent is not None:
                    found.append((name, str(row[3]), parent, str(row[4] or _key(connection, parent))))
        return tuple(found)
    finally:
        connection.close()


def _key(connection: sqlite3.Connection, name: str) -> str:
    rows = connection.execute(f"pragma table_info({quoted(name)})").fetchall()
    return next((str(row[1]) for row in rows if row[5]), "rowid")


def references(world: World) -> tuple[Link, ...]:
    """The foreign keys of a world whose schema is known to be sound."""
    return _references(world.schema_sql)
