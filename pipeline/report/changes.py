"""What a call changed: rows before and after, with the names of columns and the values of the world's seed."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from typing import Any

from pipeline.records import World, WorldError
from pipeline.worlds.sql.image import build_image

Change = tuple[str, str, str, list[tuple[str, Any, Any]]]
"""Table, key, `+` (came), `-` (went) or `~` (changed), and column, value before, value after for what differs."""

_LONG = 400


class Differences:
    """State differences of one run, from its snapshots and worlds."""

    def __init__(self, snapshots: Mapping[str, tuple[str, str]], worlds: Mapping[str, str]) -> None:
        """`snapshots`: reference to world id and rows (JSON); `worlds`: id to record (JSON)."""
        self._snapshots = snapshots
        self._records = worlds
        self._columns: dict[str, dict[str, tuple[str, ...]]] = {}
        self._seeds: dict[str, dict[tuple[str, str], list[Any]]] = {}
        self._known: dict[tuple[str, str], list[Change]] = {}

    def between(self, before: str, after: str) -> list[Change]:
        """The rows that differ. A snapshot that was not kept counts as the seed."""
        if (before, after) not in self._known:
            self._known[before, after] = self._compare(before, after)
        return self._known[before, after]

    def _compare(self, before: str, after: str) -> list[Change]:
        if after not in self._snapshots:
            return []
        world = self._snapshots[after][0]
        old, new = self._rows(before), self._rows(after)
        found = []
        for table, key in sorted(old.keys() | new.keys()):
            seed = self._seed(world).get((table, key))
            one, other = old.get((table, key), seed), new.get((table, key), seed)
            if one != other:
                kind = "+" if one is None else "-" if other is None else "~"
                found.append((table, key, kind, self._cells(world, table, one, other)))
        return found

    def _rows(self, ref: str) -> dict[tuple[str, str], Any]:
        rows = json.loads(self._snapshots[ref][1]) if ref in self._snapshots else []
        return {(str(table), str(key)): row for table, key, row in rows}

    def _cells(self, world: str, table: str, one: Any, other: Any) -> list[tuple[str, Any, Any]]:
        names = self._names(world).get(table)
        left, right = _named(one, names), _named(other, names)
        return [
            (name, _short(left.get(name)), _short(right.get(name)))
            for name in dict.fromkeys([*left, *right])
            if left.get(name) != right.get(name)
        ]

    def _names(self, world: str) -> dict[str, tuple[str, ...]]:
        self._seed(world)
        return self._columns[world]

    def _seed(self, world: str) -> dict[tuple[str, str], list[Any]]:
        """The seed's rows by table and key; without a world of SQL tables there are none."""
        if world not in self._seeds:
            self._seeds[world], self._columns[world] = {}, {}
            if world in self._records:
                self._read(world)
        return self._seeds[world]

    def _read(self, id: str) -> None:
        try:
            image = build_image(World.model_validate_json(self._records[id]))
        except WorldError:  # of an older version: its rows are then shown with numbers for names
            return
        with closing(sqlite3.connect(":memory:")) as connection:
            connection.deserialize(image.data)
            for name, table in image.tables.items():
                self._columns[id][name] = table.columns
                quoted = '"' + name.replace('"', '""') + '"'
                for row in connection.execute(f"select {', '.join(table.stored)} from {quoted}"):
                    self._seeds[id][name, table.key_of(row)] = list(row)


def _named(row: Any, names: tuple[str, ...] | None) -> dict[str, Any]:
    if row is None:
        return {}
    if isinstance(row, dict):
        return row
    if names is None:
        return {str(number): value for number, value in enumerate(row)}
    return dict(zip(names, row, strict=False))  # behind the columns stands the hidden row number


def _short(value: Any) -> Any:
    if isinstance(value, str) and len(value) > _LONG:
        return f"{value[:_LONG]} … ({len(value)} characters)"
    return value
