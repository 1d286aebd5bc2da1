"""A tool's program, made ready to run: checked statements, argument binding, result coercion."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

import jsonschema_rs

from pipeline.records import DeclaredError, Json, Step, ToolSpec, World, WorldError
from pipeline.worlds.sql.guard import Limits, check_statement
from pipeline.worlds.sql.image import Image, open_image

Coercion = Callable[[Any], Json]


@dataclass(frozen=True, slots=True)
class Compiled:
    """A program ready to run. `steps` are (kind, sql, error); `result` the last query; `columns` coercions by name."""

    tool: ToolSpec
    steps: tuple[tuple[str, str, DeclaredError | None], ...]
    result: str
    many: bool
    writes: bool
    uses_new_id: bool
    defaults: dict[str, Json]
    encoded: tuple[str, ...]
    """Arguments bound as JSON text."""
    booleans: tuple[str, ...]
    coercions: dict[str, Coercion]
    validator: Any

    def complaint(self, arguments: Json) -> str | None:
        """Why the arguments do not fit the input schema, or cannot be bound; None when all is well."""
        try:
            if self.validator.is_valid(arguments):
                for name, value in arguments.items():
                    if why := _unfit(value):
                        return f"{name}: {why}"
                return None
            errors = []
            for error in self.validator.iter_errors(arguments):
                where = "/".join(str(part) for part in error.instance_path)
                errors.append(f"{where}: {error.message}" if where else str(error.message))
        except (ValueError, OverflowError) as problem:  # half characters, numbers without end, absurd depth
            return f"the arguments are no JSON: {problem}"
        return "; ".join(errors[:5])

    def objects(self, rows: Sequence[Sequence[Any]], names: Sequence[str]) -> list[dict[str, Json]]:
        """Rows of the result as JSON objects. Raises ValueError or TypeError for a value of another type."""
        for row in rows:
            if not _PLAIN.issuperset(map(type, row)):
                for value in row:
                    if isinstance(value, bytes) or (isinstance(value, float) and not isfinite(value)):
                        raise ValueError("the result holds a blob or an infinite number")
        objects: list[dict[str, Json]] = [dict(zip(names, row)) for row in rows]  # noqa: B905 (one shape)
        for name, coerce in self.coercions.items():
            for item in objects:
                if item.get(name) is not None:
                    item[name] = coerce(item[name])
        return objects

    def bind(self, arguments: dict[str, Json], now: str, new_id: int) -> dict[str, Json]:
        """The parameters of all statements. Arguments are only ever bound, never spliced."""
        bound = {**self.defaults, **arguments, "now": now, "new_id": new_id}
        for name in self.encoded:
            if bound[name] is not None:
                bound[name] = json.dumps(bound[name], ensure_ascii=False)
        for name in self.booleans:
            if bound[name] is not None:
                bound[name] = int(bound[name])
        return bound


_LARGEST = 2**63
_PLAIN = frozenset({str, int, type(None)})


def _unfit(value: Json) -> str:
    """Why SQLite cannot take a value: whole numbers beyond 64 bits, infinite ones, half characters."""
    if isinstance(value, str):
        return (
            "" if value.isascii() or _is_text(value) else "the text holds half a character (a lone surrogate)"
        )
    if isinstance(value, bool) or value is None:
        return ""
    if isinstance(value, int):
        return "" if -_LARGEST <= value < _LARGEST else "the number is too large"
    if isinstance(value, float):
        return "" if isfinite(value) else "the number is not finite"
    parts = value.values() if isinstance(value, dict) else value
    return next((why for part in parts if (why := _unfit(part))), "")


def _is_text(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def compile_tool(tool: ToolSpec, world: str) -> Compiled:
    """Checks the shape of a program and prepares it.

    Raises WorldError naming the tool and step: several results, a result that is not last, text that is no single
    query, an argument schema that is no JSON Schema.
    """
    where = f"World {world}, tool {tool.name}"
    if tool.program is None:
        raise WorldError(f"{where}: it has no program.", way_out="Give it `program:` steps.")
    steps = tool.program.steps
    properties = tool.input_schema.get("properties", {})
    for name in properties:
        if not _NAME.fullmatch(name) or name in _BOUND:
            raise WorldError(
                f"{where}: an argument cannot be named {name!r}.",
                way_out="Use letters, digits and _; now and new_id are taken.",
            )
    if not steps or not steps[-1].kind.startswith("returns"):
        raise WorldError(f"{where}: the last step must be returns_one or returns_many.")
    for number, step in enumerate(steps, 1):
        _check_step(step, f"{where}, step {number}", {*properties, *_BOUND}, last=number == len(steps))
    return Compiled(
        tool=tool,
        steps=tuple((step.kind, step.sql, step.error) for step in steps[:-1]),
        result=steps[-1].sql,
        many=steps[-1].kind == "returns_many",
        writes=any(step.kind == "do" for step in steps),
        uses_new_id=any(":new_id" in step.sql for step in steps),
        defaults={name: schema.get("default") for name, schema in properties.items()},
        encoded=tuple(name for name, schema in properties.items() if _type(schema) in ("array", "object")),
        booleans=tuple(name for name, schema in properties.items() if _type(schema) == "boolean"),
        coercions=_coercions(tool.output_schema, many=steps[-1].kind == "returns_many"),
        validator=_validator(tool, where),
    )


_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_BOUND = ("now", "new_id")
"""Bound besides the arguments."""


def _check_step(step: Step, where: str, known: set[str], *, last: bool) -> None:
    if step.kind.startswith("returns") and not last:
        raise WorldError(f"{where}: only the last step may return.")
    if step.kind == "require" and step.error is None:
        raise WorldError(f"{where}: a require needs an error with code and message.")
    strange = check_statement(step.sql, writes=step.kind == "do", where=where) - known
    if strange:
        raise WorldError(
            f"{where}: :{min(strange)} is no argument.", way_out="Declare it, or bind :now or :new_id."
        )


def prove_tools(tools: Iterable[Compiled], image: Image, world: World, limits: Limits) -> None:
    """Prepares every statement against the seed, as what it says it is.

    Raises WorldError naming the tool and step of a statement that is broken, reaches outside, or writes as a query.
    """
    connection, guard = open_image(image, limits, lambda: world.clock, lambda *values: None)
    try:
        for tool in tools:
            bound = dict.fromkeys([*tool.defaults, *_BOUND])
            for number, (kind, sql, _) in enumerate([*tool.steps, ("returns", tool.result, None)], 1):
                try:
                    with guard.call("program" if kind == "do" else "read"):
                        connection.execute(f"explain {sql}", bound).close()
                except (sqlite3.Error, sqlite3.Warning, MemoryError) as error:
                    raise WorldError(
                        f"World {world.name}, tool {tool.tool.name}, step {number}: {error}.",
                        way_out="Programs read and change the world's own tables, and nothing else.",
                    ) from error
    finally:
        connection.close()


def _validator(tool: ToolSpec, where: str) -> Any:
    try:
        return jsonschema_rs.validator_for(tool.input_schema)
    except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError) as error:
        raise WorldError(f"{where}: the arguments are no JSON Schema: {error}.") from error


def _type(schema: Json) -> str:
    kind = schema.get("type") if isinstance(schema, dict) else None
    if isinstance(kind, list):
        return next((str(one) for one in kind if one != "null"), "")
    return str(kind or "")


def _coercions(output_schema: dict[str, Any] | None, *, many: bool) -> dict[str, Coercion]:
    if not output_schema:
        return {}
    row = output_schema.get("items", {}) if many else output_schema
    table: dict[str, Coercion] = {
        "boolean": bool,
        "array": json.loads,
        "object": json.loads,
        "number": float,
        "integer": _whole,
    }
    return {
        name: table[_type(schema)]
        for name, schema in row.get("properties", {}).items()
        if _type(schema) in table
    }


def _whole(value: Any) -> Json:
    return int(value) if isinstance(value, float) and value.is_integer() else value
