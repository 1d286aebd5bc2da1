"""The root of an input schema: an object without combinators, as function calling wants it."""

from __future__ import annotations

import json
from typing import Any

from pipeline.tools.notes import Notes
from pipeline.tools.schemas import BadSchema

COMBINATORS = ("anyOf", "oneOf", "allOf", "not", "enum", "const", "if", "then", "else")

Schema = dict[str, Any]


def as_arguments(schema: Schema, notes: Notes) -> Schema:
    """A converted schema as the schema of a call's arguments: `type: object`, `properties`, no combinator.

    Branches of `allOf` are joined exactly where they only add properties; `anyOf` and `oneOf` become one object that
    admits every branch, and perhaps more, which is noted as loosened. Raises BadSchema when the root is no object.
    """
    result = _as_object(schema, schema.get("$defs", {}), notes, 0)
    if "type" not in schema:
        notes.add("type object added")
    if "properties" not in schema:
        notes.add("properties added")
    properties = result.pop("properties", {})
    return {
        "type": "object",
        "properties": properties,
        **{key: result[key] for key in result if key != "type"},
    }


def _as_object(schema: Schema, defs: Schema, notes: Notes, depth: int) -> Schema:
    if "$ref" in schema and depth < 5:
        target = defs.get(schema["$ref"].rpartition("/")[2], {})
        schema = {**target, **{key: value for key, value in schema.items() if key != "$ref"}}
    types = schema.get("type", "object")
    if "object" not in ([types] if isinstance(types, str) else types):
        raise BadSchema(f"the root is of type {types}, but arguments are an object")
    result = {key: value for key, value in schema.items() if key not in COMBINATORS}
    result["type"] = "object"
    for branch in schema.get("allOf", []):
        result = _both(result, _as_object(branch, defs, notes, depth + 1), notes)
    for key in ("anyOf", "oneOf"):
        if key in schema:
            result = _both(result, _either(schema[key], defs, notes, depth), notes)
            notes.add(f"root {key} loosened to one object")
    for key in ("not", "enum", "const", "if"):
        if key in schema:
            notes.add(f"root {key} loosened")
    if "then" in schema or "else" in schema:
        branches = [schema.get(key, {}) for key in ("then", "else")]
        result = _both(result, {**_either(branches, defs, notes, depth), "required": []}, notes)
    return result


def _either(branches: list[Schema], defs: Schema, notes: Notes, depth: int) -> Schema:
    """One object that admits what any of the branches admits."""
    objects: list[Schema] = []
    reason = ""
    for branch in branches:
        try:
            objects.append(_as_object(branch, defs, notes, depth + 1))
        except BadSchema as error:
            reason = str(error)
            notes.add("a branch of the root that is no object left out")
    if not objects:
        raise BadSchema(reason)
    variants: dict[str, list[Schema]] = {}
    for item in objects:
        for name, value in item.get("properties", {}).items():
            variants.setdefault(name, []).append(value)
    result: Schema = {
        "type": "object",
        "properties": {name: _any_of(values) for name, values in variants.items()},
        "required": [
            name
            for name in objects[0].get("required", [])
            if all(name in item.get("required", []) for item in objects)
        ],
    }
    if all(item.get("additionalProperties") is False for item in objects):
        result["additionalProperties"] = False
    return result


def _both(left: Schema, right: Schema, notes: Notes) -> Schema:
    """The conjunction of two objects; what only one of them closes is opened, since the other may need it."""
    properties = dict(left.get("properties", {}))
    for name, value in right.get("properties", {}).items():
        known = properties.get(name)
        properties[name] = (
            value if known in (None, {}, value) else known if not value else {"allOf": [known, value]}
        )
    required = list(dict.fromkeys([*left.get("required", []), *right.get("required", [])]))
    result = {**right, **left, "properties": properties}
    result.pop("required", None)
    if required:
        result["required"] = required
        result["properties"] = {**{name: {} for name in required if name not in properties}, **properties}
    if result.get("additionalProperties") is False and set(properties) - _closed_names(left, right):
        notes.add("additionalProperties of a joined object opened")
        del result["additionalProperties"]
    return result


def _closed_names(*parts: Schema) -> set[str]:
    """Properties that every closed part declares."""
    names = [set(part.get("properties", {})) for part in parts if part.get("additionalProperties") is False]
    return set.intersection(*names) if names else set()


def _any_of(values: list[Schema]) -> Schema:
    unique = list({json.dumps(value, sort_keys=True): value for value in values}.values())
    if len(unique) == 1:
        return unique[0]
    if all(set(value) <= {"const", "type"} and "const" in value for value in unique):
        return {"enum": [value["const"] for value in unique]}
    return {"anyOf": unique}
