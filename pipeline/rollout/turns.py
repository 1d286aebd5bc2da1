"""What is wrong with a user's turn: the machine has decided what it says, the words must keep to that."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pipeline.records import Message, UserMove
from pipeline.tasks.values import mentions

_ASSISTANT = re.compile(
    r"\b(?:how (?:can|may) i (?:help|assist) you|anything else i can (?:help|do)|as an ai\b|i'?ve (?:now )?(?:booked|cancell?ed|"
    r"updated|changed|processed) your|i (?:can|will) look (?:that|it) up for you)",
    re.IGNORECASE,
)
_MACHINERY = re.compile(r"</?tool|tool_call|\"arguments\"\s*:|^\s*\{\s*\"|\bfunction call\b", re.IGNORECASE)
_STAGE = re.compile(r"^\s*[\[(*](?:user|the user|customer)\b|###?STOP|\bend of conversation\b", re.IGNORECASE)
_LONG_NUMBER = re.compile(r"\d(?:[ -]?\d){4,}")


def problem_with(text: str, move: UserMove, messages: Sequence[Message], longest: int) -> str:
    """What is wrong with a turn, as a noun phrase; empty when it can stand.

    A turn has to say what the move says, as the user and nobody else, and gives no long number that neither the task
    nor the conversation holds.
    """
    if not text.strip():
        return "an empty turn"
    if len(text) > longest:
        return f"a turn of {len(text)} characters"
    for fact in move.facts:
        said = fact.wrong if fact.name in move.wrong and fact.wrong else fact.spoken
        if not mentions(text, said):
            return f"a turn without {fact.label}"
    if _ASSISTANT.search(text):
        return "a turn in the assistant's part"
    if _MACHINERY.search(text) or _STAGE.search(text):
        return "a turn with calls or stage directions"
    strange = _invented(text, move, messages)
    return f"a turn with {strange}, which nobody gave it" if strange else ""


def _invented(text: str, move: UserMove, messages: Sequence[Message]) -> str:
    """A long number from nowhere, or nothing."""
    found = _LONG_NUMBER.findall(text)
    if not found:
        return ""
    known = [str(fact.value) for fact in move.facts]
    known += [value for fact in move.facts for value in (fact.spoken, fact.wrong) if value]
    if move.goal is not None:
        known += [move.goal.intent, *move.goal.phrasings, *move.goal.reasons]
    known += [message.content for message in messages if message.role in ("user", "assistant")]
    digits = re.sub(r"\D", "", " ".join(known))
    return next((one for one in found if re.sub(r"\D", "", one) not in digits), "")
