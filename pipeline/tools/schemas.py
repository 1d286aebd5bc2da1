"""JSON Schemas as servers send them, made into self-contained draft 2020-12 objects.

Nothing is fetched. A reference to a definition that does not contain itself is written out in place; one that does
stays a `$ref` into the root's `$defs`. Whatever cannot be kept is opened (to the schema that allows everything) or
dropped, and noted; the caller keeps the original. Walks by position, so a property named `type` is just a property.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import jsonschema_rs

from pipeline.records import Json
from pipeline.tools.keywords import (
    ANNOTATIONS,
    EXCLUSIVE,
    INTERNALS,
    MANY,
    NAMED,
    ONE,
    SIMPLE,
    TELLING,
    is_known,
    subschemas,
    type_name,
)
from pipeline.tools.notes import Notes
from pipeline.tools.references import REFERENCES, References

MAX_DEPTH = 100
"""Levels of JSON nesting, about fifty of schemas."""
MAX_CHARACTERS = 256_000
_MAX_NODES = 20_000


class BadSchema(Exception):
    """A schema that no repair makes usable; the message is the reason."""


def convert(schema: Json, notes: Notes) -> dict[str, Any]:
    """The schema as a self-contained draft 2020-12 schema of any root type, not yet `settle`d. Raises BadSchema."""
    check_depth(schema)
    size = len(json.dumps(schema, ensure_ascii=False))
    if size > MAX_CHARACTERS:
        raise BadSchema(f"the schema has {size} characters, more than {MAX_CHARACTERS}")
    if isinstance(schema, bool):
        return {} if schema else {"not": {}}
    if not isinstance(schema, dict):
        raise BadSchema(f"the schema is {_kind(schema)}, not an object")
    if INTERNALS & set(schema) and not TELLING & set(schema):
        raise BadSchema("the schema is a validation library's own object, not JSON Schema")
    for inline in (True, False):
        noted = Notes(notes.subject)
        walk = _Walk(schema, noted, inline)
        try:
            result = walk.run()
        except _TooLarge:
            continue
        notes.merge(noted)
        if not inline:
            notes.add("references kept, since writing them out would grow the schema too much")
        return result
    raise BadSchema(f"the schema has more than {_MAX_NODES} parts")


def check_depth(value: Json) -> None:
    """Raises BadSchema for a value nested too deep; safe on any depth."""
    stack = [(value, 0)]
    while stack:
        item, depth = stack.pop()
        if depth > MAX_DEPTH:
            raise BadSchema(f"the schema is nested deeper than {MAX_DEPTH} levels")
        if isinstance(item, dict):
            stack += [(child, depth + 1) for child in item.values()]
        elif isinstance(item, list):
            stack += [(child, depth + 1) for child in item]


def _compile(schema: dict[str, Any]) -> None:
    try:
        jsonschema_rs.Draft202012Validator(schema)
    except (ValueError, jsonschema_rs.ValidationError, RecursionError) as error:
        raise BadSchema(f"not valid under draft 2020-12: {str(error).splitlines()[0][:200]}") from error


def _kind(value: Json) -> str:
    names = {dict: "an object", list: "an array", str: "a string", bool: "a boolean", type(None): "null"}
    return names.get(type(value), "a number")


class _TooLarge(Exception):
    pass


@dataclass
class _Walk:
    """One conversion of one document."""

    root: dict[str, Any]
    notes: Notes
    inline: bool
    nodes: int = 0
    references: References = field(init=False)

    def __post_init__(self) -> None:
        self.references = References(self.root)

    def run(self) -> dict[str, Any]:
        result = self.schema(self.root, "", 0)
        defs: dict[str, Any] = {}
        while todo := [pointer for pointer, name in self.references.names.items() if name not in defs]:
            for pointer in todo:
                name = self.references.names[pointer]
                defs[name] = self.schema(self.references.target(pointer), f"/$defs/{name}", 0)
        if set(result) == {"$ref"}:
            result = dict(defs[result["$ref"].rpartition("/")[2]])
        if defs:
            result["$defs"] = defs
        return result

    def schema(self, raw: Json, path: str, depth: int) -> dict[str, Any]:
        self.nodes += 1
        if self.nodes > _MAX_NODES or depth > MAX_DEPTH // 2:
            raise _TooLarge
        if isinstance(raw, bool):
            self.notes.add("boolean schema written as an object", path)
            return {} if raw else {"not": {}}
        if not isinstance(raw, dict):
            self.notes.add(f"a schema that is {_kind(raw)} opened", path)
            return {}
        reference = next((raw[key] for key in REFERENCES if key in raw), None)
        result = self.keywords(raw, path, depth)
        if reference is not None:
            result = self.referred(reference, result, path, depth)
        return _nullable(raw, result, self.notes, path)

    def keywords(self, raw: dict[str, Any], path: str, depth: int) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key, value in raw.items():
            self.keyword(result, key, value, path, depth)
        for key in [key for key in raw if not is_known(key)]:
            self.notes.add(f"unknown keyword {key[:40]!r} dropped", path)
        self.requirements(raw, result, path)
        _old_drafts(raw, result, self, path, depth)
        _agree(result, self.notes, path)
        return result

    def keyword(self, result: dict[str, Any], key: str, value: Json, path: str, depth: int) -> None:
        below = f"{path}/{key}"
        if key == "type":
            _type(value, result, self.notes, path)
        elif key in ONE:
            if key == "items" and isinstance(value, list):
                return
            if isinstance(value, bool):
                result[key] = value if key != "items" or not value else {}
            elif isinstance(value, dict):
                result[key] = self.schema(value, below, depth + 1)
            elif value is not None:
                self.notes.add(f"{key} that is {_kind(value)} dropped", path)
        elif key in MANY:
            branches = [value] if isinstance(value, dict) else value
            if isinstance(branches, list) and branches:
                result[key] = [
                    self.schema(item, f"{below}/{index}", depth + 1) for index, item in enumerate(branches)
                ]
            else:
                self.notes.add(f"empty {key} dropped", path)
        elif key in NAMED:
            if isinstance(value, dict):
                result[key] = {
                    name: self.schema(item, f"{below}/{name}", depth + 1)
                    for name, item in value.items()
                    if key != "patternProperties" or self.is_pattern(name, path)
                }
            else:
                self.notes.add(f"{key} that is {_kind(value)} dropped", path)
        elif key in SIMPLE and not (key in EXCLUSIVE and isinstance(value, bool)):
            kept = SIMPLE[key](value)
            if kept is None:
                self.notes.add(f"{key} that is {_kind(value)} dropped", path)
            elif key != "pattern" or self.is_pattern(kept[0], path):
                result[key] = kept[0]

    def is_pattern(self, pattern: str, path: str) -> bool:
        try:
            jsonschema_rs.Draft202012Validator({"pattern": pattern})
        except (ValueError, jsonschema_rs.ValidationError):
            self.notes.add(f"invalid pattern {pattern[:60]!r} dropped", path)
            return False
        return True

    def requirements(self, raw: dict[str, Any], result: dict[str, Any], path: str) -> None:
        """`required` as a list of known names; the stray boolean inside a property moves to its parent."""
        given = raw.get("required")
        names = [name for name in given if isinstance(name, str)] if isinstance(given, list) else []
        properties = raw.get("properties")
        if isinstance(given, list) and len(names) < len(given):
            self.notes.add("required entries that are no names dropped", path)
        elif given is not None and not isinstance(given, list):
            self.notes.add(
                "required that is no list moved to the parent"
                if given is True
                else "required that is no list dropped",
                path,
            )
        if isinstance(properties, dict):
            names += [
                name
                for name, item in properties.items()
                if isinstance(item, dict) and item.get("required") is True
            ]
        names = list(dict.fromkeys(names))
        if not names:
            return
        result["required"] = names
        unknown = [name for name in names if name not in result.get("properties", {})]
        if unknown and isinstance(properties, dict):
            self.notes.add(f"required but undeclared argument {unknown[0][:40]!r} declared", path)
            result["properties"] = {**result.get("properties", {}), **{name: {} for name in unknown}}

    def referred(self, reference: Json, beside: dict[str, Any], path: str, depth: int) -> dict[str, Any]:
        pointer = self.references.pointer(reference)
        if pointer is None:
            remote = isinstance(reference, str) and not reference.startswith("#")
            self.notes.add(
                f"{'remote' if remote else 'dangling'} reference {str(reference)[:80]!r} opened", path
            )
            return beside
        if self.references.is_recursive(pointer):
            self.notes.add("recursion kept as a reference", path)
        elif self.inline:
            target = self.schema(self.references.target(pointer), path, depth + 1)
            if all(key in ANNOTATIONS for key in beside):
                return {**target, **beside}
            return {**beside, "allOf": [target, *beside.get("allOf", [])]}
        return {"$ref": f"#/$defs/{self.references.name(pointer)}", **beside}


def _nullable(raw: dict[str, Any], result: dict[str, Any], notes: Notes, path: str) -> dict[str, Any]:
    """OpenAPI's `nullable: true` in today's words."""
    if raw.get("nullable") is not True:
        return result
    notes.add("nullable written as a type", path)
    if isinstance(result.get("enum"), list) and None not in result["enum"]:
        result["enum"] = [*result["enum"], None]
    given = result.get("type")
    if given is not None:
        types = given if isinstance(given, list) else [given]
        result["type"] = [*types, "null"] if "null" not in types else given
    elif any(key in result for key in ("$ref", "anyOf", "oneOf", "allOf", "const")):
        outside = {key: result.pop(key) for key in ANNOTATIONS if key in result}
        return {"anyOf": [result, {"type": "null"}], **outside}
    return result


def _type(given: Json, result: dict[str, Any], notes: Notes, path: str) -> None:
    """Legal type names; an unknown one opens the schema."""
    if given is None:
        return
    names = given if isinstance(given, list) else [given]
    legal = [type_name(name) for name in names]
    if legal != names:
        notes.add(f"type {str(given)[:40]!r} repaired", path)
    kept = list(dict.fromkeys(name for name in legal if name))
    if kept and None not in legal:
        result["type"] = kept if len(kept) > 1 else kept[0]


def _agree(result: dict[str, Any], notes: Notes, path: str) -> None:
    """Arrays get `items`, and a type that excludes every value of the enum goes."""
    types = result.get("type", [])
    if "array" in ([types] if isinstance(types, str) else types) and "items" not in result:
        if "prefixItems" not in result:
            notes.add("items of an array added", path)
        result["items"] = {}
    enum = result.get("enum")
    if enum and types and not any(jsonschema_rs.is_valid({"type": types}, value) for value in enum):
        notes.add("type that none of the enum's values has dropped", path)
        for key in ("type", "items"):
            result.pop(key, None)


def _old_drafts(raw: dict[str, Any], result: dict[str, Any], walk: _Walk, path: str, depth: int) -> None:
    """Keywords of drafts 3 to 7 in today's words."""
    for exclusive, bound in EXCLUSIVE.items():
        if isinstance(raw.get(exclusive), bool):
            walk.notes.add(f"boolean {exclusive} converted", path)
            if raw[exclusive] and bound in result:
                result[exclusive] = result.pop(bound)
    if isinstance(raw.get("items"), list):
        walk.notes.add("list of items converted", path)
        if raw["items"]:
            result["prefixItems"] = [
                walk.schema(item, f"{path}/items/{index}", depth + 1)
                for index, item in enumerate(raw["items"])
            ]
        rest = raw.get("additionalItems", {})
        result["items"] = (
            rest if isinstance(rest, bool) else walk.schema(rest, f"{path}/additionalItems", depth + 1)
        )
    dependencies = raw.get("dependencies")
    if isinstance(dependencies, dict):
        walk.notes.add("dependencies converted", path)
        for name, value in dependencies.items():
            if isinstance(value, list):
                names = [item for item in value if isinstance(item, str)]
                result.setdefault("dependentRequired", {})[name] = names
            else:
                converted = walk.schema(value, f"{path}/dependencies/{name}", depth + 1)
                result.setdefault("dependentSchemas", {})[name] = converted
    if "example" in raw and "examples" not in result:
        result["examples"] = [raw["example"]]


def settle(schema: dict[str, Any], notes: Notes) -> dict[str, Any]:
    """The converted schema, without the defaults and examples that it refuses itself. Raises BadSchema if it does
    not compile."""
    _compile(schema)
    defs = {"$defs": schema["$defs"]} if "$defs" in schema else {}
    for path, item in list(subschemas(schema)):
        if "default" not in item and "examples" not in item:
            continue
        rule = {key: value for key, value in item.items() if key not in ANNOTATIONS}
        try:
            validator = jsonschema_rs.Draft202012Validator({**rule, **defs})
        except (ValueError, jsonschema_rs.ValidationError) as error:
            raise BadSchema(f"not valid under draft 2020-12: {str(error).splitlines()[0][:200]}") from error
        if "default" in item and not validator.is_valid(item["default"]):
            shown = json.dumps(item.pop("default"), ensure_ascii=False)[:40]
            notes.add(f"default {shown} that its schema refuses dropped", path)
        if "examples" in item:
            good = [value for value in item["examples"] if validator.is_valid(value)]
            if len(good) < len(item["examples"]):
                notes.add("examples that their schema refuses dropped", path)
                item["examples"] = good
            if not good:
                del item["examples"]
    return schema
