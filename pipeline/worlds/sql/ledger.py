"""What has changed since the seed: rows before and after, and the hash of all rows kept up to date."""

from __future__ import annotations

import sqlite3
from bisect import bisect_left, insort
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite

from pipeline.records import Json
from pipeline.worlds.sql.image import MODULUS, Image, row_hash
from pipeline.worlds.sql.schema import CAME, CHANGED, Row, Table

Key = tuple[str, str]
"""A row's identity: table and the text of its key (`Table.key_of`)."""


@dataclass(frozen=True, slots=True)
class RowChange:
    """One row before and after; None where it does not exist."""

    table: str
    key: str
    old: Row | None
    new: Row | None


class Ledger:
    """The difference between a live world and its seed.

    The world's triggers call `note`; `book` takes in what was noted when the transaction is committed, `forget` drops it
    when it is rolled back. `limit` bounds what an episode may write: the characters of new and changed rows, and eight
    more for each value.
    """

    def __init__(self, image: Image, limit: int) -> None:
        self._image = image
        self._limit = limit
        self._shapes = {
            name: (len(table.columns), len(table.columns) + bool(table.rowid), table)
            for name, table in image.tables.items()
        }
        """By table: how many columns it has, how many stored values."""
        self.clear()

    def clear(self) -> None:
        """The seed."""
        self.rows: dict[Key, tuple[Row | None, Row | None]] = {}
        self.state = self._image.state
        self.written = 0
        self._order: list[Key] = []
        self._lines: dict[Key, Json] = {}
        self.forget()

    def forget(self) -> None:
        """Nothing is noted."""
        self.noted: list[tuple[Key, Row | None, Row | None]] = []
        self.problem: Exception | None = None
        """Why the last note was refused; SQLite itself only says that a function failed."""
        self._gain = 0
        self._size = 0
        self.counted: int | None = None
        """Notes since `count_only`, which are not looked at; None while they are."""

    def count_only(self) -> None:
        """From here to `clear` or `forget` changed rows are counted and no more: the engine puts the seed back."""
        self.counted = 0

    def note(self, name: str, kind: str, *values: Json) -> None:
        """One row came, went or changed.

        Raises OverflowError when the episode has written more than it may, ValueError for values that JSON does not know,
        sqlite3.IntegrityError for a key that identifies nothing.
        """
        if self.counted is not None:
            self.counted += 1
            return
        columns, size, table = self._shapes[name]
        try:
            if kind == CHANGED:
                old, new = values[:size], values[size:]
                key, after = (name, table.key_of(old)), (name, table.key_of(new))
                if key == after:
                    self.noted.append((key, old, new))
                else:
                    self.noted += ((key, old, None), (after, None, new))
            elif kind == CAME:
                old, new = None, values
                self.noted.append(((name, table.key_of(new)), None, new))
            else:
                old, new = values, None
                self.noted.append(((name, table.key_of(old)), old, None))
            if new is not None:
                self._size += _weigh(new, table)
                if self.written + self._size > self._limit:
                    raise OverflowError(f"the episode has written more than {self._limit} bytes")
            if table.counted:
                if new is not None:
                    self._gain += row_hash(name, new if size == columns else new[:columns])
                if old is not None:
                    self._gain -= row_hash(name, old if size == columns else old[:columns])
        except Exception as problem:
            self.problem = problem
            raise

    def book(self) -> None:
        """Takes in what a committed transaction has done."""
        changed = self.rows
        for key, old, new in self.noted:
            known = key in changed
            first = changed[key][0] if known else old
            if not same(first, new):
                changed[key] = (first, new)
                self._lines[key] = [*key, None if new is None else list(new)]
                if not known:
                    insort(self._order, key)
            elif known:
                del changed[key], self._lines[key], self._order[bisect_left(self._order, key)]
        self.state = (self.state + self._gain) % MODULUS
        self.written += self._size
        self.forget()

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
        elif kind is int:
            continue
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
