"""Where a player sits: its model, what its calls belong to, and how it asks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pipeline.models.door import Models
from pipeline.records import ChatAnswer, ChatRequest, Message, ModelError, Outcome


@dataclass(frozen=True)
class Seat:
    """A model in a role, for one piece of work."""

    models: Models
    model: str
    """A name in the configuration."""
    role: str
    stage: str = ""
    purpose: str = ""
    """What the calls belong to, e.g. a trajectory id; for the ledger only."""
    sample: int = 0
    """Another attempt at the same work is another sample."""
    seed: int | None = None

    async def ask(self, messages: tuple[Message, ...], prompt: str = "", **more: Any) -> ChatAnswer:
        """A good answer to `messages`; `more` are further fields of the request.

        Raises ModelError for any other outcome, naming it; EndpointDown and BudgetExceeded pass through.
        """
        answer = await self.try_(messages, prompt, **more)
        if answer.outcome is not Outcome.OK:
            said = answer.error or answer.refusal or answer.content[:200]
            raise ModelError(
                f"The {self.role} model {self.model} gave no usable answer ({answer.outcome}): {said}"
            )
        return answer

    async def hear(self, messages: tuple[Message, ...], prompt: str = "", **more: Any) -> ChatAnswer:
        """What the model said, also when it was cut off, refused or said it in no form that was asked for.

        Raises ModelError when there was no answer at all; EndpointDown and BudgetExceeded pass through.
        """
        answer = await self.try_(messages, prompt, **more)
        if answer.outcome is Outcome.FAILED:
            raise ModelError(f"The {self.role} model {self.model} gave no answer: {answer.error}")
        return answer

    async def try_(self, messages: tuple[Message, ...], prompt: str = "", **more: Any) -> ChatAnswer:
        """The answer to `messages`, whatever its outcome."""
        request = ChatRequest(
            model=self.model,
            messages=messages,
            prompt=prompt,
            role=self.role,
            stage=self.stage,
            purpose=self.purpose,
            sample=self.sample,
            seed=self.seed,
            **more,
        )
        return await self.models.chat(request)
