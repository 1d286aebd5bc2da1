"""What has changed since the seed: rows before and after, and the hash of all rows kept up to date."""

from __future__ import annotations

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
        for name, kind, *values in notes:
            table = self._image.tables[name]
            row = tuple(values[: len(table.columns) + bool(table.rowid)])
            key = (name, table.key_of(row))
            if kind == CAME:
                self._note(key, None, row)
            else:
                self._note(key, row, None)
            if table.counted:
                self.state += kind * row_hash(name, row[:-1] if table.rowid else row)
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


def improper(notes: Iterable[Note]) -> str | None:
    """Why the rows of a log cannot stand: values that JSON does not know."""
    for note in notes:
        for value in note:
            if isinstance(value, bytes):
                return f"a blob in table {note[0]}"
            if isinstance(value, float) and not isfinite(value):
                return f"an infinite number in table {note[0]}"
    return None


def size_of(notes: Iterable[Note]) -> int:
    """Characters of the rows that came, numbers counted as eight."""
    return sum(
        sum(len(value) if isinstance(value, str) else 8 for value in note)
        for note in notes
        if note[1] == CAME
    )


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
