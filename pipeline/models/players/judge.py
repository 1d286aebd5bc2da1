"""A judge for the criteria that no rule decides, played by a model."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from pipeline.models.players.schemas import read_record, schema_of
from pipeline.models.players.seat import Seat
from pipeline.models.prompts import Prompts, shipped
from pipeline.models.structured import Unreadable
from pipeline.records import (
    Event,
    Owner,
    PolicyCheck,
    Record,
    ReplyCheck,
    Task,
    Trajectory,
    Value,
    Verdict,
    content_id,
)

_LONGEST = 20_000
"""Characters of one text of the transcript; what is left out is marked."""


class CriterionVerdict(Record):
    """What the judge says of one criterion. The order of the fields makes it look before it decides."""

    criterion: str = Field(description="the id of the criterion, as given")
    reasoning: str = Field(description="two sentences at most, on what the events show")
    evidence: list[int] = Field(description="indexes of the events that decide it, at least one")
    verdict: Literal["pass", "fail", "unscored"]


class JudgeAnswer(Record):
    """One entry for each criterion."""

    verdicts: list[CriterionVerdict]


class ModelJudge:
    """One judge. `unscored` wherever it cannot be read, contradicts itself or points at nothing."""

    def __init__(
        self,
        seat: Seat,
        *,
        temperature: float | None = 0.0,
        prompts: Prompts | None = None,
    ) -> None:
        self._seat = seat
        self._temperature = temperature
        self._prompt = (prompts or shipped()).get("judge/criteria")
        self.name = f"model:{seat.model}"

    async def judge(
        self,
        task: Task,
        trajectory: Trajectory,
        criteria: Sequence[ReplyCheck | PolicyCheck],
        changes: str = "",
    ) -> list[Verdict]:
        """One verdict for each criterion, in their order. EndpointDown and BudgetExceeded pass through."""
        if not criteria:
            return []
        shown = _shuffled(criteria, f"{trajectory.id}/{self._seat.seed}/{self._seat.sample}")
        messages = self._prompt.render(
            goals=[goal.intent for goal in task.goals],
            facts=[f"{fact.label}: {fact.spoken}" for fact in task.facts],
            criteria=[{"id": name, "text": _wording(check)} for name, check in shown.items()],
            events=[event_line(event) for event in trajectory.events],
            changes=changes,
            fence=content_id("transcript", [event.content for event in trajectory.events]),
            end=str(trajectory.end_reason),
        )
        answer = await self._seat.try_(
            messages,
            self._prompt.version,
            output_schema=schema_of(JudgeAnswer),
            temperature=self._temperature,
        )
        try:
            said = read_record(answer, JudgeAnswer).verdicts
            problem = ""
        except Unreadable as error:
            said, problem = [], str(error)
        names = {check.name: name for name, check in shown.items()}
        count = len(trajectory.events)
        return [self._verdict(check, names[check.name], said, count, problem) for check in criteria]

    def _verdict(
        self,
        check: ReplyCheck | PolicyCheck,
        name: str,
        said: Sequence[CriterionVerdict],
        count: int,
        problem: str,
    ) -> Verdict:
        mine = [entry for entry in said if entry.criterion == name]
        value, reason = Value.UNSCORED, problem
        evidence: tuple[int, ...] = ()
        if not problem and not mine:
            reason = "The judge said nothing of this criterion."
        elif len({entry.verdict for entry in mine}) > 1:
            reason = "The judge contradicts itself."
        elif mine:
            value, evidence, reason = _supported(mine[0], count)
        return Verdict(
            check=check.name,
            kind=check.kind,
            value=value,
            owner=Owner.JUDGE if value is Value.UNSCORED else Owner.AGENT,
            evidence=evidence,
            reason=reason,
            judge=self.name,
            prompt=self._prompt.version,
            mandatory=check.mandatory,
            weight=check.weight,
        )


def _supported(said: CriterionVerdict, count: int) -> tuple[Value, tuple[int, ...], str]:
    """A verdict counts only with evidence, and only with evidence that exists."""
    evidence = tuple(sorted(set(said.evidence)))
    missing = [index for index in evidence if not 0 <= index < count]
    if said.verdict == "unscored":
        return Value.UNSCORED, (), said.reasoning
    if missing:
        return Value.UNSCORED, (), f"The judge points at events that do not exist: {missing[:5]}."
    if not evidence:
        return Value.UNSCORED, (), "The judge gives no evidence."
    return Value(said.verdict), evidence, said.reasoning


def _shuffled(criteria: Sequence[ReplyCheck | PolicyCheck], seed: str) -> dict[str, ReplyCheck | PolicyCheck]:
    """The criteria under neutral ids, in an order that depends on the seed alone."""
    order = list(criteria)
    random.Random(seed).shuffle(order)
    return {f"c{number}": check for number, check in enumerate(order, 1)}


def _wording(check: ReplyCheck | PolicyCheck) -> str:
    if isinstance(check, PolicyCheck):
        return f"The assistant kept to this rule: {check.rule}"
    where = {"any": "", "last": " (in its last message)", "before_call": f" (before it called {check.tool})"}
    return f"The assistant said what is asked for{where[check.when]}: {check.criterion}"


def event_line(event: Event) -> str:
    """One event as a line of JSON: nothing in it can end the line or pass for another event."""
    shown: dict[str, object] = {"event": event.index, "role": event.role}
    if event.content:
        shown["content"] = _bounded(event.content)
    if event.calls:
        shown["calls"] = [{"tool": call.name, "arguments": _bounded(call.raw)} for call in event.calls]
    if event.role == "tool":
        shown |= {"tool": event.name, "ok": event.ok}
    if event.error_code:
        shown["error"] = event.error_code
    if event.fault is not None:
        effect = "its effect took place" if event.fault.committed else "it had no effect"
        shown["injected_fault"] = f"{event.fault.kind}; {effect}"
    return json.dumps(shown, ensure_ascii=False)


def _bounded(text: str) -> str:
    if len(text) <= _LONGEST:
        return text
    half = _LONGEST // 2
    return f"{text[:half]} …[{len(text) - 2 * half} characters left out]… {text[-half:]}"
