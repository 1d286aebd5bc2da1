"""Requests and answers in the form of OpenAI's chat completions, read tolerantly and written strictly."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from pipeline.config.models import Resolved
from pipeline.models.retries import CallError, Trouble
from pipeline.records import ChatRequest, Json, Message, Outcome, ToolCall

_THINK = ("<think>", "</think>")


@dataclass(frozen=True, slots=True)
class Completion:
    """One answer as it came, before anything is made of it."""

    content: str
    reasoning: str
    refusal: str
    calls: tuple[ToolCall, ...]
    finish_reason: str
    logprobs: tuple[float, ...]
    tokens_in: int
    tokens_out: int
    tokens_cached: int
    model: str

    @property
    def outcome(self) -> Outcome:
        """ok, truncated or refused; whether a structured answer can be read is decided elsewhere."""
        if self.finish_reason == "length":
            return Outcome.TRUNCATED
        if self.refusal or self.finish_reason == "content_filter":
            return Outcome.REFUSED
        return Outcome.OK


def wire_messages(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """Messages as the endpoint wants them."""
    return [_wire_message(message) for message in messages]


def _wire_message(message: Message) -> dict[str, Any]:
    wired: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.role == "tool":
        wired["tool_call_id"] = message.call_id
    if message.calls:
        wired["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.raw}}
            for call in message.calls
        ]
        if not message.content:
            wired["content"] = None
    return wired


def wire_tools(tools: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Tools with the keys of their parameters sorted: the same tools ask the same question, wherever they were."""
    return [_wire_tool(json.dumps(tool)) for tool in tools]


@lru_cache(maxsize=4096)
def _wire_tool(text: str) -> dict[str, Any]:
    function = json.loads(text)["function"]
    parameters = function.get("parameters") or {"type": "object", "properties": {}}
    ordered = json.loads(json.dumps(parameters, sort_keys=True))
    wired = {"name": function["name"], "description": function.get("description", ""), "parameters": ordered}
    if "strict" in function:
        wired["strict"] = function["strict"]
    return {"type": "function", "function": wired}


def body(request: ChatRequest, target: Resolved, structured: str) -> dict[str, Any]:
    """The JSON body of a call. `structured` says how a schema is asked for: json_schema, json_object or text."""
    settings = target.model
    fields: dict[str, Any] = {"model": target.wire_name, "messages": wire_messages(request.messages)}
    if request.tools:
        fields["tools"] = wire_tools(request.tools)
        if request.tool_choice:
            fields["tool_choice"] = _tool_choice(request.tool_choice)
    if request.output_schema is not None and structured == "json_schema":
        schema = {"name": "answer", "schema": request.output_schema, "strict": _strict(request.output_schema)}
        fields["response_format"] = {"type": "json_schema", "json_schema": schema}
    elif request.output_schema is not None and structured == "json_object":
        fields["response_format"] = {"type": "json_object"}
    for name in ("temperature", "top_p"):
        value = getattr(request, name)
        fields[name] = getattr(settings, name) if value is None else value
    most = settings.max_tokens if request.max_tokens is None else request.max_tokens
    fields[settings.max_tokens_field] = most
    fields["seed"] = request.seed
    fields["stop"] = list(request.stop) or None
    fields["logprobs"] = True if request.logprobs or settings.logprobs else None
    return {name: value for name, value in fields.items() if value is not None} | settings.extra


def _tool_choice(choice: str) -> Json:
    if choice in ("auto", "none", "required"):
        return choice
    return {"type": "function", "function": {"name": choice}}


def _strict(schema: Json) -> bool:
    """Whether a schema keeps to what OpenAI's strict mode accepts: closed objects, every property required."""
    if isinstance(schema, list):
        return all(_strict(item) for item in schema)
    if not isinstance(schema, dict):
        return True
    if schema.get("type") == "object" or "properties" in schema:
        closed = schema.get("additionalProperties") is False
        if not closed or set(schema.get("properties", {})) != set(schema.get("required", ())):
            return False
    return all(_strict(value) for value in schema.values())


