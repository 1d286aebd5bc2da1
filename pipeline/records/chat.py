"""Requests to and answers from language models, as the wire and the journal see them."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Literal

from pydantic import Field

from pipeline.records.base import Json, Record
from pipeline.records.trajectories import ToolCall, Usage


class Message(Record):
    """One chat message. `tool` messages answer the call `call_id`."""

    role: Literal["system", "user", "assistant", "tool"]
    content: str = ""
    calls: tuple[ToolCall, ...] = ()
    call_id: str = ""
    reasoning: str = ""


class Outcome(StrEnum):
    """How a request ended. Only `ok` may enter the cache shared between runs."""

    OK = "ok"
    TRUNCATED = "truncated"
    REFUSED = "refused"
    INVALID = "invalid"
    """The answer could not be read as asked, also after the repair dialogue."""
    FAILED = "failed"
    """No answer: the endpoint failed after all retries."""


class ChatRequest(Record):
    """Everything that can change an answer, and who asks.

    `role`, `stage` and `purpose` are for the ledger and are no part of the cache key.
    """

    model: str
    """Name of a model in the configuration."""
    messages: tuple[Message, ...]
    tools: tuple[dict[str, Any], ...] = ()
    tool_choice: str = ""
    output_schema: dict[str, Any] | None = Field(default=None)
    """JSON Schema of a structured answer."""
    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    stop: tuple[str, ...] = ()
    seed: int | None = None
    logprobs: bool = False
    sample: int = 0
    """Index of a repeated sample: another index is another request."""
    prompt: str = ""
    """Name and hash of the prompt file that rendered the messages: `user/turn@3f2a…`."""
    role: str = ""
    stage: str = ""
    purpose: str = ""
    """What the call belongs to, e.g. a trajectory id."""


class ChatAnswer(Record):
    """An answer, raw and read."""

    outcome: Outcome
    content: str = ""
    reasoning: str = ""
    refusal: str = ""
    calls: tuple[ToolCall, ...] = ()
    parsed: Json = None
    """The structured answer, validated against `output_schema`."""
    finish_reason: str = ""
    logprobs: tuple[float, ...] = ()
    usage: Usage = Usage()
    model: str = ""
    """What the endpoint says it is."""
    cached: bool = False
    attempts: int = 1
    repairs: int = 0
    """How often the model was shown what was wrong with the form of its answer."""
    error: str = ""
