"""The words of the user, found by a model for a move that the user machine has decided."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pipeline.models.players.seat import Seat
from pipeline.models.prompts import Prompts, shipped, with_prompt
from pipeline.records import Fact, Message, Outcome, UserMove, UserWords

_NAMED = re.compile(r"\A\s*(?:user|customer|me)\s*:\s*", re.IGNORECASE)
_MOST_TURNS = 30
_PROBLEMS = {Outcome.TRUNCATED: "a turn that was cut off", Outcome.REFUSED: "a refusal"}


class ModelUser:
    """One episode's user. It words moves; what is told and when it is over is not its business.

    `opening` is the seat that its first words come from: one for all attempts at a task, so that they begin alike.
    """

    def __init__(
        self,
        seat: Seat,
        *,
        opening: Seat | None = None,
        temperature: float | None = None,
        prompts: Prompts | None = None,
    ) -> None:
        self._seat = seat
        self._opening = opening or seat
        self._temperature = temperature
        self._prompt = (prompts or shipped()).get("user/turn")
        self._again = (prompts or shipped()).get("user/again")
        self._last: tuple[UserMove, int, str] | None = None

    async def speak(self, move: UserMove, messages: Sequence[Message]) -> UserWords:
        """The text for `move`; asked for the same move again, the model is shown what it wrote and must do better.

        Raises ModelError when no answer can be had.
        """
        facts = [_stated(fact, wrong=fact.name in move.wrong) for fact in move.facts]
        asked = self._prompt.render(
            act=move.act,
            style=move.persona.style,
            language=move.persona.language,
            goal=move.goal.intent if move.goal is not None else "",
            reasons=list(move.goal.reasons) if move.goal is not None else [],
            facts=facts,
            transcript=_transcript(messages),
        )
        version = self._prompt.version
        if self._last is not None and self._last[:2] == (move, len(messages)):
            asked += (Message(role="assistant", content=self._last[2]), *self._again.render(facts=facts))
            version = with_prompt(version, self._again.version)
        seat = self._opening if move.act == "open" else self._seat
        answer = await seat.hear(asked, version, temperature=self._temperature, max_tokens=400)
        text = _NAMED.sub("", answer.content).strip()
        if len(text) > 1 and text[0] == text[-1] == '"':
            text = text[1:-1].strip()
        self._last = (move, len(messages), text)
        return UserWords(text, answer.usage, _PROBLEMS.get(answer.outcome, ""))


def _stated(fact: Fact, *, wrong: bool) -> str:
    """A fact as it is to be said."""
    return f"{fact.label}: {fact.wrong if wrong and fact.wrong is not None else fact.spoken}"


def _transcript(messages: Sequence[Message]) -> list[str]:
    """What was said aloud; calls and results are not for the user's ears."""
    said = [m for m in messages if m.role in ("user", "assistant") and m.content.strip()]
    names = {"user": "You", "assistant": "Assistant"}
    return [f"{names[message.role]}: {message.content}" for message in said[-_MOST_TURNS:]]