def parse(raw: bytes) -> tuple[str, Completion]:
    """The body of an answer, decoded and read.

    Raises CallError: `not_an_api` for a page, `broken_body` for what is cut, no JSON, no UTF-8 or no chat completion;
    an error object sent with status 200 is `server_error`.
    """
    try:
        text = raw.decode("utf-8")
        found = json.loads(text)
    except UnicodeDecodeError as error:
        raise CallError(Trouble.BROKEN_BODY, "The answer holds bytes that are no UTF-8.") from error
    except (ValueError, RecursionError) as error:
        if raw.lstrip()[:1] == b"<":
            raise CallError(
                Trouble.NOT_AN_API, "The address answers with a web page, not with JSON."
            ) from error
        raise CallError(Trouble.BROKEN_BODY, "The answer is no complete JSON.") from error
    if not isinstance(found, dict):
        raise CallError(Trouble.BROKEN_BODY, "The answer is no JSON object.")
    if found.get("error") and not found.get("choices"):
        raise CallError(Trouble.SERVER_ERROR, f"The endpoint reports: {error_text(found)}")
    return text, read(found)


def error_text(found: Json) -> str:
    """The message of an error body, in whatever of the usual forms; at most 500 characters."""
    inner = found.get("error", found) if isinstance(found, dict) else found
    if isinstance(inner, dict):
        inner = inner.get("message") or inner.get("detail") or json.dumps(inner)
    return " ".join(str(inner).split())[:500]


def reread(text: str) -> Completion | None:
    """An answer that was kept, read again; None when this version cannot read it."""
    try:
        return read(json.loads(text))
    except (ValueError, CallError):
        return None


def read(found: Json) -> Completion:
    """The first choice of a completion. Raises CallError (`broken_body`) when there is none to read."""
    try:
        choice = found["choices"][0]
        message = choice["message"]
        content = _text(message.get("content"))
        made = tuple(_call(n, call) for n, call in enumerate(message.get("tool_calls") or ()))
        usage = found.get("usage") or {}
        details = usage.get("prompt_tokens_details") or {}
        reasoning, content = _split_thoughts(
            _text(message.get("reasoning_content") or message.get("reasoning")), content
        )
        return Completion(
            content=content,
            reasoning=reasoning,
            refusal=_text(message.get("refusal")),
            calls=_distinct(made),
            finish_reason=str(choice.get("finish_reason") or ""),
            logprobs=_logprobs(choice.get("logprobs")),
            tokens_in=int(usage.get("prompt_tokens") or 0),
            tokens_out=int(usage.get("completion_tokens") or 0),
            tokens_cached=int(details.get("cached_tokens") or 0),
            model=_text(found.get("model")),
        )
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        raise CallError(Trouble.BROKEN_BODY, "The answer holds no message that can be read.") from error


def _text(value: Json) -> str:
    """Text or text parts as one string; lone surrogates, which no file can hold, become U+FFFD."""
    if value is None:
        return ""
    if isinstance(value, list):
        value = "".join(part if isinstance(part, str) else str(part.get("text", "")) for part in value)
    text = str(value)
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _split_thoughts(reasoning: str, content: str) -> tuple[str, str]:
    """Thoughts that a server left in the content, moved to where they belong."""
    opening, closing = _THINK
    start = content.lstrip()
    if reasoning or not start.startswith(opening) or closing not in start:
        return reasoning, content
    thoughts, _, rest = start[len(opening) :].partition(closing)
    return thoughts.strip(), rest.lstrip()


def _call(number: int, call: dict[str, Any]) -> ToolCall:
    function = call["function"]
    written = function.get("arguments")
    raw = written if isinstance(written, str) else json.dumps({} if written is None else written)
    return tool_call(_text(call.get("id")) or f"call_{number}", _text(function.get("name")), _text(raw))


def tool_call(call_id: str, name: str, raw: str) -> ToolCall:
    """A call; `arguments` is None when `raw` is no JSON object. An empty text stands for no arguments."""
    try:
        arguments = json.loads(raw) if raw.strip() else {}
    except (ValueError, RecursionError):
        arguments = None
    return ToolCall(
        id=call_id, name=name, raw=raw, arguments=arguments if isinstance(arguments, dict) else None
    )


def _distinct(made: tuple[ToolCall, ...]) -> tuple[ToolCall, ...]:
    """Each call with an id of its own."""
    if len({call.id for call in made}) == len(made):
        return made
    return tuple(call.replace(id=f"{call.id}_{n}") for n, call in enumerate(made))


def _logprobs(found: Json) -> tuple[float, ...]:
    entries = (found or {}).get("content") or ()
    return tuple(float(entry["logprob"]) for entry in entries)
