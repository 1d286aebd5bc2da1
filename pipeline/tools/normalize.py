"""A tool as an MCP server listed it, made fit for function calling; or the reason why it cannot be."""

from __future__ import annotations

import hashlib
import json
import math
import re
import unicodedata
from collections.abc import Collection
from typing import Any

from pydantic import Field

from pipeline.records import Json, Provenance, Record, ToolAnnotations, ToolSpec, canonical_json
from pipeline.tools.arguments import COMBINATORS, as_arguments
from pipeline.tools.keywords import subschemas
from pipeline.tools.notes import Notes
from pipeline.tools.schemas import BadSchema, check_depth, convert, settle
from pipeline.tools.suspicion import suspicions

NAME = re.compile(r"^[a-zA-Z0-9_-]{1,64}$")
MAX_DESCRIPTION = 1_000_000
_KEPT_RAW = 20_000
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")


class Rejection(Record):
    """A listed tool that is not taken in."""

    name: str
    reason: str
    provenance: Provenance
    raw: str = Field(default="", max_length=_KEPT_RAW + 200)
    """JSON, cut with a marker when long."""


def normalize(raw_tool: Json, provenance: Provenance, taken_names: Collection[str]) -> ToolSpec | Rejection:
    """The tool under a legal name that is not in `taken_names` (names of its siblings), with legal schemas.

    What was changed or noticed stands in `flags`; the listing as it came in `original`, if anything was changed.
    Never raises on any JSON value.
    """
    try:
        check_depth(raw_tool)
    except BadSchema as error:
        name = raw_tool.get("name", "") if isinstance(raw_tool, dict) else ""
        return Rejection(name=_printable(str(name))[:200], reason=str(error), provenance=provenance)
    notes = Notes()
    raw = _cleaned(raw_tool, notes)
    name = raw.get("name") if isinstance(raw, dict) else None
    try:
        if not isinstance(raw, dict):
            raise BadSchema("the tool is no JSON object")
        if not isinstance(name, str) or not name.strip():
            raise BadSchema("the tool has no name")
        return _tool(raw, name, provenance, taken_names, notes)
    except BadSchema as error:
        text = canonical_json(raw)
        kept = text if len(text) <= _KEPT_RAW else f"{text[:_KEPT_RAW]} … cut, {len(text)} characters"
        return Rejection(name=str(name or "")[:200], reason=str(error), provenance=provenance, raw=kept)


def _tool(
    raw: dict[str, Any], name: str, provenance: Provenance, taken: Collection[str], notes: Notes
) -> ToolSpec:
    call_name = legal_name(name, taken, notes)
    description = _text(raw.get("description"), "description", notes)
    if not description.strip():
        notes.add("no description")
    if len(description) > MAX_DESCRIPTION:
        raise BadSchema(f"the description has {len(description)} characters, more than {MAX_DESCRIPTION}")
    input_notes, output_notes = Notes("input"), Notes("output")
    input_schema = _input(raw, input_notes)
    output_schema = _output(raw, output_notes)
    given = raw.get("annotations")
    hints: dict[str, Json] = given if isinstance(given, dict) else {}
    annotations = ToolAnnotations(
        read_only=hints.get("readOnlyHint") is True,
        destructive=hints.get("destructiveHint") is True and hints.get("readOnlyHint") is not True,
        idempotent=hints.get("idempotentHint") is True,
        open_world=hints.get("openWorldHint") is True,
    )
    title = _text(raw.get("title") or hints.get("title"), "title", notes)
    for phrase in suspicions(name, description, input_schema, annotations):
        notes.add(phrase)
    before = (name, raw.get("description", ""), raw.get("inputSchema"), raw.get("outputSchema"))
    changed = before != (call_name, description, input_schema, output_schema)
    spec = ToolSpec(
        name=call_name,
        title=title,
        description=description,
        input_schema=input_schema,
        output_schema=output_schema,
        annotations=annotations,
        provenance=provenance,
        original=raw if changed else None,
        flags=(*notes.flags(), *input_notes.flags(), *output_notes.flags()),
    )
    if problems := openai_problems(spec):
        raise BadSchema(f"not legal for function calling: {problems[0]}")
    return spec


