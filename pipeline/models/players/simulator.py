"""A simulator played by a model: it proposes a result and a patch for one call; the engine decides."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from pipeline.models.players.seat import Seat
from pipeline.models.prompts import Prompts, shipped, with_prompt
from pipeline.records import (
    ChatAnswer,
    Json,
    Message,
    Outcome,
    Scene,
    SimulatedCall,
    ToolSpec,
    canonical_json,
    content_id,
)

_PATCH: dict[str, Any] = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {
            "op": {"enum": ["insert", "update", "delete"]},
            "table": {"type": "string"},
            "key": {"type": "object"},
            "values": {"type": "object"},
        },
        "required": ["op", "table", "key"],
        "additionalProperties": False,
    },
}
_ERROR: dict[str, Any] = {
    "type": "object",
    "properties": {"code": {"type": "string"}, "message": {"type": "string"}},
    "required": ["code", "message"],
    "additionalProperties": False,
}
_LONGEST_LISTING = 12_000


class ModelSimulator:
    """Plays tools. One object may serve many hosts: it keeps nothing."""

    def __init__(
        self, seat: Seat, *, temperature: float | None = 0.0, prompts: Prompts | None = None
    ) -> None:
        self._seat = seat
        self._temperature = temperature
        self._prompt = (prompts or shipped()).get("simulator/answer")
        self._again = (prompts or shipped()).get("simulator/again")
        self.name = f"model:{seat.model}"

    async def answer(
        self,
        tool: ToolSpec,
        arguments: dict[str, Json],
        scene: Scene,
        tried: Sequence[tuple[SimulatedCall, str]] = (),
    ) -> SimulatedCall:
        """The model's proposal; one with a `problem` when it is refused, cut off or no answer at all.

        Raises ModelError when the endpoint gives none; EndpointDown and BudgetExceeded pass through.
        """
        data: dict[str, Any] = {
            "tool": _line(_listing(tool)),
            "arguments": _line(arguments),
            "state": _line(scene.shown),
        }
        fence = content_id("data", [*data.values(), scene.now])
        messages = self._prompt.render(**data, now=scene.now, new_id=scene.new_id, fence=fence)
        version = self._prompt.version
        for before, problem in tried:
            said = before.problem or canonical_json(_written(before))
            messages += (Message(role="assistant", content=said), *self._again.render(problem=problem))
        if tried:
            version = with_prompt(version, self._again.version)
        answer = await self._seat.hear(
            messages, version, output_schema=answer_schema(tool, scene), temperature=self._temperature
        )
        return _read(answer)


def _line(value: Json) -> str:
    """JSON on one line: nothing in it can look like a line of its own."""
    return json.dumps(value, ensure_ascii=False)


def _listing(tool: ToolSpec) -> dict[str, Json]:
    """What a model is shown of a tool; an overlong description is cut, and says so."""
    text = tool.description
    if len(text) > _LONGEST_LISTING:
        text = f"{text[:_LONGEST_LISTING]} … {len(tool.description) - _LONGEST_LISTING} more characters"
    listed: dict[str, Json] = {
        "name": tool.name,
        "description": text,
        "input_schema": tool.input_schema,
        "output_schema": tool.output_schema,
        "read_only": tool.annotations.read_only,
        "errors": [{"code": one.code, "message": one.message} for one in tool.errors],
    }
    return {name: value for name, value in listed.items() if value not in (None, [], "")}


def answer_schema(tool: ToolSpec, scene: Scene) -> dict[str, Any]:
    """The form of an answer to one call: the tool's own output schema, the tables that exist."""
    result: dict[str, Any] = {}
    if tool.output_schema is not None and "$ref" not in json.dumps(tool.output_schema):
        result = {"anyOf": [tool.output_schema, {"type": "null"}]}
    patch = json.loads(json.dumps(_PATCH))
    tables = scene.shown.get("tables") if isinstance(scene.shown, dict) else None
    if tables:
        patch["items"]["properties"]["table"] = {"enum": sorted(tables)}
    if tool.annotations.read_only:
        patch["maxItems"] = 0
    return {
        "type": "object",
        "properties": {
            "outcome": {"enum": ["result", "error"]},
            "result": result,
            "error": {"anyOf": [_ERROR, {"type": "null"}]},
            "patch": patch,
        },
        "required": ["outcome", "result", "error", "patch"],
        "additionalProperties": False,
    }


def _written(call: SimulatedCall) -> dict[str, Json]:
    error = None if call.error is None else {"code": call.error[0], "message": call.error[1]}
    outcome = "result" if error is None else "error"
    return {"outcome": outcome, "result": call.result, "error": error, "patch": list(call.patch)}


def _read(answer: ChatAnswer) -> SimulatedCall:
    """The proposal in an answer."""
    if answer.outcome is not Outcome.OK:
        said = answer.error or answer.refusal or answer.content[:200]
        return SimulatedCall(problem=f"{answer.outcome}: {said}"[:500], usage=answer.usage)
    value = answer.parsed
    if not isinstance(value, dict) or "outcome" not in value:
        return SimulatedCall(problem="It is no answer to a call.", usage=answer.usage)
    if value["outcome"] == "error":
        error = value.get("error")
        if not error:
            return SimulatedCall(problem="outcome is error, but no error is given.", usage=answer.usage)
        return SimulatedCall(
            error=(str(error["code"]), str(error["message"])),
            patch=tuple(value.get("patch") or ()),
            usage=answer.usage,
        )
    return SimulatedCall(
        result=value.get("result"), patch=tuple(value.get("patch") or ()), usage=answer.usage
    )
