"""Arguments found by trying: more witnesses than a model gives, taken from the rows that are there."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import islice

from pipeline.records import Json, ToolSpec, canonical_json
from pipeline.tools.evolve.authored.tables import Tables
from pipeline.worlds.sql import SqlWorld, quoted

TRIES = 400
"""Calls made for one tool."""
KEPT = 10
"""Argument objects kept for success, and half as many for each error."""
_VALUES = 12
_ABSENT = object()
_PREFIX = re.compile(r"^(?:new|old|min|max|from|to|other|target|current)_")


@dataclass
class Found:
    """Arguments by how the call ended: `""` for success, else the error's code."""

    ends: dict[str, list[dict[str, Json]]] = field(default_factory=dict)
    why: dict[str, str] = field(default_factory=dict)
    """The first message with each code."""

    def of(self, code: str = "") -> list[dict[str, Json]]:
        return self.ends.get(code, [])


def search(live: SqlWorld, tool: ToolSpec, tables: Tables, seed: str) -> Found:
    """Calls a tool with many arguments from the seed state and sorts them by how they end. Deterministic."""
    rng = random.Random(f"search/{seed}/{tool.name}")
    found, seen = Found(), set()
    for arguments in islice(_candidates(live, tool, tables, rng), TRIES):
        key = canonical_json(arguments)
        if key in seen:
            continue
        seen.add(key)
        live.reset()
        result = live.call(tool.name, arguments)
        code, why = ("", "") if result.ok else (result.error or ("?", ""))
        found.why.setdefault(code, why)
        kept = found.ends.setdefault(code, [])
        if len(kept) < (KEPT if not code else KEPT // 2):
            kept.append(arguments)
    live.reset()
    return found


def _candidates(
    live: SqlWorld, tool: ToolSpec, tables: Tables, rng: random.Random
) -> Iterator[dict[str, Json]]:
    properties = tool.input_schema.get("properties", {})
    required = set(tool.input_schema.get("required", ()))
    values = {name: _values(live, name, schema, tables) for name, schema in properties.items()}
    for name in values:
        if name not in required:
            values[name].append(_ABSENT)
    rows = list(_rows(live, properties, tables))
    rng.shuffle(rows)
    for number in range(TRIES * 2):
        drawn = {name: rng.choice(options) for name, options in values.items()}
        if rows and number % 3:
            drawn |= rows[number % len(rows)]
        yield {name: value for name, value in drawn.items() if value is not _ABSENT}
        if not properties:
            return


def _rows(live: SqlWorld, properties: dict[str, Json], tables: Tables) -> Iterator[dict[str, Json]]:
    """Rows of one table that give several arguments at once, so that they belong together."""
    for table, columns in tables.columns.items():
        names = [one.name for one in columns if one.name in properties]
        if names:
            listed = ", ".join(map(quoted, names))
            yield from live.ask(f"select {listed} from {quoted(table)} limit 30")


def _values(live: SqlWorld, name: str, schema: Json, tables: Tables) -> list[object]:
    kind = str(schema.get("type", "string"))
    if schema.get("enum"):
        return list(schema["enum"])
    if kind == "boolean":
        return [True, False]
    found: list[object] = []
    source = tables.source(name)
    if source:
        table, _, column = source.partition(".")
        found += _column(live, table, column)
    bare = _PREFIX.sub("", name)
    for table, columns in tables.columns.items():
        for one in columns:
            if one.name in (name, bare) and not source:
                found += [*one.words, *_column(live, table, one.name)]
    if kind in ("integer", "number"):
        numbers = [value for value in found if isinstance(value, int | float)]
        more = [1, 2, 5, 10, 50, 100, 0, -1, 100_000]
        whole = kind == "integer"
        return [int(value) if whole else float(value) for value in dict.fromkeys([*numbers, *more])]
    texts = [value for value in found if isinstance(value, str)]
    return [*dict.fromkeys(texts), *_made_up(live, name, bool(source))]


def _column(live: SqlWorld, table: str, column: str) -> list[object]:
    sql = f"select distinct {quoted(column)} as value from {quoted(table)} where {quoted(column)} is not null limit {_VALUES}"
    return [row["value"] for row in live.ask(sql)]


def _made_up(live: SqlWorld, name: str, key: bool) -> list[str]:
    """A key that no row has; for other texts days, moments and words."""
    if key:
        return ["ZZ999"]
    now = datetime.fromisoformat(live.world.clock)
    days = [now + timedelta(days=step) for step in (1, 7, -30, 365)]
    if re.search(r"time|starts|ends|begins|_at$|when", name):
        return [f"{day:%Y-%m-%d}T10:00:00" for day in days]
    if re.search(r"date|day|from|until|due|expir|since", name):
        return [f"{day:%Y-%m-%d}" for day in days]
    return ["something else", "none"]
