"""What players hand over, made fit for the record: bounded, real text, calls with ids of their own.

An agent may write anything. Nothing here decides whether it was wise, only what can be kept, and whether the agent has
written a part that is not its own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from dataclasses import replace
from math import isfinite

from pipeline.records import AgentTurn, Json, ToolCall

DEPTH = 32
"""Levels of lists and objects in arguments; deeper ones count as broken JSON."""

_TURN_TOKEN = re.compile(
    r"<\|(?:im_start|start_header_id|user|observation|tool)\|>|<start_of_turn>user|\[/?INST\]|\[TOOL_RESULTS\]|"
    r"</?tool_(?:response|result|output)s?>|</?function_(?:response|result)s?>"
)
"""Marks by which chat templates begin a message of somebody else."""
_OTHER_SPEAKER = re.compile(r"^\W{0,4}(?:User|USER|Human|HUMAN)\W{0,3}:\W{0,3}\w", re.MULTILINE)
_OWN_SPEAKER = re.compile(r"^\W{0,4}(?:Assistant|ASSISTANT|Agent|AGENT|AI)\W{0,3}:", re.MULTILINE)
_RESULT = re.compile(
    r"^\W{0,4}(?:Tool|TOOL|Function|Observation|Tool (?:result|response|output)|Function (?:result|response|output))"
    r"\W{0,3}:\s*[\[{]",
    re.MULTILINE,
)


def forged(content: str) -> str:
    """What an agent's message holds that only others may say, or nothing: a user's turn, a tool's result."""
    if not content:
        return ""
    token = _TURN_TOKEN.search(content)
    if token:
        return f"the mark {token[0]} of another's message"
    if _RESULT.search(content):
        return "a tool's result"
    human = _OTHER_SPEAKER.search(content)
    if human and ("uman" in human[0].lower() or _OWN_SPEAKER.search(content)):
        return "a user's message"
    return ""


def real_text(text: str) -> str:
    """Text without half characters (lone surrogates), which no file and no endpoint takes."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def taken(turn: AgentTurn, seen: Collection[str], position: int, longest: int) -> AgentTurn:
    """An agent's turn as it is kept: real text, arguments that are JSON, at most `longest` characters of each call,
    and ids that no call in `seen` has. `position` is the event's index."""
    used = set(seen)
    calls = []
    for number, call in enumerate(turn.calls):
        name = call.id if call.id and call.id not in used else f"call_{position}_{number}"
        used.add(name)
        calls.append(_kept(call, name, longest))
    return replace(
        turn, content=real_text(turn.content), reasoning=real_text(turn.reasoning), calls=tuple(calls)
    )


def _kept(call: ToolCall, name: str, longest: int) -> ToolCall:
    raw = real_text(call.raw)
    if len(raw) > longest:
        raw = f"{raw[:longest]} [… {len(raw) - longest} more characters not kept]"
    fits = len(call.raw) <= longest and call.arguments is not None and is_json(call.arguments)
    kept = (real_text(name), real_text(call.name)[:200], raw, call.arguments if fits else None)
    if kept == (call.id, call.name, call.raw, call.arguments):
        return call
    return ToolCall(id=kept[0], name=kept[1], raw=kept[2], arguments=kept[3])


def is_json(value: Json, depth: int = DEPTH) -> bool:
    """Whether a value is JSON that everybody can read: finite numbers, real text, text keys, a bounded depth."""
    if isinstance(value, str):
        return value.isascii() or real_text(value) == value
    if isinstance(value, float):
        return isfinite(value)
    if isinstance(value, dict):
        if depth <= 0 or not all(isinstance(key, str) and is_json(key) for key in value):
            return False
        value = list(value.values())
    elif isinstance(value, list):
        if depth <= 0:
            return False
    else:
        return value is None or isinstance(value, bool | int)
    return all(item is None or type(item) is int or is_json(item, depth - 1) for item in value)


def parse_arguments(raw: str) -> dict[str, Json] | None:
    """Arguments as an object; None for anything else (broken JSON, lists, NaN, absurd depth)."""
    try:
        value = _decode(raw or "{}")
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) and is_json(value) else None


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


_decode = json.JSONDecoder(parse_constant=_no_constant).decode
