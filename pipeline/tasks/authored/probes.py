"""Two probes of a proposed task's wording.

A solver that sees only the user's first message must fail where facts are hidden: else the wording gives them away, or
they do not matter. A solver with all facts must not need anything else: else the wording hides something needed.
The rule-based solver of the first kind knows even which calls to make, so that only facts can be what it lacks.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from pipeline.records import (
    AgentTurn,
    Fact,
    Json,
    Message,
    PolicyCheck,
    ReferenceCall,
    Task,
    ToolCall,
    ToolSpec,
)
from pipeline.tasks.telling import states


def hides(task: Task) -> bool:
    """Whether a fact comes out only when it is asked for."""
    return any(fact.disclosure != "open" for fact in task.facts)


def first_message_only(task: Task) -> Task:
    """The task for the first probe: what is hidden is known to nobody, and no yes is demanded, which this solver
    could never get."""
    hidden = {fact.name for fact in task.facts if fact.disclosure != "open"}
    goals = tuple(
        goal.replace(facts=tuple(name for name in goal.facts if name not in hidden)) for goal in task.goals
    )
    checks = tuple(
        check
        for check in task.rubric.checks
        if not (isinstance(check, PolicyCheck) and check.form == "consent")
    )
    return task.replace(goals=goals, rubric=task.rubric.replace(checks=checks))


def all_facts_at_once(task: Task) -> Task:
    """The task for the second probe: the first message says everything that there is to say."""
    facts = tuple(fact.replace(disclosure="open", wrong=None) for fact in task.facts)
    goals = tuple(goal.replace(phrasings=(goal.intent,)) for goal in task.goals)
    persona = task.persona.replace(upfront=1.0, slips=0.0)
    return task.replace(facts=facts, goals=goals, persona=persona)


def unsupported(task: Task) -> list[str]:
    """Arguments of the reference that nobody tells and nothing read gives: what a solver with all facts still lacks."""
    told = {fact.name: fact for fact in task.facts}
    owned = {name for goal in task.goals for name in goal.facts}
    schemas = {tool.name: tool.input_schema.get("properties", {}) for tool in task.agent.toolset.tools}
    found = []
    for call in task.reference:
        for name, value in call.arguments.items():
            source = call.sources.get(name)
            default = schemas.get(call.tool, {}).get(name, {}).get("default", _MISSING)
            fine = source is not None and (
                (source.kind == "told" and source.fact in told and source.fact in owned)
                or (source.kind == "read" and (source.fact is None or source.fact in owned))
                or source.kind == "consent"
                or (source.kind == "fixed" and value == default)
            )
            if not fine:
                found.append(f"{call.tool}.{name}")
    return found


_MISSING = object()


class FirstMessageSolver:
    """Makes the reference's calls with what the first message tells, and guesses the rest; asks nothing."""

    def __init__(self, task: Task) -> None:
        self._task = task
        self._facts = {fact.name: fact for fact in task.facts}
        self._schemas = {
            tool.name: tool.input_schema.get("properties", {}) for tool in task.agent.toolset.tools
        }
        self._results: list[Json] = []
        self._done = 0

    async def act(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> AgentTurn:
        last = messages[-1]
        if last.role == "tool":
            self._results.append(_read(last.content))
        if self._done < len(self._task.reference):
            call = self._task.reference[self._done]
            self._done += 1
            first = next(message.content for message in messages if message.role == "user")
            arguments = {name: self._value(call, name, first) for name in call.arguments}
            raw = json.dumps(arguments, ensure_ascii=False)
            made = ToolCall(id=f"call_{self._done}", name=call.tool, raw=raw, arguments=arguments)
            return AgentTurn(calls=(made,))
        return AgentTurn(content=f"It is done. {_said(self._results[-1:])}")

    def _value(self, call: ReferenceCall, name: str, first: str) -> Json:
        source, planned = call.sources.get(name), call.arguments[name]
        if source is None or source.kind in ("fixed", "consent"):
            return planned
        fact = self._facts.get(source.fact or "")
        if source.kind == "told":
            return planned if fact and self._heard(fact, first) else self._guess(call.tool, name, planned)
        found = [row.get(source.column or name) for row in self._rows(source.step)]
        if fact is not None and not self._heard(fact, first):
            found = [value for value in found if value != planned]
        elif planned in found:
            return planned
        return found[0] if found else self._guess(call.tool, name, planned)

    def _heard(self, fact: Fact, text: str) -> bool:
        return states(text, fact, self._task.goals)

    def _rows(self, step: int | None) -> list[dict[str, Json]]:
        value = self._results[step] if step is not None and step < len(self._results) else None
        return [row for row in (value if isinstance(value, list) else [value]) if isinstance(row, dict)]

    def _guess(self, tool: str, name: str, planned: Json) -> Json:
        """What has been read under this name, else what the schema suggests; never the right value by mere luck."""
        schema = self._schemas.get(tool, {}).get(name, {})
        seen = [
            row[name]
            for result in reversed(self._results)
            for row in (result if isinstance(result, list) else [result])
            if isinstance(row, dict) and row.get(name) is not None
        ]
        made_up: dict[str, list[Json]] = {"integer": [1, 2], "number": [1.0, 2.0], "boolean": [True, False]}
        further = made_up.get(str(schema.get("type")), ["unknown"])
        options = [*seen, schema.get("default"), *schema.get("enum", ()), *further]
        return next((one for one in options if one is not None and one != planned), None)


def _read(content: str) -> Json:
    try:
        return json.loads(content)
    except ValueError:
        return None


def _said(results: Sequence[Json]) -> str:
    """Everything that the last result holds, so that no told value is missing for want of words."""
    parts = []
    for result in results:
        for row in result if isinstance(result, list) else [result]:
            if isinstance(row, dict):
                parts.append(", ".join(f"{key.replace('_', ' ')} {value}" for key, value in row.items()))
    return "; ".join(parts)[:3000]
