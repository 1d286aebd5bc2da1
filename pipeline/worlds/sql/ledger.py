"""What has changed since the seed: rows before and after, and the hash of all rows kept up to date."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite

from pipeline.records import Json
from pipeline.worlds.sql.image import MODULUS, Image, row_hash
from pipeline.worlds.sql.schema import CAME, Row, Table

Key = tuple[str, str]
"""A row's identity: table and the text of its key (`Table.key_of`)."""
Note = Sequence[Json]
"""A row of the log: table, GONE or CAME, and the values."""


@dataclass(frozen=True, slots=True)
class RowChange:
    """One row before and after; None where it does not exist."""

    table: str
    key: str
    old: Row | None
    new: Row | None


class Ledger:
    """The difference between a live world and its seed."""

    def __init__(self, image: Image) -> None:
        self._image = image
        self.rows: dict[Key, tuple[Row | None, Row | None]] = {}
        self.state = image.state

    def clear(self) -> None:
        self.rows = {}
        self.state = self._image.state

    def book(self, notes: Iterable[Note]) -> None:
        """Takes in what a committed transaction has done."""
        tables = self._image.tables
        for note in notes:
            name, kind = note[0], note[1]
            table = tables[name]
            size = len(table.columns)
            row = tuple(note[2 : 3 + size]) if table.rowid else tuple(note[2 : 2 + size])
            key = (name, table.key_of(row))
            if kind == CAME:
                self._note(key, None, row)
            else:
                self._note(key, row, None)
            if table.counted:
                self.state += kind * row_hash(name, row[:size])
        self.state %= MODULUS

    def _note(self, key: Key, old: Row | None, new: Row | None) -> None:
        """One row went (`old`) or came (`new`)."""
        first, _ = self.rows.get(key, (old, None))
        if same(first, new):
            self.rows.pop(key, None)
        else:
            self.rows[key] = (first, new)

    def changes(self) -> list[RowChange]:
        """All rows that differ from the seed, in order of table and key."""
        return [RowChange(table, key, old, new) for (table, key), (old, new) in sorted(self.rows.items())]


def same(one: Row | None, other: Row | None) -> bool:
    """Exact equality: 1 and 1.0 are two values, since a query can tell them apart."""
    return one == other and (one is None or other is None or list(map(type, one)) == list(map(type, other)))


def check_notes(notes: Iterable[Note], tables: Mapping[str, Table]) -> int:
    """The size of the rows that came: their characters, and eight more for each value.

    Raises ValueError for values that JSON does not know, sqlite3.IntegrityError for a key that identifies nothing.
    """
    size = 0
    for note in notes:
        if note[1] != CAME:
            continue
        size += 8 * len(note)
        for value in note:
            kind = type(value)
            if kind is str:
                size += len(value)
            elif kind is bytes or (kind is float and not isfinite(value)):
                raise ValueError(f"a blob or an infinite number in table {note[0]}")
        for index in tables[note[0]].key:
            if note[2 + index] is None:
                raise sqlite3.IntegrityError(f"NULL in a primary key: {note[0]}")
    return size


def changed_columns(
    now: Sequence[RowChange], since: Sequence[RowChange], tables: Mapping[str, Table]
) -> list[tuple[Json, ...]]:
    """Rows of the table `changes`: (table, key, op, column, old, new) for what has changed after `since`."""
    start = {(one.table, one.key): one.new for one in since}
    seed = {(one.table, one.key): one.old for one in [*since, *now]}
    end = {(one.table, one.key): one.new for one in now}
    rows: list[tuple[Json, ...]] = []
    for table, key in sorted(start.keys() | end.keys()):
        base = seed[(table, key)]
        old, new = start.get((table, key), base), end.get((table, key), base)
        if same(old, new):
            continue
        op = "insert" if old is None else "delete" if new is None else "update"
        for index, column in enumerate(tables[table].columns):
            before, after = (old[index] if old else None), (new[index] if new else None)
            if op != "update" or before != after:
                rows.append((table, key, op, column, before, after))
    return rows
