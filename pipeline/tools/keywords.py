"""The keywords of draft 2020-12: where schemas stand below them, and which values are legal."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from typing import Any

from pipeline.records import Json

TYPES = ("string", "number", "integer", "boolean", "object", "array", "null")
_ALIASES = {
    alias: name
    for name, aliases in {
        "string": "str text char date datetime uuid",
        "integer": "int int32 int64 long",
        "number": "float double decimal numeric",
        "boolean": "bool",
        "object": "dict map struct",
        "array": "list tuple set",
        "null": "none nil",
    }.items()
    for alias in aliases.split()
}
ONE = (
    *("items", "additionalProperties", "contains", "propertyNames", "not", "if", "then", "else"),
    *("unevaluatedItems", "unevaluatedProperties", "contentSchema"),
)
MANY = ("allOf", "anyOf", "oneOf", "prefixItems")
NAMED = ("properties", "patternProperties", "dependentSchemas")
ANNOTATIONS = ("title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly")
_COUNTS = (
    *("maxLength", "minLength", "maxItems", "minItems", "maxContains", "minContains"),
    *("maxProperties", "minProperties"),
)
EXCLUSIVE = {"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"}
_BOUNDS = ("maximum", "exclusiveMaximum", "minimum", "exclusiveMinimum", "multipleOf")
_SILENT = frozenset(
    {"$schema", "$comment", "$id", "id", "$anchor", "$dynamicAnchor", "$defs", "definitions", "$vocabulary"}
)
INTERNALS = {"_def", "_zod", "~standard"}
TELLING = {"type", "properties", "$ref", "allOf", "anyOf", "oneOf"}
_HANDLED = frozenset(
    {
        "$ref",
        "$dynamicRef",
        "$recursiveRef",
        "nullable",
        "example",
        "dependencies",
        "additionalItems",
        "required",
    }
)


Kept = tuple[Json] | None
"""A value worth keeping, in a tuple of one, since None itself may be a value."""


def _text(value: Json) -> Kept:
    return (value,) if isinstance(value, str) else None


def _prose(value: Json) -> Kept:
    return (
        (value,)
        if isinstance(value, str)
        else None
        if value is None
        else (json.dumps(value, ensure_ascii=False),)
    )


def _flag(value: Json) -> Kept:
    return (value,) if isinstance(value, bool) else None


def _number(value: Json) -> Kept:
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return (int(value) if float(value).is_integer() and abs(value) < 2**53 else value,)


def _step(value: Json) -> Kept:
    kept = _number(value)
    return kept if kept and kept[0] > 0 else None


def _bound(value: Json) -> Kept:
    return None if isinstance(value, bool) else _number(value)


def _count(value: Json) -> Kept:
    kept = _number(value)
    return kept if kept and isinstance(kept[0], int) and kept[0] >= 0 else None


def _enum(value: Json) -> Kept:
    if not isinstance(value, list) or not value:
        return None
    unique = {json.dumps(item, sort_keys=True): item for item in value}
    return (list(unique.values()),)


def _list(value: Json) -> Kept:
    if isinstance(value, dict):
        return (list(value.values()),)
    return (value,) if isinstance(value, list) else None


def _names(value: Json) -> Kept:
    if not isinstance(value, dict) or not all(isinstance(item, list) for item in value.values()):
        return None
    return ({name: [item for item in items if isinstance(item, str)] for name, items in value.items()},)


SIMPLE: dict[str, Callable[[Json], Kept]] = {
    "enum": _enum,
    "const": lambda value: (value,),
    "pattern": _text,
    "format": _text,
    "contentEncoding": _text,
    "contentMediaType": _text,
    "uniqueItems": _flag,
    "dependentRequired": _names,
    "title": _prose,
    "description": _prose,
    "default": lambda value: (value,),
    "examples": _list,
    **dict.fromkeys(("deprecated", "readOnly", "writeOnly"), _flag),
    **dict.fromkeys(_COUNTS, _count),
    **dict.fromkeys(_BOUNDS, _bound),
    "multipleOf": _step,
}


def is_known(key: str) -> bool:
    """Whether a key is a keyword of any draft, handled or left out on purpose."""
    return (
        key == "type"
        or key in ONE
        or key in MANY
        or key in NAMED
        or key in SIMPLE
        or key in _SILENT
        or key in _HANDLED
    )


def type_name(name: Json) -> str | None:
    """The legal type that a name stands for; None for a name that says nothing."""
    if not isinstance(name, str):
        return None
    return (
        name if name in TYPES else _ALIASES.get(name.lower(), name.lower() if name.lower() in TYPES else None)
    )


def subschemas(schema: Json, path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every schema in a converted schema, by position, with its path; the root first."""
    stack: list[tuple[str, Json]] = [(path, schema)]
    while stack:
        place, item = stack.pop()
        if not isinstance(item, dict):
            continue
        yield place, item
        stack += [(f"{place}/{key}", item[key]) for key in ONE if key in item]
        for key in MANY:
            stack += [(f"{place}/{key}/{index}", child) for index, child in enumerate(item.get(key, []))]
        for key in (*NAMED, "$defs"):
            stack += [(f"{place}/{key}/{name}", child) for name, child in item.get(key, {}).items()]
