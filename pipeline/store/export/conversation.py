"""A trajectory as a conversation to learn from: what is shown, and which turns carry the loss."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pipeline.records import Failure, canonical_json
from pipeline.store.tables import Row


@dataclass(frozen=True, slots=True)
class SpokenCall:
    """A call as it is shown: `arguments` is JSON text of an object."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Turn:
    """One message. `weight` is 1 where a trainer learns from it, else 0; `event` is its index in the trajectory."""

    role: str
    content: str
    event: int
    reasoning: str = ""
    calls: tuple[SpokenCall, ...] = ()
    call_id: str = ""
    name: str = ""
    weight: int = 0


@dataclass(frozen=True, slots=True)
class Conversation:
    """What the formats are made from. `tools` is a JSON list in OpenAI form; `about` are provenance columns."""

    id: str
    turns: tuple[Turn, ...]
    tools: str
    about: dict[str, Any] = field(default_factory=dict)

    def with_turns(self, turns: Sequence[Turn]) -> Conversation:
        return replace(self, turns=tuple(turns))


class Unfit(Exception):
    """A row that no trainer should see; `reason` is a short fixed phrase, `detail` the particular."""

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(f"{reason}: {detail}" if detail else reason)
        self.reason = reason
        self.detail = detail


_CLUMSY = {
    str(code)
    for code in (
        Failure.UNKNOWN_TOOL,
        Failure.INVALID_JSON,
        Failure.INVALID_ARGUMENTS,
        Failure.LIMIT_EXCEEDED,
    )
}
"""Failures that are the caller's own: such a turn is never taught."""


@dataclass(slots=True)
class _Step:
    """The columns of an event that matter here; rows of shards were validated when they were written."""

    index: int
    role: str
    content: str
    reasoning: str
    calls: list[dict[str, Any]]
    call_id: str
    name: str
    ok: bool | None
    error_code: str
    fault: str | None
    loss: bool
    note: str


_FIELDS = [field for field in _Step.__slots__ if field != "calls"]
EVENT_COLUMNS = ("trajectory", *_Step.__slots__)
"""The columns of `events` that `conversation` reads."""


def _step(event: Row) -> _Step:
    fields = {name: event[name] for name in _FIELDS}
    return _Step(**fields, calls=json.loads(event["calls"]) if event["calls"] != "[]" else [])


def conversation(row: Row, events: Sequence[Row], tools: str, about: dict[str, Any]) -> Conversation:
    """The conversation of a `trajectories` row and its `events` rows. Raises Unfit with the reason.

    Turns after the agent's last word are cut off: there is nothing to learn in a farewell that nobody answers. Work
    in a container may end with a call (handing in), talk with a user may not.
    """
    steps = [_step(event) for event in sorted(events, key=lambda event: int(event["index"]))]
    while steps and steps[-1].role == "user":
        steps.pop()
    if [step.role for step in steps[:2]] != ["system", "user"]:
        raise Unfit("does not open with a system prompt and a user turn")
    last = {"assistant", "tool"} if row["host"] == "container" else {"assistant"}
    if steps[-1].role not in last or steps[-1].calls:
        raise Unfit("ends without the agent's word")
    planted = set(json.loads(row["planted"] or "[]"))
    turns: list[Turn] = []
    waiting: dict[str, str] = {}
    shown = 0
    for position, step in enumerate(steps):
        if step.role == "tool":
            if step.call_id not in waiting:
                raise Unfit("a tool answers that was not called", f"event {step.index}")
            turns.append(
                Turn("tool", step.content, step.index, call_id=waiting.pop(step.call_id), name=step.name)
            )
            continue
        if waiting:
            raise Unfit("a call without an answer", f"event {step.index}")
        calls = []
        for call in step.calls:
            if call["id"] in waiting:
                raise Unfit("two parallel calls of one id", f"event {step.index}")
            # Ids repeat over turns with some endpoints; a trainer's template may pair them up wrongly.
            waiting[call["id"]] = f"call_{shown:04d}"
            calls.append(_spoken(waiting[call["id"]], call))
            shown += 1
        learn = step.role == "assistant" and step.loss and not _masked(steps, position, planted)
        empty = not step.content.strip() and not calls
        turns.append(
            Turn(
                step.role,
                step.content,
                step.index,
                reasoning=step.reasoning,
                calls=tuple(calls),
                weight=int(learn and not empty),
            )
        )
    if waiting:
        raise Unfit("a call without an answer", f"event {steps[-1].index}")
    if not any(turn.weight for turn in turns):
        raise Unfit("no turn to learn from")
    return Conversation(row["id"], tuple(turns), tools, about)


def _masked(steps: Sequence[_Step], position: int, planted: set[str]) -> bool:
    """Whether an assistant turn is a slip: planted, malformed, or put right before the user spoke again.

    A call that met an injected fault is no slip: calling was right, and so is calling again. Nor is a refusal by the
    tool that the agent then reports: that is how a rule of the business is found out.
    """
    step = steps[position]
    if step.note and any(label in step.note for label in planted):
        return True
    later = steps[position + 1 :]
    answers = []
    for other in later:
        if other.role != "tool":
            break
        answers.append(other)
    failed = [answer for answer in answers if answer.ok is False and not answer.fault]
    if any(answer.error_code in _CLUMSY for answer in failed):
        return True
    before_user = []
    for other in later[len(answers) :]:
        if other.role == "user":
            break
        before_user.append(other)
    mended = {other.name for other in before_user if other.role == "tool" and other.ok}
    return any(answer.name in mended for answer in failed)


def _spoken(call_id: str, call: dict[str, Any]) -> SpokenCall:
    """The call with the arguments as the agent wrote them. Text that is no JSON object is kept under one key."""
    raw, arguments = call["raw"], call["arguments"]
    if arguments is None:
        return SpokenCall(call_id, call["name"], canonical_json({"_invalid": raw}))
    try:
        as_written = json.loads(raw) == arguments
    except ValueError:
        as_written = False
    return SpokenCall(call_id, call["name"], raw.strip() if as_written else canonical_json(arguments))
