"""Results of a simulator, held against the output schema, the state and what can be recomputed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

import jsonschema_rs

from pipeline.records import Failure, Json, ToolSpec, WorldError
from pipeline.worlds.simulated.patches import Problem
from pipeline.worlds.sql import SqlWorld, quoted
from pipeline.worlds.sql.schema import Table

FORMULA = "x-formula"
"""In an output schema beside a property: the SQL expression over `:field`s of the same object, and arguments, that its
value has to equal."""
_CODE = re.compile(r"[A-Z][A-Z0-9_]{1,39}")
_ENGINES_OWN = frozenset(Failure) - {Failure.INVALID_ARGUMENTS, Failure.CONSTRAINT, Failure.TOOL_ERROR}
"""Codes of outages, limits and defects: those come from fault plans and from the engine, never from a simulator."""


@lru_cache(maxsize=4_096)
def _compiled(schema: str) -> Any:
    return jsonschema_rs.validator_for(json.loads(schema))


def validator(schema: Mapping[str, Any]) -> Any:
    """A compiled schema, made once. Raises ValueError for one that is no JSON Schema."""
    try:
        return _compiled(json.dumps(schema))
    except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError) as error:
        raise ValueError(f"no JSON Schema: {error}") from error


def complaints(schema: Mapping[str, Any], value: Json, most: int = 3) -> str:
    """Where a value does not fit a schema; empty when it does."""
    try:
        found = validator(schema)
        if found.is_valid(value):
            return ""
        errors = []
        for error in found.iter_errors(value):
            where = "/".join(map(str, error.instance_path))
            errors.append(f"{where or 'the whole'}: {str(error.message)[:200]}")
            if len(errors) == most:
                break
        return "; ".join(errors)
    except (ValueError, OverflowError) as problem:
        return f"no JSON: {problem}"


def error_problem(tool: ToolSpec, code: str) -> Problem | None:
    """Whether a tool may refuse with a code."""
    declared = [error.code for error in tool.errors]
    if code in declared:
        return None
    if code in _ENGINES_OWN:
        return Problem("error", f"{code} is not yours to give: outages and limits come from elsewhere.")
    if declared:
        return Problem("error", f"{tool.name} has no error {code}; it has {', '.join(declared)}.")
    if not _CODE.fullmatch(code):
        return Problem("error", f"{code!r} is no code; write one like NOT_FOUND.")
    return None


def result_problem(
    tool: ToolSpec, value: Json, arguments: Mapping[str, Json], live: SqlWorld
) -> Problem | None:
    """Whether a result fits its schema, and its arithmetic is right where the schema says how it is made."""
    if tool.output_schema is None:
        return None
    wrong = complaints(tool.output_schema, value)
    if wrong:
        return Problem("schema", f"The result does not fit the output schema. {wrong}")
    return next(_miscounted(tool.output_schema, value, arguments, live), None)


def _miscounted(
    schema: Json, value: Json, arguments: Mapping[str, Json], live: SqlWorld
) -> Iterator[Problem]:
    if not isinstance(schema, dict):
        return
    if isinstance(value, list):
        for item in value:
            yield from _miscounted(schema.get("items"), item, arguments, live)
    if not isinstance(value, dict):
        return
    for name, about in (schema.get("properties") or {}).items():
        if name not in value or not isinstance(about, dict):
            continue
        formula = about.get(FORMULA)
        if isinstance(formula, str) and value[name] is not None:
            wanted = _computed(formula, {**arguments, **value}, live)
            if isinstance(wanted, Problem):
                yield wanted
            elif not same(wanted, value[name]):
                yield Problem("arithmetic", f"{name} is {value[name]}, but {formula} gives {wanted}.")
        yield from _miscounted(about, value[name], arguments, live)


def _computed(formula: str, values: Mapping[str, Json], live: SqlWorld) -> Json | Problem:
    bound = {name: json.dumps(one) if isinstance(one, dict | list) else one for name, one in values.items()}
    used = {name: bound.get(name) for name in re.findall(r":(\w+)", formula)}
    try:
        return live.ask(f"select {formula} as value", used, limit=1)[0]["value"]
    except WorldError as error:
        return Problem("arithmetic", f"The declared formula {formula!r} cannot be computed: {error.what}")


# ---- agreement with the state ---------------------------------------------------------------------------------------


def state_problem(live: SqlWorld, value: Json, before: Mapping[tuple[str, str], bool]) -> Problem | None:
    """Whether every row that a result names is there, and holds what the result says.

    Runs in the new state. `before`: rows named by the result that existed before the call (`named`), since a result
    may name what was just deleted.
    """
    tables = live.runtime.image.tables
    for table, key, record in _named(value, tables):
        row = _row(live, tables[table], key)
        if row is None:
            if not before.get((table, str(key))):
                return Problem("state", f"The result names {table} {key}, which does not exist.")
            continue
        wrong = [column for column in record if column in row and _contradicts(record[column], row[column])]
        if wrong and len(_keys(record, tables)) == 1:
            column = wrong[0]
            return Problem(
                "state",
                f"The result says {column} of {table} {key} is {_short(record[column])}, but after the patch the"
                f" table holds {_short(row[column])}.",
            )
    return None


def named(live: SqlWorld, value: Json) -> dict[tuple[str, str], bool]:
    """Which of the rows that a result names exist in the present state."""
    tables = live.runtime.image.tables
    return {
        (table, str(key)): _row(live, tables[table], key) is not None
        for table, key, _ in _named(value, tables)
    }


def _named(value: Json, tables: Mapping[str, Table]) -> Iterator[tuple[str, Json, dict[str, Json]]]:
    if isinstance(value, list):
        for item in value:
            yield from _named(item, tables)
    elif isinstance(value, dict):
        for table, column in _keys(value, tables).items():
            yield table, value[column], value
        for item in value.values():
            yield from _named(item, tables)


def _keys(record: Mapping[str, Json], tables: Mapping[str, Table]) -> dict[str, str]:
    """The tables whose rows a record names: by a key column whose name belongs to no other table's key."""
    owners: dict[str, list[str]] = {}
    for table in tables.values():
        if len(table.key) == 1:
            owners.setdefault(table.columns[table.key[0]], []).append(table.name)
    return {
        names[0]: column
        for column, names in owners.items()
        if len(names) == 1 and isinstance(record.get(column), str | int) and record[column] != ""
    }


