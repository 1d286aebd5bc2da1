"""A tool's program, made ready to run: checked statements, argument binding, result coercion."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jsonschema_rs

from pipeline.records import DeclaredError, Json, Step, ToolSpec, WorldError
from pipeline.worlds.sql.guard import check_statement

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
        """Why the arguments do not fit the input schema, or None."""
        if self.validator.is_valid(arguments):
            return None
        errors = []
        for error in self.validator.iter_errors(arguments):
            where = "/".join(str(part) for part in error.instance_path)
            errors.append(f"{where}: {error.message}" if where else str(error.message))
        return "; ".join(errors[:5])

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


def compile_tool(tool: ToolSpec, world: str) -> Compiled:
    """Checks the shape of a program and prepares it.

    Raises WorldError naming the tool and step: several results, a result that is not last, text that is no single
    query, an argument schema that is no JSON Schema.
    """
    where = f"World {world}, tool {tool.name}"
    if tool.program is None:
        raise WorldError(f"{where}: it has no program.", way_out="Give it `program:` steps.")
    steps = tool.program.steps
    if not steps or not steps[-1].kind.startswith("returns"):
        raise WorldError(f"{where}: the last step must be returns_one or returns_many.")
    for number, step in enumerate(steps, 1):
        _check_step(step, f"{where}, step {number}", last=number == len(steps))
    properties = tool.input_schema.get("properties", {})
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


def _check_step(step: Step, where: str, *, last: bool) -> None:
    if step.kind.startswith("returns") and not last:
        raise WorldError(f"{where}: only the last step may return.")
    if step.kind == "require" and step.error is None:
        raise WorldError(f"{where}: a require needs an error with code and message.")
    check_statement(step.sql, writes=step.kind == "do", where=where)


def _validator(tool: ToolSpec, where: str) -> Any:
    try:
        return jsonschema_rs.validator_for(tool.input_schema)
    except (jsonschema_rs.ValidationError, ValueError) as error:
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
