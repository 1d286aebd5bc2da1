"""Output schemas of SQL tools, read from declared column types and, for expressions, from witnessed results."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Mapping
from typing import Any

from pipeline.records import Json, ToolSpec, World, WorldError
from pipeline.worlds.sql.guard import check_statement
from pipeline.worlds.sql.image import Image, build_image

_SQL_TYPES = {
    "text": "string",
    "integer": "integer",
    "int": "integer",
    "real": "number",
    "numeric": "number",
    "boolean": "boolean",
}


def with_output_schemas(world: World, declared: Mapping[str, Mapping[str, Any]]) -> World:
    """The world with an output schema on every tool; `declared` gives columns by tool that override.

    Raises WorldError when the tables or a result query are broken.
    """
    image = build_image(world)
    connection = sqlite3.connect(":memory:")
    try:
        connection.deserialize(image.data)
        tools = tuple(
            tool.replace(output_schema=_schema(connection, image, world, tool, declared.get(tool.name, {})))
            for tool in world.tools
        )
    finally:
        connection.close()
    return world.replace(tools=tools)


def _schema(
    connection: sqlite3.Connection, image: Image, world: World, tool: ToolSpec, declared: Mapping[str, Any]
) -> dict[str, Json]:
    if tool.program is None or not tool.program.steps:
        raise WorldError(f"World {world.name}, tool {tool.name}: it has no program.")
    last = tool.program.steps[-1]
    where = f"World {world.name}, tool {tool.name}, the last step"
    check_statement(last.sql, writes=False, where=where)
    properties: dict[str, Json] = {}
    for name, kind in _columns(connection, world, tool, last.sql):
        if name in declared:
            properties[name] = dict(declared[name])
            continue
        json_type = _SQL_TYPES.get(kind.split("(")[0].strip().lower())
        if json_type is None:
            properties[name] = {}
        elif _never_null(image, name):
            properties[name] = {"type": json_type}
        else:
            properties[name] = {"type": [json_type, "null"]}
    strange = set(declared) - set(properties)
    if strange:
        raise WorldError(
            f"World {world.name}, tool {tool.name}: `returns` names {sorted(strange)}, not in the result."
        )
    row = {"type": "object", "properties": properties, "required": list(properties)}
    return {"type": "array", "items": row} if last.kind == "returns_many" else row


def _columns(connection: sqlite3.Connection, world: World, tool: ToolSpec, sql: str) -> list[tuple[str, str]]:
    """Result column names and declared types. A view has declared types where a cursor has none, but no
    parameters, so each becomes NULL."""
    text = re.sub(r"(?<![:\w]):[A-Za-z_]\w*", "null", sql)
    try:
        connection.execute(f"create temp view _result_ as {text}")
        rows = connection.execute("pragma temp.table_info(_result_)").fetchall()
    except (sqlite3.Error, sqlite3.Warning) as error:
        raise WorldError(
            f"World {world.name}, tool {tool.name}: the result query is broken: {error}."
        ) from error
    finally:
        connection.execute("drop view if exists temp._result_")
    names = [row[1] for row in rows]
    twice = {name for name in names if names.count(name) > 1 or ":" in name}
    if twice:
        raise WorldError(
            f"World {world.name}, tool {tool.name}: two result columns are named {sorted(twice)[0]!r}."
        )
    return [(row[1], row[2] or "") for row in rows]


def _never_null(image: Image, column: str) -> bool:
    found = [
        table.nullable[table.columns.index(column)]
        for table in image.tables.values()
        if column in table.columns
    ]
    return bool(found) and not any(found)
