"""Records as the form of a structured answer."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from pipeline.models.structured import Unreadable
from pipeline.records import ChatAnswer, Json, Outcome

R = TypeVar("R", bound=BaseModel)


@lru_cache(maxsize=128)
def schema_of(record: type[BaseModel]) -> dict[str, Any]:
    """The JSON Schema of `record`, with references resolved in place: not every endpoint knows `$ref`."""
    schema = record.model_json_schema()
    definitions = schema.pop("$defs", {})
    resolved: dict[str, Any] = _inline(schema, definitions)
    return resolved


def _inline(node: Json, definitions: dict[str, Any]) -> Any:
    if isinstance(node, list):
        return [_inline(item, definitions) for item in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        rest = {key: value for key, value in node.items() if key != "$ref"}
        return _inline({**definitions[node["$ref"].rpartition("/")[2]], **rest}, definitions)
    titled = isinstance(node.get("title"), str)
    return {
        key: _inline(value, definitions) for key, value in node.items() if not (key == "title" and titled)
    }


def read_record(answer: ChatAnswer, record: type[R]) -> R:
    """The structured answer as a record. Raises Unreadable, saying why there is none."""
    if answer.outcome is not Outcome.OK:
        said = answer.error or answer.refusal or answer.content[:200]
        raise Unreadable(f"No usable answer ({answer.outcome}): {said}")
    try:
        return record.model_validate(answer.parsed)
    except ValidationError as error:
        found = error.errors(include_input=False, include_url=False)[0]
        raise Unreadable(f"{'/'.join(map(str, found['loc']))}: {found['msg']}") from error