def _text(value: Json, what: str, notes: Notes) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    notes.add(f"{what} that is no text written as JSON")
    return json.dumps(value, ensure_ascii=False)


def _input(raw: dict[str, Any], notes: Notes) -> dict[str, Any]:
    key = next((key for key in ("inputSchema", "input_schema", "parameters") if key in raw), None)
    schema = raw.get(key) if key else None
    if schema is None:
        notes.add(
            "inputSchema is null, read as no arguments"
            if key
            else "inputSchema is missing, read as no arguments"
        )
        return {"type": "object", "properties": {}}
    if schema is False:
        raise BadSchema("the input schema allows nothing")
    return settle(as_arguments(convert(schema, notes), notes), notes)


def _output(raw: dict[str, Any], notes: Notes) -> dict[str, Any] | None:
    """None when there is none, or when results cannot be checked beyond being JSON."""
    schema = raw.get("outputSchema", raw.get("output_schema"))
    if schema is None:
        return None
    try:
        result = settle(convert(schema, notes), notes)
    except BadSchema as error:
        notes.add(f"schema left out: {error}")
        return None
    if result.get("type") != "object" and "properties" not in result:
        notes.add("schema is no object's, results are not checked")
        return None
    return result


def legal_name(name: str, taken: Collection[str], notes: Notes) -> str:
    """A name of `[a-zA-Z0-9_-]{1,64}` that is not taken, the same for the same name and siblings."""
    plain = unicodedata.normalize("NFKD", name.strip()).encode("ascii", "ignore").decode()
    legal = re.sub(r"[^a-zA-Z0-9_-]+", "_", plain).strip("_") if not NAME.match(name) else name
    digest = hashlib.blake2b(name.encode("utf-8", "replace"), digest_size=4).hexdigest()
    letters = sum(character.isalnum() for character in name)
    if not legal or sum(character.isalnum() for character in legal) * 2 < letters:
        legal = f"{legal or 'tool'}_{digest}"
    if len(legal) > 64:
        legal = f"{legal[:55].rstrip('_-')}_{digest}"
    if legal != name:
        notes.add(f"name {name[:80]!r} made legal")
    lower = {other.lower(): other for other in taken}
    if legal.lower() not in lower:
        return legal
    same = lower[legal.lower()]
    notes.add(
        f"name taken by a sibling, {same!r}" if same == legal else f"name differs from {same!r} only in case"
    )
    number = 2
    while (numbered := f"{legal[: 63 - len(str(number))]}_{number}").lower() in lower:
        number += 1
    return numbered


def _printable(text: str) -> str:
    return _FORBIDDEN.sub("\ufffd", text)


def _cleaned(value: Json, notes: Notes) -> Json:
    """The value without characters and numbers that JSON, Parquet or DuckDB cannot hold."""
    if isinstance(value, str):
        clean = _printable(value)
        if clean != value:
            notes.add("forbidden characters replaced")
        return clean
    if isinstance(value, list | tuple):
        return [_cleaned(item, notes) for item in value]
    if isinstance(value, dict):
        return {_cleaned(str(key), notes): _cleaned(item, notes) for key, item in value.items()}
    if isinstance(value, float) and not math.isfinite(value):
        notes.add("a number that is not finite replaced by null")
        return None
    return value


def openai_problems(tool: ToolSpec) -> list[str]:
    """What an OpenAI-compatible endpoint would refuse; empty for every normalized tool."""
    problems = [] if NAME.match(tool.name) else [f"name {tool.name!r}"]
    schema = tool.input_schema
    if schema.get("type") != "object" or not isinstance(schema.get("properties"), dict):
        problems.append("the root is no object with properties")
    problems += [f"{key} at the root" for key in COMBINATORS if key in schema]
    for path, item in subschemas(schema):
        types = item.get("type", [])
        if "array" in ([types] if isinstance(types, str) else types) and "items" not in item:
            problems.append(f"an array without items at {path}")
    return problems
