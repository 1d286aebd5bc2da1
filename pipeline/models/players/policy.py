"""The agent, played by a model with tools."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pipeline.models.players.seat import Seat
from pipeline.records import AgentTurn, Message, Outcome, ToolCall, ToolSpec

_AGAIN = 1_000_000
"""Sample numbers of repeated questions lie so far from those of attempts."""


class ModelPolicy:
    """One episode's agent. Bad names, bad JSON and bad arguments pass as they are: the engine answers them.

    Asked again for the same turn, since its answer was of no use, the model gives another sample with another seed: an
    equal request would bring the recorded answer back.
    """

    def __init__(self, seat: Seat, *, temperature: float | None = None, logprobs: bool = False) -> None:
        self._seat = seat
        self._temperature = temperature
        self._logprobs = logprobs
        self._asked = (-1, 0)
        """Length of the last conversation, and how often it was answered."""

    async def act(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> AgentTurn:
        """The next turn after `messages`. Raises ModelError when no answer can be had."""
        length, times = self._asked
        times = times + 1 if length == len(messages) else 0
        self._asked = (len(messages), times)
        answer = await _again(self._seat, times).hear(
            tuple(messages),
            tools=tuple(tool.for_model() for tool in tools),
            temperature=self._temperature,
            logprobs=self._logprobs,
        )
        if answer.outcome is Outcome.TRUNCATED:  # half a call is no call
            return AgentTurn(answer.content, reasoning=answer.reasoning, usage=answer.usage, cut_off=True)
        return AgentTurn(
            content=answer.content or answer.refusal,
            calls=_with_new_ids(answer.calls, messages),
            reasoning=answer.reasoning,
            usage=answer.usage,
            logprobs=answer.logprobs,
        )


def _again(seat: Seat, times: int) -> Seat:
    if times == 0:
        return seat
    seed = None if seat.seed is None else (seat.seed + times) % 2**31
    return replace(seat, sample=seat.sample + _AGAIN * times, seed=seed)


def _with_new_ids(calls: tuple[ToolCall, ...], messages: Sequence[Message]) -> tuple[ToolCall, ...]:
    """The calls with ids that are new in this conversation; endpoints invent theirs, some the same each turn."""
    before = sum(len(message.calls) for message in messages)
    return tuple(call.replace(id=f"call_{before + n}") for n, call in enumerate(calls))
