"""State patches: what a simulator wants changed, checked against the tables before anything runs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

from pipeline.records import Json
from pipeline.worlds.sql import SqlWorld, quoted
from pipeline.worlds.sql.schema import Table

MOST_CHANGES = 200
"""Rows that one call may change."""


@dataclass(frozen=True, slots=True)
class Problem:
    """Why an answer is not taken. `kind`: unreadable, error, schema, arithmetic, read_only, patch, reference, state."""

    kind: str
    message: str


@dataclass(frozen=True, slots=True)
class Patch:
    """A checked patch: parameterised statements, and how many new rows they make."""

    edits: tuple[tuple[str, tuple[Json, ...]], ...] = ()
    inserts: int = 0


def read_patch(live: SqlWorld, wanted: Sequence[Json]) -> Patch | Problem:
    """The statements for a patch, or the first thing that is wrong with it."""
    if len(wanted) > MOST_CHANGES:
        return Problem("patch", f"The patch changes {len(wanted)} rows, more than {MOST_CHANGES}.")
    tables = live.runtime.image.tables
    edits: list[tuple[str, tuple[Json, ...]]] = []
    made: set[tuple[str, str]] = set()
    for number, change in enumerate(wanted, 1):
        read = _Change.read(change, tables, number)
        if isinstance(read, Problem):
            return read
        problem = read.problem(live, made)
        if problem is not None:
            return problem
        edits.append(read.edit())
    return Patch(tuple(edits), len(made))


@dataclass(frozen=True, slots=True)
class _Change:
    """One change with values of the columns' types."""

    number: int
    op: str
    table: Table
    key: dict[str, Json]
    values: dict[str, Json]

    @classmethod
    def read(cls, change: Json, tables: Mapping[str, Table], number: int) -> _Change | Problem:
        where = f"Change {number} of the patch"
        if not isinstance(change, dict):
            return Problem("patch", f"{where} is no object.")
        op, name = change.get("op"), change.get("table")
        if op not in ("insert", "update", "delete"):
            return Problem("patch", f"{where}: op {op!r} is not insert, update or delete.")
        table = tables.get(name) if isinstance(name, str) else None
        if table is None:
            return Problem("patch", f"{where}: there is no table {name!r}; tables: {', '.join(tables)}.")
        given = [change.get("key") or {}, change.get("values") or {}]
        if not all(isinstance(part, dict) for part in given):
            return Problem("patch", f"{where}: key and values have to be objects.")
        names = [table.columns[i] for i in table.key]
        typed: list[dict[str, Json]] = []
        for part in given:
            row: dict[str, Json] = {}
            for column, value in part.items():
                if column not in table.columns:
                    return Problem(
                        "patch",
                        f"{where}: {name} has no column {column!r}; it has {', '.join(table.columns)}.",
                    )
                try:
                    row[column] = _typed(value, table.types[table.columns.index(column)])
                except ValueError as error:
                    return Problem("patch", f"{where}: {name}.{column}: {error}")
            typed.append(row)
        key, values = typed
        if op == "insert":
            values, key = {**values, **key}, {n: {**values, **key}.get(n) for n in names}
        if set(key) != set(names) or any(value is None for value in key.values()):
            return Problem(
                "patch", f"{where}: key has to name a value for {', '.join(names)} and nothing else."
            )
        if op == "update" and not values:
            return Problem("patch", f"{where}: an update needs values.")
        return cls(number, op, table, key, values)

    def problem(self, live: SqlWorld, made: set[tuple[str, str]]) -> Problem | None:
        """A row that should be there and is not, or the other way round. Notes the rows that the patch makes."""
        name = self.table.name
        text = "|".join(str(self.key[self.table.columns[i]]) for i in self.table.key)
        sql = f"select 1 from {quoted(name)} where {self.table.where}"
        there = bool(live.rows_of(sql, [self.key[self.table.columns[i]] for i in self.table.key]))
        if self.op == "insert":
            if there or (name, text) in made:
                return Problem("reference", f"Change {self.number}: {name} {text} exists already.")
            made.add((name, text))
        elif not there and (name, text) not in made:
            return Problem("reference", f"Change {self.number}: there is no row {text} in {name}.")
        return None

    def edit(self) -> tuple[str, tuple[Json, ...]]:
        name = quoted(self.table.name)
        parts = tuple(self.key[self.table.columns[i]] for i in self.table.key)
        if self.op == "insert":
            columns = ",".join(map(quoted, self.values))
            marks = ",".join("?" * len(self.values))
            return f"insert into {name}({columns}) values ({marks})", tuple(self.values.values())
        if self.op == "delete":
            return f"delete from {name} where {self.table.where}", parts
        setting = ",".join(f"{quoted(column)}=?" for column in self.values)
        return f"update {name} set {setting} where {self.table.where}", (*self.values.values(), *parts)


def _typed(value: Any, kind: str) -> Json:
    """A JSON value as a column of the declared type holds it. Raises ValueError."""
    if value is None:
        return None
    if isinstance(value, dict | list):
        if "int" in kind or "real" in kind or "num" in kind:
            raise ValueError(f"{json.dumps(value)[:80]} is no {kind}.")
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, bool):
        if "text" in kind:
            raise ValueError(f"{value} is no text.")
        return int(value)
    if "int" in kind:
        if isinstance(value, float) and value.is_integer():
            return int(value)
        if not isinstance(value, int):
            raise ValueError(f"{value!r} is no integer.")
    elif ("real" in kind or "num" in kind or "float" in kind) and not isinstance(value, int | float):
        raise ValueError(f"{value!r} is no number.")
    elif "text" in kind and not isinstance(value, str):
        raise ValueError(f"{value!r} is no text.")
    if isinstance(value, float) and not isfinite(value):
        raise ValueError("a number has to be finite.")
    return value
