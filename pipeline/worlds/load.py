"""World files: YAML in the form of docs/worlds.md becomes a `World` record."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import date
from math import isfinite
from pathlib import Path
from typing import Any

import jsonschema_rs
import yaml
from pydantic import ValidationError

from pipeline.records import (
    ArgumentWords,
    Call,
    DeclaredError,
    Domain,
    EntityWords,
    Invariant,
    Json,
    PolicyRule,
    Provenance,
    Question,
    SqlProgram,
    Step,
    ToolAnnotations,
    ToolSpec,
    ToolWords,
    Witness,
    Words,
    World,
    WorldError,
)
from pipeline.worlds.sql import build_image
from pipeline.worlds.sql.outputs import with_output_schemas
from pipeline.yaml_files import parse_yaml

_WORLD_KEYS = {
    "name", "domain", "summary", "clock", "policy", "schema", "invariants", "seed", "lists", "generate", "tools",
    "words", "log_tables", "archetype",
}  # fmt: skip
_TOOL_KEYS = {
    "name", "title", "description", "read_only", "destructive", "idempotent", "arguments", "program", "returns", "try",
    "ask", "because", "confirm", "done", "each", "none",
}  # fmt: skip
_PERSON_KEYS = {"called", "said", "from", "known", "consent", "device"}
_SCHEMA_KEYS = {
    "type", "title", "description", "enum", "const", "default", "examples", "format", "pattern", "minLength",
    "maxLength", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "items", "minItems",
    "maxItems", "uniqueItems", "properties", "required", "additionalProperties", "anyOf", "oneOf", "allOf", "not",
}  # fmt: skip


def load_world(path: Path, author: str = "hand") -> World:
    """Reads a world file.

    Raises WorldError naming the file and the key that is missing, unknown or of the wrong form.
    """
    try:
        data = parse_yaml(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise WorldError(f"{path} cannot be read as YAML: {error}.") from error
    if not isinstance(data, dict):
        raise WorldError(f"{path} is no world: it holds no mapping.", way_out="See docs/worlds.md.")
    return parse_world(data, where=str(path), author=author)


def parse_world(data: Mapping[str, Any], *, where: str, author: str = "hand") -> World:
    """A world from the content of a world file; `where` names it in errors."""
    _only(data, _WORLD_KEYS, where)
    missing = {"name", "domain", "clock", "schema", "tools"} - set(data)
    if missing:
        raise WorldError(f"{where}: missing {', '.join(sorted(missing))}.", way_out="See docs/worlds.md.")
    if not isinstance(data["tools"], list) or not all(isinstance(tool, Mapping) for tool in data["tools"]):
        raise WorldError(f"{where}: tools is no list of tools.", way_out="See docs/worlds.md.")
    for path, problem in _odd_values(data):
        raise WorldError(f"{where}: {problem} at {'.'.join(map(str, path))}.", way_out="Write it in quotes.")
    try:
        world = _world(data, where, author)
        returns = {tool["name"]: dict(tool.get("returns") or {}) for tool in data["tools"]}
    except (ValidationError, TypeError, AttributeError, KeyError, ValueError) as error:
        raise WorldError(f"{where}: {_first_problem(error)}.", way_out="See docs/worlds.md.") from error
    _check_sources(world, where)
    return with_output_schemas(world, returns)


def _odd_values(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], str]]:
    """What YAML makes of unquoted dates, numbers that do not end, and words such as `on` used as keys."""
    if isinstance(value, date):
        if path != ("clock",):
            yield path, "an unquoted date"
    elif isinstance(value, float) and not isfinite(value):
        yield path, "a number without an end"
    elif isinstance(value, Mapping):
        for key, item in value.items():
            if not isinstance(key, str):
                yield path, f"the key {key!r}, which is no text,"
            yield from _odd_values(item, (*path, key))
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from _odd_values(item, (*path, number))


def _check_sources(world: World, where: str) -> None:
    tables = build_image(world).tables
    for tool, words in world.words.tools.items():
        for name, about in words.arguments.items():
            table, _, column = about.source.partition(".")
            if about.source and (table not in tables or column not in tables[table].columns):
                raise WorldError(
                    f"{where}, tool {tool}, argument {name}: `from` names {about.source!r}, which does not exist.",
                    way_out="Write table.column.",
                )


def _first_problem(error: Exception) -> str:
    if isinstance(error, ValidationError):
        one = error.errors()[0]
        place = ".".join(str(part) for part in one["loc"])
        return f"{place}: {one['msg']}"
    return f"{type(error).__name__}: {error}"


def _only(data: Mapping[str, Any], known: set[str], where: str) -> None:
    unknown = set(data) - known
    if unknown:
        raise WorldError(
            f"{where}: unknown key {', '.join(sorted(map(str, unknown)))}.", way_out="See docs/worlds.md."
        )


def _world(data: Mapping[str, Any], where: str, author: str) -> World:
    tools = [
        _tool(one, f"{where}, tool {one.get('name', '?')}", str(data["domain"]), author)
        for one in data["tools"]
    ]
    names = [tool.name for tool in tools]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise WorldError(f"{where}: two tools are named {sorted(twice)[0]!r}.")
    return World(
        name=data["name"],
        domain=Domain(path=data["domain"], parent=str(data["domain"]).rpartition("/")[0] or None),
        summary=data.get("summary", ""),
        archetype=data.get("archetype", "hand"),
        clock=str(data["clock"]),
        schema_sql=data["schema"],
        seed={table: tuple(rows or ()) for table, rows in (data.get("seed") or {}).items()},
        lists={name: tuple(items) for name, items in (data.get("lists") or {}).items()},
        generate=tuple(data.get("generate") or ()),
        policy=tuple(PolicyRule(**rule) for rule in data.get("policy") or ()),
        invariants=tuple(Invariant(**one) for one in data.get("invariants") or ()),
        tools=tuple(tools),
        log_tables=tuple(data.get("log_tables") or ()),
        words=_words(data.get("words") or {}, data["tools"], where),
    )


def _tool(data: Mapping[str, Any], where: str, domain: str, author: str) -> ToolSpec:
    _only(data, _TOOL_KEYS, where)
    for path in _nulls({key: value for key, value in data.items() if key not in ("try", "program")}):
        raise WorldError(f"{where}: {'.'.join(path)} is empty.", way_out="Give it a value or leave it out.")
    steps, errors, witnesses = [], [], list(_witnesses(data.get("try"), None, where))
    for number, step in enumerate(data.get("program") or (), 1):
        if not isinstance(step, Mapping):
            raise WorldError(f"{where}, step {number}: it is no mapping.")
        kind = next((key for key in ("require", "do", "returns_one", "returns_many") if key in step), None)
        if kind is None:
            raise WorldError(f"{where}, step {number}: it is none of require, do, returns_one, returns_many.")
        _only(step, {kind, "error", "try"}, f"{where}, step {number}")
        error = DeclaredError(**step["error"]) if "error" in step else None
        steps.append(Step(kind=kind, sql=str(step[kind]).strip(), error=error))
        if error is not None:
            if error not in errors:
                errors.append(error)
            witnesses.extend(_witnesses(step.get("try"), error.code, where))
    arguments: Mapping[str, Any] = data.get("arguments") or {}
    for name, schema in arguments.items():
        _check_argument(name, schema, where)
    read_only = bool(data.get("read_only", False))
    return ToolSpec(
        name=data["name"],
        title=data.get("title", ""),
        description=" ".join(str(data.get("description", "")).split()),
        input_schema=_input_schema(arguments),
        annotations=ToolAnnotations(
            read_only=read_only,
            destructive=bool(data.get("destructive", False)),
            idempotent=bool(data.get("idempotent", read_only)),
        ),
        errors=tuple(errors),
        provenance=Provenance(source="evolved", domain=domain, author=author),
        program=SqlProgram(steps=tuple(steps), witnesses=tuple(witnesses)),
    )


def _nulls(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    if value is None:
        yield path
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _nulls(item, (*path, str(key)))
    elif isinstance(value, list):
        for item in value:
            yield from _nulls(item, path)


def _check_argument(name: str, schema: Any, where: str) -> None:
    """Refuses keys that mean nothing, and values that the schema itself would refuse: YAML reads `on` as true."""
    place = f"{where}, argument {name}"
    if not isinstance(schema, Mapping):
        raise WorldError(f"{place}: it is no mapping.", way_out="Write {type: string}, for instance.")
    _only(schema, _SCHEMA_KEYS | _PERSON_KEYS | {"optional"}, place)
    plain = {key: value for key, value in schema.items() if key in _SCHEMA_KEYS - {"enum", "default"}}
    try:
        validator = jsonschema_rs.validator_for(plain)
    except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError) as error:
        raise WorldError(f"{place}: it is no JSON Schema: {error}.") from error
    if not isinstance(schema.get("enum", []), list):
        raise WorldError(f"{place}: enum is no list.")
    for value in [*schema.get("enum", ()), *([schema["default"]] if "default" in schema else [])]:
        if not validator.is_valid(value):
            raise WorldError(
                f"{place}: the value {value!r} does not fit its type.",
                way_out="Put words such as on and no in quotes.",
            )


def _input_schema(arguments: Mapping[str, Any]) -> dict[str, Json]:
    properties = {
        name: {key: value for key, value in schema.items() if key not in _PERSON_KEYS}
        for name, schema in arguments.items()
    }
    required = [
        name
        for name, schema in properties.items()
        if "default" not in schema and not schema.pop("optional", False)
    ]
    for schema in properties.values():
        schema.pop("optional", None)
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def _witnesses(entry: Any, error: str | None, where: str) -> list[Witness]:
    if entry is None:
        return []
    if isinstance(entry, str):
        return [Witness(error=error, query=entry.strip())]
    if isinstance(entry, Mapping):
        entry = [entry]
    if not isinstance(entry, list):
        raise WorldError(f"{where}: `try` is neither SQL nor a list of arguments.")
    found = []
    for one in entry:
        if isinstance(one, str):
            found.append(Witness(error=error, query=one.strip()))
        elif "after" in one or ("arguments" in one and set(one) <= {"after", "arguments"}):
            before = tuple(
                Call(tool=c["tool"], arguments=_given(c.get("arguments"))) for c in one.get("after") or ()
            )
            found.append(Witness(error=error, arguments=_given(one.get("arguments")), before=before))
        else:
            found.append(Witness(error=error, arguments=_given(one)))
    return found


def _given(arguments: Mapping[str, Json] | None) -> dict[str, Json]:
    """Null means not given, as NULL does in a query."""
    return {name: value for name, value in (arguments or {}).items() if value is not None}


def _words(data: Mapping[str, Any], tools: list[Mapping[str, Any]], where: str) -> Words:
    _only(data, {"agent", "entities", "asides", "policy_questions", "out_of_scope"}, f"{where}, words")
    return Words(
        tools={tool["name"]: _tool_words(tool) for tool in tools},
        entities={name: EntityWords(**_tuples(one)) for name, one in (data.get("entities") or {}).items()},
        agent=_texts(data.get("agent")),
        asides=_texts(data.get("asides")),
        policy_questions=tuple(_question(one) for one in data.get("policy_questions") or ()),
        out_of_scope=tuple(_question(one) for one in data.get("out_of_scope") or ()),
    )


def _tool_words(tool: Mapping[str, Any]) -> ToolWords:
    arguments = {}
    for name, schema in (tool.get("arguments") or {}).items():
        source = str(schema.get("from", ""))
        arguments[name] = ArgumentWords(
            called=schema.get("called", ""),
            said=_texts(schema.get("said")),
            source=source,
            known=bool(schema.get("known", not source)),
            consent=schema.get("consent", ""),
            device=schema.get("device", ""),
        )
    return ToolWords(
        ask=_texts(tool.get("ask")),
        because=_texts(tool.get("because")),
        confirm=_texts(tool.get("confirm")),
        done=_texts(tool.get("done")),
        each=tool.get("each", ""),
        none=_texts(tool.get("none")),
        arguments=arguments,
    )


def _question(data: Mapping[str, Any]) -> Question:
    return Question(ask=_texts(data["ask"]), answer=_texts(data["answer"]), values=_texts(data.get("values")))


def _texts(value: Any) -> tuple[str, ...]:
    if value is None:
        return ()
    if isinstance(value, str | int | float):
        return (str(value),)
    return tuple(re.sub(r"\s+", " ", str(one)).strip() for one in value)


def _tuples(data: Mapping[str, Any]) -> dict[str, Any]:
    return {key: _texts(value) if isinstance(value, list) else value for key, value in data.items()}