def _row(live: SqlWorld, table: Table, key: Json) -> dict[str, Json] | None:
    columns = ",".join(map(quoted, table.columns))
    rows = live.rows_of(f"select {columns} from {quoted(table.name)} where {table.where}", [key])
    return dict(zip(table.columns, rows[0], strict=True)) if rows else None


def _contradicts(said: Json, held: Json) -> bool:
    """Whether a result says another value than the table holds. A value of another form may be another way to put it,
    or come from a joined row (`"Thuy Nguyen"` for `"B-1163"`, `"open"` for null), and is let through."""
    if said is None or held is None or same(held, said):
        return False
    numbers = isinstance(said, int | float) and isinstance(held, int | float)
    texts = isinstance(said, str) and isinstance(held, str)
    return numbers or (texts and _form(str(said)) == _form(str(held)))


def _form(text: str) -> str:
    """What a text looks like: words, numbers and marks, without how many words."""
    plain = re.sub(r"[^\W\d_]+", "a", re.sub(r"\d+", "9", text))
    return re.sub(r"a(?:[\s_]+a)*", "a", plain)


def same(left: Json, right: Json) -> bool:
    """Equality by value between SQLite and JSON: 1 is true, 25 is 25.0, JSON text is what it says."""
    if isinstance(left, str) and isinstance(right, dict | list):
        return bool(_loaded(left) == right)
    if isinstance(right, str) and isinstance(left, dict | list):
        return bool(_loaded(right) == left)
    if isinstance(left, int | float) and isinstance(right, int | float):
        exact = isinstance(left, int) and isinstance(right, int)
        return left == right if exact else abs(left - right) <= 0.005
    return bool(left == right)


def _loaded(text: str) -> Json:
    try:
        return json.loads(text)
    except ValueError:
        return None


def _short(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False)[:80]
