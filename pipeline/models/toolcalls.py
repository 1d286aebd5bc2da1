"""Tool calls asked for as structured answers, for models whose own tool calling cannot be relied on.

The answer is `anyOf` of `{"name": const, "arguments": schema}`, one for each tool, and of `reply_to_user`, which speaks. Only an
object with a known name can come out of it; the engine still validates the arguments.
"""

from __future__ import annotations

import json
from typing import Any

from pipeline.models.prompts import shipped, with_prompt
from pipeline.models.structured import Unreadable, read_json
from pipeline.models.wire import tool_call, wire_tools
from pipeline.records import ChatAnswer, ChatRequest, ConfigError, Message, Outcome

SAY = "reply_to_user"


def as_structured(request: ChatRequest) -> ChatRequest:
    """`request` without tools, with a schema for one call or one utterance, and with its history in that form."""
    functions = [tool["function"] for tool in wire_tools(request.tools)]
    if any(function["name"] == SAY for function in functions):
        raise ConfigError(
            f"A tool is called {SAY}, the name by which a model speaks.", way_out="Rename the tool."
        )
    prompt = shipped().get("models/tool_calls")
    (instructions,) = prompt.render(tools=functions)
    names = {call.id: call.name for message in request.messages for call in message.calls}
    told = [_in_words(message, names) for message in request.messages]
    if told and told[0].role == "system":
        told[0] = told[0].model_copy(update={"content": f"{told[0].content}\n\n{instructions.content}"})
    else:
        told.insert(0, Message(role="system", content=instructions.content))
    options = [_option(function["name"], function["parameters"]) for function in functions]
    if request.tool_choice in (option["properties"]["name"]["const"] for option in options):
        options = [o for o in options if o["properties"]["name"]["const"] == request.tool_choice]
    elif request.tool_choice != "required":
        text = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
        options.append(_option(SAY, text))
    return request.model_copy(
        update={
            "messages": tuple(told),
            "tools": (),
            "tool_choice": "",
            "output_schema": {"anyOf": options},
            "prompt": with_prompt(request.prompt, prompt.version),
        }
    )


def _option(name: str, parameters: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {"name": {"const": name}, "arguments": parameters},
        "required": ["name", "arguments"],
        "additionalProperties": False,
    }


def _in_words(message: Message, names: dict[str, str]) -> Message:
    """A message of the history as the model would have written or read it in this form."""
    if message.role == "tool":
        name = names.get(message.call_id, "the tool")
        return Message(role="user", content=f"Result of {name}: {message.content}")
    if message.role != "assistant":
        return message
    said = [json.dumps({"name": SAY, "arguments": {"text": message.content}})] if message.content else []
    made = [
        json.dumps({"name": call.name, "arguments": call.raw if call.arguments is None else call.arguments})
        for call in message.calls
    ]
    return Message(role="assistant", content="\n".join(said + made))


def from_structured(answer: ChatAnswer) -> ChatAnswer:
    """The answer as if the endpoint had called the tool itself.

    What does not fit the schema, also after the repairs, stays what the model made of it: a call that the engine will
    refuse when it names something, plain words when not.
    """
    if answer.outcome not in (Outcome.OK, Outcome.INVALID) or not answer.content.strip():
        return answer
    try:
        made = read_json(answer.content)
    except Unreadable:
        made = None
    name, arguments = (made.get("name"), made.get("arguments")) if isinstance(made, dict) else (None, None)
    if name == SAY and isinstance(arguments, dict):
        return answer.model_copy(update={"content": str(arguments.get("text", "")), **_WORDS})
    if not isinstance(name, str) or not name:
        return answer.model_copy(update=_WORDS)
    call = tool_call("call_0", name, json.dumps(arguments, ensure_ascii=False))
    return answer.model_copy(
        update={**_WORDS, "content": "", "calls": (call,), "finish_reason": "tool_calls"}
    )


_WORDS = {"outcome": Outcome.OK, "parsed": None, "error": ""}
