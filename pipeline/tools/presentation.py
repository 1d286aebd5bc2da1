"""A tool as it is shown to a model: whole where it is of ordinary size, cut with a marker where it is not.

Only what is shown is cut; the stored tool stays whole, and calls are checked against it.
"""

from __future__ import annotations

from typing import Any

from pipeline.records import Json, ToolSpec

MARKER = "… [cut: {} more]"


def shown(tool: ToolSpec, description: int = 4000, enum: int = 60) -> dict[str, Any]:
    """The entry of an OpenAI `tools` list: texts of at most `description` characters, and of longer enums the first
    `enum` values with a word about the rest in the argument's description."""
    function = tool.for_model()["function"]
    return {
        "type": "function",
        "function": {
            **function,
            "description": _cut(function["description"], description),
            "parameters": _shown(function["parameters"], description, enum),
        },
    }


def _cut(text: str, length: int) -> str:
    if len(text) <= length:
        return text
    return f"{text[:length].rstrip()} {MARKER.format(f'{len(text) - length} characters')}"


def _shown(value: Json, description: int, enum: int) -> Json:
    if isinstance(value, list):
        return [_shown(item, description, enum) for item in value]
    if not isinstance(value, dict):
        return value
    result = {key: _shown(item, description, enum) for key, item in value.items()}
    if isinstance(result.get("description"), str):
        result["description"] = _cut(result["description"], description)
    values = value.get("enum")
    if isinstance(values, list) and len(values) > enum:
        # An enum cut short would forbid the other values: it becomes a sentence.
        del result["enum"]
        some = ", ".join(str(item) for item in values[:enum])
        text = (
            f"{result.get('description', '')} One of: {some} {MARKER.format(f'{len(values) - enum} values')}"
        )
        result["description"] = text.strip()
    return result
