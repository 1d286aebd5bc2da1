"""The teacher as author of tasks: walks the tool graph in a copy of the world and keeps what really worked."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence

from pipeline.config.tasks import TasksConfig
from pipeline.records import Fact, Fault, Goal, Json, Persona, ReferenceCall, Task, Toolset, World
from pipeline.tasks.agents import agent_for, personas
from pipeline.tasks.rubric import build_rubric
from pipeline.tasks.values import mentions
from pipeline.teacher.drafts import Draft
from pipeline.worlds.sql import SqlWorld

TRIES = 25
"""Attempts at one task before the author gives it up."""


class TeacherAuthor:
    """Makes tasks for one world after the other. Equal seeds give equal tasks."""

    def __init__(self, config: TasksConfig) -> None:
        self.config = config

    async def worlds(self, count: int, seed: int) -> list[World]:
        """The teacher's worlds come from archetypes (`pipeline.tools.evolve`), not from here."""
        return []

    async def tasks(self, world: World, count: int, seed: int) -> list[Task]:
        """Up to `count` distinct tasks; fewer where the world does not give more."""
        found: dict[str, Task] = {}
        for number in range(count * 3):
            if len(found) == count:
                break
            rng = random.Random(f"{world.id}/{seed}/{number}")
            task = self._task(world, rng)
            if task is not None:
                found.setdefault(task.id, task)
        return list(found.values())

    def _task(self, world: World, rng: random.Random) -> Task | None:
        live = SqlWorld(world)
        try:
            for _ in range(TRIES):
                live.reset()
                draft = self._draft(world, live, rng)
                task = self._finish(world, live, draft, rng) if draft else None
                if task is not None:
                    return task
            return None
        finally:
            live.close()

    def _draft(self, world: World, live: SqlWorld, rng: random.Random) -> Draft | None:
        kinds = list(self.config.goal_kinds)
        weights = [self.config.goal_kinds[kind] for kind in kinds]
        counts = list(self.config.goal_counts)
        number = rng.choices(counts, [self.config.goal_counts[count] for count in counts])[0]
        draft = Draft(world, live, rng)
        for _ in range(number):
            kind = rng.choices(kinds, weights)[0]
            if draft.goals and kind in ("unserved", "talk", "refuse") and rng.random() < 0.5:
                kind = "act"
            if not draft.add(kind):
                break
        return draft if draft.goals else None

    # ---- the whole task ---------------------------------------------------------------------------------

    def _finish(self, world: World, live: SqlWorld, draft: Draft, rng: random.Random) -> Task | None:
        calls = draft.plan.calls
        live.reset()
        persona = rng.choice(personas())
        facts = tuple(
            self._disclosed(live, calls, fact, draft.goals, persona, rng)
            for fact in draft.plan.facts.values()
        )
        faults = self._faults(world, live, calls, rng)
        if not _reference_works(live, calls):
            return None
        tools = list(world.tools)
        rng.shuffle(tools)
        toolset = Toolset(
            tools=tuple(tools), relevant=tuple(dict.fromkeys(call.tool for call in calls)), worlds=(world.id,)
        )
        axes = _axes(draft.goals, calls, facts, faults)
        agent = agent_for(world, toolset, rng)
        told = {goal: values for goal, values in draft.told.items() if goal not in _unanswered(calls, faults)}
        rubric = build_rubric(world, live, draft.goals, calls, told, agent.confirms, faults)
        return Task(
            world=world.id,
            world_name=world.name,
            agent=agent,
            persona=persona,
            goals=tuple(draft.goals),
            facts=facts,
            axes=axes,
            difficulty=_difficulty(axes),
            faults=faults,
            rubric=rubric,
            reference=tuple(calls),
            author="teacher",
        )

    @staticmethod
    def _disclosed(
        live: SqlWorld,
        calls: Sequence[ReferenceCall],
        fact: Fact,
        goals: Sequence[Goal],
        persona: Persona,
        rng: random.Random,
    ) -> Fact:
        """When a fact comes out. One that every phrasing of a goal states is open by nature."""
        always = any(
            goal.phrasings and all(mentions(text, fact.spoken) for text in goal.phrasings) for goal in goals
        )
        if always or rng.random() < persona.upfront:
            return fact
        wrong = _slip(live, calls, fact, rng) if rng.random() < 2 * persona.slips else None
        return fact.replace(disclosure="corrected" if wrong else "asked", wrong=wrong)

    def _faults(
        self, world: World, live: SqlWorld, calls: Sequence[ReferenceCall], rng: random.Random
    ) -> tuple[Fault, ...]:
        if not calls or rng.random() >= self.config.fault_rate:
            return ()
        position = rng.randrange(len(calls))
        call = calls[position]
        nth = 1 + sum(1 for one in calls[:position] if one.tool == call.tool)
        kinds = ["error", "rate_limit", "timeout_before"]
        if not world.tool_by_name[call.tool].annotations.read_only:
            if not _visible(live, calls, position):
                kinds = ["error", "rate_limit"]
            else:
                kinds.append("timeout_after")
        kind = rng.choice(kinds)
        wait = float(rng.choice((2, 5, 10, 30))) if kind == "rate_limit" else 0.0
        return (Fault(tool=call.tool, nth=nth, kind=kind, wait=wait),)


