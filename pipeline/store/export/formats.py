"""The formats: for each, the columns with their types and how a row is made.

Types are the same in every file, whatever is empty: each file is written with the explicit schema of its format. What
differs from row to row (tools, arguments) is JSON text. A new format is an entry of FORMATS.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import pyarrow as pa

from pipeline.records import canonical_json
from pipeline.store.export.conversation import Conversation, Turn, Unfit
from pipeline.store.tables import TABLES, Row

Format = Literal["chat", "sharegpt", "preference", "text", "adp"]

ABOUT = pa.schema(
    [
        *(
            (name, pa.string())
            for name in ("run", "task", "world", "world_id", "skeleton", "difficulty", "kinds")
        ),
        ("attempt", pa.int64()),
        ("reward", pa.float64()),
        ("turns", pa.int64()),
        ("calls", pa.int64()),
        *((name, pa.string()) for name in ("policy", "author", "content", "sources")),
    ]
)
"""Provenance columns of rows made from trajectories; `sources` is JSON: package, version, license of real tools."""

_CALLS = pa.list_(
    pa.struct(
        [
            ("id", pa.string()),
            ("type", pa.string()),
            ("function", pa.struct([("name", pa.string()), ("arguments", pa.string())])),
        ]
    )
)
_MESSAGES = pa.list_(
    pa.struct(
        [
            ("role", pa.string()),
            ("content", pa.string()),
            ("reasoning_content", pa.string()),
            ("tool_calls", _CALLS),
            ("tool_call_id", pa.string()),
            ("name", pa.string()),
            ("weight", pa.int64()),
        ]
    )
)
_SPOKEN = pa.list_(pa.struct([("from", pa.string()), ("value", pa.string()), ("weight", pa.int64())]))


@dataclass(frozen=True)
class Shape:
    """A format: `schema` None means JSON lines, since the protocol itself asks for free objects."""

    schema: pa.Schema | None
    row: Callable[[Conversation], Row]
    about: str


def _message(turn: Turn) -> Row:
    return {
        "role": turn.role,
        "content": turn.content,
        "reasoning_content": turn.reasoning or None,
        "tool_calls": [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in turn.calls
        ]
        or None,
        "tool_call_id": turn.call_id or None,
        "name": turn.name or None,
        "weight": turn.weight,
    }


def chat_row(row: Conversation) -> Row:
    return {"id": row.id, "messages": [_message(turn) for turn in row.turns], "tools": row.tools, **row.about}


_FROM = {"system": "system", "user": "human", "assistant": "gpt", "tool": "tool"}


def sharegpt_row(row: Conversation) -> Row:
    """Calls and results in tags, results of parallel calls in one turn, as in the Hermes function-calling sets."""
    spoken: list[Row] = []
    for turn in row.turns:
        value = turn.content
        if turn.role == "assistant":
            parts = [value] if value else []
            parts += [
                f'<tool_call>\n{{"name": {json.dumps(call.name)}, "arguments": {call.arguments}}}\n</tool_call>'
                for call in turn.calls
            ]
            if turn.reasoning:
                parts.insert(0, f"<think>\n{turn.reasoning}\n</think>")
            value = "\n".join(parts)
        elif turn.role == "tool":
            value = f"<tool_response>\n{value}\n</tool_response>"
            if spoken[-1]["from"] == "tool":
                spoken[-1]["value"] += f"\n{value}"
                continue
        spoken.append({"from": _FROM[turn.role], "value": value, "weight": turn.weight})
    system = spoken.pop(0)["value"]
    return {"id": row.id, "system": system, "conversations": spoken, "tools": row.tools, **row.about}


def preference_row(chosen: Conversation, rejected: Conversation, reason: str) -> Row:
    """A pair with its common beginning. Raises Unfit where the two do not part at a turn of the agent."""
    common = 0
    for one, other in zip(chosen.turns, rejected.turns, strict=False):
        if (one.role, one.content, one.calls) != (other.role, other.content, other.calls):
            break
        common += 1
    rest = chosen.turns[common:], rejected.turns[common:]
    if not all(rest) or any(turns[0].role != "assistant" for turns in rest):
        raise Unfit("the two attempts do not part at a turn of the agent", rejected.id)
    if not any(turn.weight for turn in rest[0]):
        raise Unfit("no turn to learn from")
    return {
        "id": chosen.id,
        "rejected_id": rejected.id,
        "prompt": [_message(turn) for turn in chosen.turns[:common]],
        "chosen": [_message(turn) for turn in rest[0]],
        "rejected": [_message(turn) for turn in rest[1]],
        "tools": chosen.tools,
        "reason": reason,
        **chosen.about,
    }


ADP_VERSION = "1.2.0"


def adp_row(row: Conversation) -> Row:
    """A trajectory of the Agent Data Protocol: actions and observations, linked by `tool_call_id`.

    What a trainer must not learn from is named in `details.masked`, as indexes of `content`.
    """
    content: list[Row] = []
    masked: list[int] = []
    for turn in row.turns:
        begin = len(content)
        if turn.role == "assistant":
            content.extend(_actions(turn))
        else:
            source = {"tool": "environment", "system": "environment"}.get(turn.role, "user")
            item: Row = {"class_": "text_observation", "content": turn.content, "source": source}
            if turn.role == "tool":
                item |= {"name": turn.name, "tool_call_id": turn.call_id}
            elif turn.role == "system":
                item["name"] = "system"
            content.append(item)
        if turn.role == "assistant" and not turn.weight:
            masked.extend(range(begin, len(content)))
    details = {**row.about, "tools": row.tools, "masked": masked}
    return {"schema_version": ADP_VERSION, "id": row.id, "content": content, "details": details}


def _actions(turn: Turn) -> list[Row]:
    thought = {"reasoning_content": turn.reasoning} if turn.reasoning else {}
    if not turn.calls:
        return [{"class_": "message_action", "content": turn.content, **thought}]
    actions: list[Row] = [
        {
            "class_": "api_action",
            "function": call.name,
            "kwargs": json.loads(call.arguments),
            "tool_call_id": call.id,
        }
        for call in turn.calls
    ]
    actions[0] |= thought
    if turn.content:
        actions[0]["description"] = turn.content
    return actions


def _no_conversation(row: Conversation) -> Row:
    raise TypeError(f"the rows of this format are not made from one conversation ({row.id})")


TEXT_COLUMNS = tuple(name for name in TABLES["texts"].schema.names if name not in ("text", "seed"))
"""Columns of `texts` that go along with a text."""

FORMATS: dict[str, Shape] = {
    "chat": Shape(
        pa.schema([("id", pa.string()), ("messages", _MESSAGES), ("tools", pa.string()), *ABOUT]),
        chat_row,
        "OpenAI `messages` and `tools`; `tools` and `arguments` are JSON strings, `weight` is the loss mask.",
    ),
    "sharegpt": Shape(
        pa.schema(
            [
                ("id", pa.string()),
                ("system", pa.string()),
                ("conversations", _SPOKEN),
                ("tools", pa.string()),
                *ABOUT,
            ]
        ),
        sharegpt_row,
        "`conversations` of `from` and `value`, calls and results in `<tool_call>` and `<tool_response>` tags.",
    ),
    "preference": Shape(
        pa.schema(
            [
                ("id", pa.string()),
                ("rejected_id", pa.string()),
                ("prompt", _MESSAGES),
                ("chosen", _MESSAGES),
                ("rejected", _MESSAGES),
                ("tools", pa.string()),
                ("reason", pa.string()),
                *ABOUT,
            ]
        ),
        _no_conversation,
        "Two attempts at one task: a common `prompt`, and the `chosen` and `rejected` continuation.",
    ),
    "text": Shape(
        pa.schema(
            [
                ("id", pa.string()),
                ("text", pa.string()),
                ("run", pa.string()),
                *(TABLES["texts"].schema.field(name) for name in TEXT_COLUMNS),
            ]
        ),
        _no_conversation,
        "Rewritten documents for pre-training, in several styles.",
    ),
    "adp": Shape(
        None,
        adp_row,
        f"Agent Data Protocol {ADP_VERSION}, one trajectory per line; tools and mask stand in `details`.",
    ),
}


def json_line(row: Row) -> bytes:
    """A row as a line of JSON text, without a change of any number's type."""
    return canonical_json(row).encode() + b"\n"
