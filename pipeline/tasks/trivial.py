"""Trivial agents: none of them may pass a task, except the one that is right for a task of its kind."""

from __future__ import annotations

import json
from collections.abc import Sequence

from pipeline.records import AgentTurn, Json, Message, Task, ToolCall, ToolSpec


class _Says:
    """Answers everything with one sentence."""

    def __init__(self, sentence: str) -> None:
        self._sentence = sentence

    async def act(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> AgentTurn:
        return AgentTurn(content=self._sentence)


class _Guesses:
    """Calls the tool the task is about at once, with arguments made up from its schema, then says it is done."""

    def __init__(self, task: Task) -> None:
        self._wanted = task.reference[-1].tool if task.reference else ""
        self._called = False

    async def act(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> AgentTurn:
        tool = next((one for one in tools if one.name == self._wanted), None)
        if tool is None or self._called:
            return AgentTurn(content="Done, everything is taken care of.")
        self._called = True
        arguments = {name: _guess(schema) for name, schema in tool.input_schema.get("properties", {}).items()}
        raw = json.dumps(arguments)
        return AgentTurn(calls=(ToolCall(id="call_1", name=tool.name, raw=raw, arguments=arguments),))


def _guess(schema: Json) -> Json:
    if isinstance(schema, dict):
        for key in ("default", "const"):
            if key in schema:
                return schema[key]
        if schema.get("enum"):
            return schema["enum"][0]
        if schema.get("examples"):
            return schema["examples"][0]
    kind = schema.get("type") if isinstance(schema, dict) else None
    kind = kind[0] if isinstance(kind, list) else kind
    guesses: dict[str, Json] = {"integer": 1, "number": 1.0, "boolean": True, "array": [], "object": {}}
    return guesses.get(str(kind), "A1")


def trivial_agents(task: Task) -> dict[str, _Says | _Guesses]:
    """The trivial agents by name, fresh for one episode each."""
    return {
        "silent": _Says(""),
        "says done": _Says("Done, everything is taken care of."),
        "refuses": _Says("I'm sorry, I can't help with that."),
        "guesses": _Guesses(task),
    }


def rightly_passes(task: Task, agent: str) -> bool:
    """Refusing is right where no tool can serve any of the user's wishes."""
    return agent == "refuses" and all(goal.kind == "unserved" for goal in task.goals)
