"""The agent, played by a model with tools."""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.models.players.seat import Seat
from pipeline.records import AgentTurn, Message, ToolCall, ToolSpec


class ModelPolicy:
    """One episode's agent. Bad names, bad JSON and bad arguments pass as they are: the engine answers them."""

    def __init__(self, seat: Seat, *, temperature: float | None = None, logprobs: bool = False) -> None:
        self._seat = seat
        self._temperature = temperature
        self._logprobs = logprobs

    async def act(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> AgentTurn:
        """The next turn after `messages`. Raises ModelError when no answer can be had."""
        answer = await self._seat.ask(
            tuple(messages),
            tools=tuple(tool.for_model() for tool in tools),
            temperature=self._temperature,
            logprobs=self._logprobs,
        )
        return AgentTurn(
            content=answer.content,
            calls=_with_new_ids(answer.calls, messages),
            reasoning=answer.reasoning,
            usage=answer.usage,
            logprobs=answer.logprobs,
        )


def _with_new_ids(calls: tuple[ToolCall, ...], messages: Sequence[Message]) -> tuple[ToolCall, ...]:
    """The calls with ids that are new in this conversation; endpoints invent theirs, some the same each turn."""
    before = sum(len(message.calls) for message in messages)
    return tuple(call.replace(id=f"call_{before + n}") for n, call in enumerate(calls))
