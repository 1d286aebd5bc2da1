"""What a call changed: rows before and after, with the names of columns and the values of the world's seed."""

from __future__ import annotations

import json
import sqlite3
from base64 import b64decode
from collections.abc import Iterable, Mapping
from contextlib import closing
from difflib import SequenceMatcher
from typing import Any

from pipeline.records import World, WorldError
from pipeline.store import Catalog
from pipeline.worlds.sql.image import build_image

Change = tuple[str, str, str, list[tuple[str, Any, Any]]]
"""Table (`WORLD.TABLE` in a further world of the episode), key, `+` (came), `-` (went) or `~` (changed), and column, value before, value after for what differs."""

_LONG = 400


class Differences:
    """State differences of one run, from its snapshots and worlds."""

    def __init__(self, snapshots: Mapping[str, tuple[str, str, str]], worlds: Mapping[str, str]) -> None:
        """`snapshots`: reference to world id, rows and parts (JSON); `worlds`: id to record (JSON)."""
        self._snapshots = snapshots
        self._records = worlds
        self._columns: dict[str, dict[str, tuple[str, ...]]] = {}
        self._seeds: dict[str, dict[tuple[str, str], list[Any]]] = {}
        self._known: dict[tuple[str, str], list[Change]] = {}

    @classmethod
    def of(cls, catalog: Catalog, run: str, only: Iterable[str] | None = None) -> Differences:
        """Those between all snapshots of a run (its name quoted for SQL), or between the references in `only`."""
        where = f"run = '{run}'"
        if only is not None:
            wanted = ", ".join(f"'{ref}'" for ref in only) or "''"
            where += f" and ref in ({wanted})"
        snapshots = catalog.query(f"select ref, world_id, rows, parts from snapshots where {where}").rows()
        worlds = catalog.query(
            f"select id, record from worlds where run = '{run}' and id in (select world_id from snapshots where {where}"
            f" union all select unnest(json_extract_string(parts, '$[*].world')) from snapshots where {where})"
        ).rows()
        return cls({ref: (world, rows, parts) for ref, world, rows, parts in snapshots}, dict(worlds))

    def between(self, before: str, after: str) -> list[Change]:
        """The rows that differ. A snapshot that was not kept counts as the seed."""
        if (before, after) not in self._known:
            self._known[before, after] = self._compare(before, after)
        return self._known[before, after]

    def _compare(self, before: str, after: str) -> list[Change]:
        if after not in self._snapshots:
            return []
        main = self._snapshots[after][0]
        old, new = self._rows(before), self._rows(after)
        found = []
        for world, table, key in sorted(old.keys() | new.keys(), key=lambda place: (place[0] != main, place)):
            seed = self._seed(world).get((table, key))
            one, other = old.get((world, table, key), seed), new.get((world, table, key), seed)
            if one != other:
                kind = "+" if one is None else "-" if other is None else "~"
                shown = table if world == main else f"{self._name(world)}.{table}"
                found.append((shown, key, kind, self._cells(world, table, one, other)))
        return found

    def _rows(self, ref: str) -> dict[tuple[str, str, str], Any]:
        """World, table and key to the row, of all worlds of the episode."""
        if ref not in self._snapshots:
            return {}
        main, rows, parts = self._snapshots[ref]
        further = json.loads(parts or "[]")
        states = [(main, json.loads(rows)), *((part["world"], part["rows"]) for part in further)]
        return {(world, str(table), str(key)): row for world, own in states for table, key, row in own}

    def _name(self, world: str) -> str:
        return str(json.loads(self._records[world])["name"]) if world in self._records else world

    def _cells(self, world: str, table: str, one: Any, other: Any) -> list[tuple[str, Any, Any]]:
        names = self._names(world).get(table)
        left, right = _told(_named(one, names), _named(other, names))
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


def _told(left: dict[str, Any], right: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Files as text; of one that was there before, the lines that differ."""
    if "base64" not in left and "base64" not in right:
        return left, right
    old, new = _text(left), _text(right)
    left, right = (
        {key: value for key, value in row.items() if key == "executable" and value} for row in (left, right)
    )
    if old is None or new is None:
        return ({} if old is None else left | {"text": old}), ({} if new is None else right | {"text": new})
    lines = old.splitlines(), new.splitlines()
    changed = [
        one for one in SequenceMatcher(None, *lines, autojunk=False).get_opcodes() if one[0] != "equal"
    ]
    went = "\n".join(line for _, start, end, _, _ in changed for line in lines[0][start:end])
    came = "\n".join(line for _, _, _, start, end in changed for line in lines[1][start:end])
    return left | {"lines": went}, right | {"lines": came}


def _text(row: dict[str, Any]) -> str | None:
    return b64decode(row["base64"]).decode("utf-8", "replace") if "base64" in row else None


def _short(value: Any) -> Any:
    if isinstance(value, str) and len(value) > _LONG:
        return f"{value[:_LONG]} … ({len(value)} characters)"
    return value