def _unanswered(calls: Sequence[ReferenceCall], faults: Sequence[Fault]) -> set[int]:
    """Goals whose result is lost on the way, so that nobody can be asked to tell it."""
    lost = {(fault.tool, fault.nth) for fault in faults if fault.kind == "timeout_after"}
    seen: Counter[str] = Counter()
    goals = set()
    for call in calls:
        seen[call.tool] += 1
        if (call.tool, seen[call.tool]) in lost:
            goals.add(call.goal)
    return goals


def _reference_works(live: SqlWorld, calls: Sequence[ReferenceCall]) -> bool:
    """Runs the reference from the seed; leaves the final state in `live`."""
    live.reset()
    results: list[Json] = []
    for call in calls:
        for name, source in call.sources.items():
            if source.kind == "read" and source.step is not None and source.column is not None:
                rows = results[source.step]
                rows = rows if isinstance(rows, list) else [rows]
                if not any(
                    isinstance(row, dict) and row.get(source.column) == call.arguments[name] for row in rows
                ):
                    return False
        result = live.call(call.tool, call.arguments)
        code = None if result.ok else (result.error or ("", ""))[0]
        if code != call.error:
            return False
        results.append(result.value)
    return True


def _visible(live: SqlWorld, calls: Sequence[ReferenceCall], position: int) -> bool:
    """Whether reading again shows if a write took place: the last lookup before it answers differently after it."""
    reads = [call for call in calls[:position] if call.error is None]
    if not reads:
        return False
    live.reset()
    answers: list[Json] = [live.call(call.tool, call.arguments).value for call in calls[:position]]
    last = calls[position - 1]
    write = live.call(calls[position].tool, calls[position].arguments)
    if not write.ok:
        return False
    return bool(live.call(last.tool, last.arguments).value != answers[position - 1])


def _slip(live: SqlWorld, calls: Sequence[ReferenceCall], fact: Fact, rng: random.Random) -> str | None:
    """A wrong version of a fact by which something is looked up: one digit changed, so that nothing is found."""
    text = fact.spoken
    places = [i for i, letter in enumerate(text) if letter.isdigit()]
    if text != fact.value or len(places) < 4:
        return None
    using = [(call, n) for call in calls for n, source in call.sources.items() if source.fact == fact.name]
    if not using or not all(live.tools[call.tool].annotations.read_only for call, _ in using[:1]):
        return None
    place = rng.choice(places[1:])
    digit = str((int(text[place]) + rng.randint(1, 8)) % 10)
    wrong = text[:place] + digit + text[place + 1 :]
    call, name = using[0]
    return None if live.call(call.tool, {**call.arguments, name: wrong}).ok else wrong


def _axes(
    goals: Sequence[Goal], calls: Sequence[ReferenceCall], facts: Sequence[Fact], faults: Sequence[Fault]
) -> dict[str, float]:
    hops = sum(any(source.kind == "read" for source in call.sources.values()) for call in calls)
    values = {
        "goals": len(goals),
        "calls": len(calls),
        "hops": hops,
        "hidden_facts": sum(fact.disclosure != "open" for fact in facts),
        "corrections": sum(fact.disclosure == "corrected" for fact in facts),
        "consents": sum(len(goal.consent) for goal in goals),
        "policy_conflicts": sum(goal.kind == "refuse" for goal in goals),
        "unserved": sum(goal.kind == "unserved" for goal in goals),
        "talk": sum(goal.kind == "talk" for goal in goals),
        "recoveries": len(faults),
    }
    return {name: float(value) for name, value in values.items()}


def _difficulty(axes: dict[str, float]) -> str:
    score = (
        axes["calls"]
        + 1.5 * (axes["goals"] - 1)
        + 0.5 * axes["hidden_facts"]
        + axes["corrections"]
        + axes["consents"]
        + axes["policy_conflicts"]
        + 1.5 * axes["recoveries"]
    )
    return "simple" if score < 3 else "moderate" if score < 5.5 else "hard" if score < 9 else "expert"
