"""What has changed since the seed: rows before and after, and the hash of all rows kept up to date."""

from __future__ import annotations

import sqlite3
from bisect import bisect_left, insort
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


@dataclass(frozen=True, slots=True)
class Entry:
    """What a transaction did, not yet booked: (key, row that went, row that came), and what it adds up to.

    `size`: characters of the rows that came, and eight more for each value; `state`: what the state hash gains;
    `read`: rows of the log.
    """

    rows: list[tuple[Key, Row | None, Row | None]]
    size: int
    state: int
    read: int


NOTHING = Entry([], 0, 0, 0)


class Ledger:
    """The difference between a live world and its seed."""

    def __init__(self, image: Image) -> None:
        self._image = image
        self._shapes = {
            name: (2 + len(table.columns), 2 + len(table.columns) + bool(table.rowid), table)
            for name, table in image.tables.items()
        }
        """By table: where its columns end in a row of the log, where its stored values end."""
        self.clear()

    def clear(self) -> None:
        self.rows: dict[Key, tuple[Row | None, Row | None]] = {}
        self.state = self._image.state
        self._order: list[Key] = []
        self._lines: dict[Key, Json] = {}

    def read(self, notes: Iterable[Note], room: int) -> Entry:
        """What a transaction that is not committed yet would change.

        Raises OverflowError when it is larger than `room`, ValueError for values that JSON does not know,
        sqlite3.IntegrityError for a key that identifies nothing.
        """
        rows: list[tuple[Key, Row | None, Row | None]] = []
        size = state = count = 0
        for note in notes:
            count += 1
            name, kind = note[0], note[1]
            columns, end, table = self._shapes[name]
            row = tuple(note[2:end])
            key = (name, table.key_of(row))
            if table.counted:
                state += kind * row_hash(name, row if end == columns else row[:-1])
            if kind == CAME:
                size += _weigh(row, table)
                if size > room:
                    raise OverflowError("the episode has written more than it may")
                if rows and rows[-1][0] == key and rows[-1][2] is None:
                    rows[-1] = (key, rows[-1][1], row)
                else:
                    rows.append((key, None, row))
            else:
                rows.append((key, row, None))
        return Entry(rows, size, state, count)

    def book(self, entry: Entry) -> None:
        """Takes in what a committed transaction has done."""
        changed = self.rows
        for key, old, new in entry.rows:
            known = key in changed
            first = changed[key][0] if known else old
            if not same(first, new):
                changed[key] = (first, new)
                self._lines[key] = [*key, None if new is None else list(new)]
                if not known:
                    insort(self._order, key)
            elif known:
                del changed[key], self._lines[key], self._order[bisect_left(self._order, key)]
        self.state = (self.state + entry.state) % MODULUS

    def lines(self) -> tuple[Json, ...]:
        """`[table, key, row or null]` for each row that differs from the seed, in order. Not to be changed."""
        return tuple(map(self._lines.__getitem__, self._order))

    def changes(self) -> list[RowChange]:
        """All rows that differ from the seed, in order of table and key."""
        return [RowChange(table, key, old, new) for (table, key), (old, new) in sorted(self.rows.items())]


def same(one: Row | None, other: Row | None) -> bool:
    """Exact equality: 1 and 1.0 are two values, since a query can tell them apart."""
    return one == other and (one is None or other is None or list(map(type, one)) == list(map(type, other)))


def _weigh(row: Row, table: Table) -> int:
    size = 8 * len(row)
    for value in row:
        kind = type(value)
        if kind is str:
            size += len(value)
        elif kind is bytes or (kind is float and not isfinite(value)):
            raise ValueError(f"a blob or an infinite number in table {table.name}")
    for index in table.key:
        if row[index] is None:
            raise sqlite3.IntegrityError(f"NULL in a primary key: {table.name}")
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
