"""What the statements of an authored schema make: keys, references, allowed words; and a form for the rows of each."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pipeline.records import Json, World
from pipeline.worlds.sql import build_image, quoted

_CHECK_IN = re.compile(r"check\s*\(\s*\"?(\w+)\"?\s+in\s*\(([^()]*)\)", re.I)
_LITERAL = re.compile(r"'((?:[^']|'')*)'")
MOST_TABLES = 8


@dataclass(frozen=True)
class Column:
    """One column. `refers` is `table.column` of a parent, `words` what a check allows."""

    name: str
    type: str
    needed: bool
    refers: str = ""
    words: tuple[str, ...] = ()

    def line(self) -> str:
        """What a model is told of it."""
        parts = [self.name, self.type]
        if self.words:
            parts.append("one of " + ", ".join(self.words))
        if self.refers:
            parts.append(f"a key of {self.refers.partition('.')[0]}")
        if not self.needed:
            parts.append("may be null")
        return ", ".join(parts)


@dataclass(frozen=True)
class Tables:
    """The tables of a schema, parents first."""

    columns: Mapping[str, tuple[Column, ...]]
    keys: Mapping[str, str]
    """Table to its key column; no entry where the key has several parts."""

    def source(self, argument: str) -> str:
        """`table.column` of the row that an argument names: a key of that name, or what a column of that name refers to."""
        for table, key in self.keys.items():
            if key == argument:
                return f"{table}.{key}"
        refers = {one.refers for columns in self.columns.values() for one in columns if one.name == argument}
        refers.discard("")
        return refers.pop() if len(refers) == 1 else ""


def tables_of(world: World) -> Tables:
    """The tables of a world whose schema is sound. Raises WorldError when it is not."""
    image = build_image(world)
    connection = sqlite3.connect(":memory:")
    try:
        connection.deserialize(image.data)
        order = sorted(image.tables.values(), key=lambda table: (table.rank, table.name))
        columns, keys = {}, {}
        for table in order:
            columns[table.name] = _columns(connection, table.name, world.schema_sql)
            if len(table.key) == 1:
                keys[table.name] = table.columns[table.key[0]]
    finally:
        connection.close()
    return Tables(columns, keys)


def _columns(connection: sqlite3.Connection, table: str, schema: str) -> tuple[Column, ...]:
    refers = {
        row[3]: f"{row[2]}.{row[4] or row[3]}"
        for row in connection.execute(f"pragma foreign_key_list({quoted(table)})")
    }
    body = re.search(
        rf"create\s+table\s+(?:if\s+not\s+exists\s+)?\"?{re.escape(table)}\"?\s*\((.*?)(?:;|\Z)",
        schema,
        re.I | re.S,
    )
    words = {
        match[1].lower(): tuple(text.replace("''", "'") for text in _LITERAL.findall(match[2]))
        for match in _CHECK_IN.finditer(body[1] if body else "")
    }
    found = []
    for _, name, kind, notnull, default, key in connection.execute(f"pragma table_info({quoted(table)})"):
        needed = bool(key) or (bool(notnull) and default is None)
        found.append(
            Column(name, kind.lower() or "text", needed, refers.get(name, ""), words.get(name.lower(), ()))
        )
    return tuple(found)


def schema_problems(world: World, planned: Sequence[str]) -> list[str]:
    """What is wrong with a schema that SQLite itself takes: references to nothing, keys that are none, too many tables."""
    found: list[str] = []
    tables = tables_of(world)
    if not 2 <= len(tables.columns) <= MOST_TABLES:
        found.append(f"there are {len(tables.columns)} tables; make 2 to {MOST_TABLES}")
    for table, columns in tables.columns.items():
        if table not in tables.keys:
            found.append(f"table {table} has no key of one column")
        for column in columns:
            parent, _, key = column.refers.partition(".")
            if column.refers and parent not in tables.columns:
                found.append(f"{table}.{column.name} refers to the table {parent}, which does not exist")
            elif column.refers and tables.keys.get(parent) != key:
                found.append(f"{table}.{column.name} refers to {column.refers}, which is no key")
    missing = [name for name in planned if name not in tables.columns]
    if planned and len(missing) > len(planned) // 2:
        found.append(f"the planned tables {', '.join(missing)} are missing")
    return found


def rows_form(columns: Sequence[Column], parents: Mapping[str, Sequence[Json]], count: int) -> dict[str, Any]:
    """The JSON Schema of seed rows: references and fixed words can only be right. `parents`: keys by `table.column`."""
    properties: dict[str, Any] = {}
    for one in columns:
        kind = {"integer": "integer", "int": "integer", "real": "number", "numeric": "number"}.get(
            one.type, "string"
        )
        form: dict[str, Any] = {"type": kind}
        if one.words:
            form = {"enum": list(one.words)}
        elif parents.get(one.refers):
            form = {"enum": list(parents[one.refers])}
        elif kind == "string":
            form["maxLength"] = 80
        if not one.needed:
            form = {"anyOf": [form, {"type": "null"}]}
        properties[one.name] = form
    row = {
        "type": "object",
        "properties": properties,
        "required": [one.name for one in columns],
        "additionalProperties": False,
    }
    return {
        "type": "object",
        "properties": {
            "rows": {"type": "array", "items": row, "minItems": min(2, count), "maxItems": count + 2}
        },
        "required": ["rows"],
        "additionalProperties": False,
    }
