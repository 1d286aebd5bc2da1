"""The tables behind played tools, proposed by a model; whoever asks decides whether they will do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from pydantic import Field

from pipeline.models.players.schemas import read_record, schema_of
from pipeline.models.players.seat import Seat
from pipeline.models.prompts import Prompts, shipped, with_prompt
from pipeline.records import Json, Message, Record, ToolSpec, content_id

_LONGEST = 600
"""Characters of a description that are shown."""


class ColumnForm(Record):
    """One value that is kept of a thing."""

    name: str = Field(pattern=r"^[a-z][a-z0-9_]{0,40}$")
    type: Literal["text", "integer", "real"]
    choices: list[str] = Field(default=[], max_length=40)
    refers: str = ""


class EntityForm(Record):
    """One kind of thing."""

    noun: str = Field(pattern=r"^[a-z][a-z0-9_]{0,40}$")
    columns: list[ColumnForm] = Field(min_length=1, max_length=14)


class EntitiesAnswer(Record):
    """The things that a server keeps."""

    entities: list[EntityForm] = Field(min_length=1, max_length=8)


class EntityAsker:
    """Asks for the entities of one toolset, and again with what was wrong."""

    def __init__(self, seat: Seat, *, prompts: Prompts | None = None) -> None:
        self._seat = seat
        self._prompt = (prompts or shipped()).get("simulator/entities")
        self._again = (prompts or shipped()).get("simulator/again")
        self._messages: tuple[Message, ...] = ()
        self._version = self._prompt.version
        self._last = ""

    async def ask(
        self, tools: Sequence[ToolSpec], proposed: Sequence[dict[str, Json]], problem: str = ""
    ) -> EntitiesAnswer:
        """The model's entities. Raises Unreadable for an answer that is none, ModelError when none can be had."""
        if problem:
            said = Message(role="assistant", content=self._last)
            self._messages += (said, *self._again.render(problem=problem))
            self._version = with_prompt(self._prompt.version, self._again.version)
        else:
            shown: list[Json] = [_listing(tool) for tool in tools]
            fence = content_id("data", [shown, list(proposed)])
            self._messages = self._prompt.render(tools=shown, entities=list(proposed), fence=fence)
        answer = await self._seat.hear(self._messages, self._version, output_schema=schema_of(EntitiesAnswer))
        self._last = answer.content
        return read_record(answer, EntitiesAnswer)


def _listing(tool: ToolSpec) -> dict[str, Any]:
    return {"name": tool.name, "description": tool.description[:_LONGEST], "arguments": tool.input_schema}
