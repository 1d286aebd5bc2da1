"""Whose a row is: persons of a world, reached from any row by its foreign keys."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from pipeline.records import Json, World
from pipeline.worlds.sql import quoted, runtime

_PERSONAL = re.compile(r"phone|mobile|e_?mail|born|birth")
_PEOPLE = re.compile(
    r"members|customers|clients|guests|patients|passengers|owners|tenants|students|employees|people|persons|users"
)
"""A table with such a column, or such a name, holds persons."""

Person = tuple[str, Json]
"""Table and row number."""


@dataclass(frozen=True)
class Persons:
    """`index`: (table, column, value) to the persons that such rows belong to; `tables`: those that hold persons."""

    index: Mapping[tuple[str, str, Json], frozenset[Person]]
    tables: tuple[str, ...]

    def of(self, source: str, value: Json) -> frozenset[Person]:
        """The persons behind a value of `table.column`; none where the seed does not say."""
        table, _, column = source.partition(".")
        if not isinstance(value, str | int | float):
            return frozenset()
        return self.index.get((table, column, value), frozenset())

    def named(self, column: str, value: Json) -> frozenset[Person]:
        """The persons who have such a value of their own: a phone number, a name."""
        return frozenset().union(*(self.of(f"{table}.{column}", value) for table in self.tables))


@lru_cache(maxsize=256)
def _persons(world_id: str) -> Persons:
    image = runtime(_WORLDS[world_id]).image
    connection = sqlite3.connect(":memory:")
    try:
        connection.deserialize(image.data)
        rows = {
            name: connection.execute(
                f"select {', '.join(map(quoted, table.columns))} from {quoted(name)}"
            ).fetchall()
            for name, table in image.tables.items()
        }
        parents = {name: _parents(connection, name) for name in image.tables}
    finally:
        connection.close()
    columns = {name: table.columns for name, table in image.tables.items()}
    personal = tuple(name for name in columns if people(name) or any(map(_PERSONAL.search, columns[name])))
    return Persons(_index(rows, columns, parents, personal), personal)


def people(table: str) -> bool:
    """Whether a table is named like people."""
    return _PEOPLE.search(table) is not None


_WORLDS: dict[str, World] = {}


def persons(world: World) -> Persons:
    """The persons of a world's seed, found once per process."""
    _WORLDS[world.id] = world
    try:
        return _persons(world.id)
    finally:
        del _WORLDS[world.id]


def _parents(connection: sqlite3.Connection, table: str) -> list[tuple[str, str, str]]:
    """(column, table, its column) of each foreign key of one column."""
    keys = connection.execute(f"pragma foreign_key_list({quoted(table)})").fetchall()
    found = []
    for number, _, parent, column, target, *_ in keys:
        if sum(other[0] == number for other in keys) > 1:
            continue
        if target is None:
            info = connection.execute(f"pragma table_info({quoted(parent)})").fetchall()
            target = next(row[1] for row in info if row[5])
        found.append((column, parent, target))
    return found


def _index(
    rows: Mapping[str, list[tuple[Json, ...]]],
    columns: Mapping[str, tuple[str, ...]],
    parents: Mapping[str, list[tuple[str, str, str]]],
    personal: tuple[str, ...],
) -> dict[tuple[str, str, Json], frozenset[Person]]:
    places: dict[tuple[str, str, Json], list[int]] = {}
    for table, found in rows.items():
        for number, row in enumerate(found):
            for column, value in zip(columns[table], row, strict=True):
                if value is not None:
                    places.setdefault((table, column, value), []).append(number)
    known: dict[tuple[str, int], frozenset[Person]] = {}

    def behind(table: str, number: int) -> frozenset[Person]:
        if (table, number) in known:
            return known[table, number]
        known[table, number] = frozenset()  # a cycle of foreign keys adds nothing
        row = dict(zip(columns[table], rows[table][number], strict=True))
        mine: set[Person] = {(table, number)} if table in personal else set()
        for column, parent, target in parents[table]:
            for one in places.get((parent, target, row[column]), ()):
                mine |= behind(parent, one)
        known[table, number] = frozenset(mine)
        return known[table, number]

    return {
        place: frozenset().union(*(behind(place[0], one) for one in numbers))
        for place, numbers in places.items()
    }
