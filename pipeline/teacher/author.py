"""The teacher as author of tasks: walks the tool graph in a copy of the world and keeps what really worked."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from pipeline.config.tasks import TasksConfig
from pipeline.records import (
    ArgumentSource,
    Fact,
    Fault,
    Goal,
    Json,
    Persona,
    Question,
    ReferenceCall,
    Task,
    Toolset,
    ToolSpec,
    World,
)
from pipeline.tasks.agents import agent_for, personas
from pipeline.tasks.chains import PLACEHOLDER, ChainBuilder, Plan, fill
from pipeline.tasks.graph import sample_rows, tool_graph
from pipeline.tasks.rubric import _generated, build_rubric, result_values
from pipeline.tasks.telling import plain
from pipeline.tasks.values import mentions, spoken
from pipeline.worlds.sql import SqlWorld

TRIES = 25
"""Attempts at one task before the author gives it up."""
LISTED = 5
"""Rows of a list that are told one by one."""


@dataclass
class _Draft:
    plan: Plan = field(default_factory=Plan)
    goals: list[Goal] = field(default_factory=list)
    told: dict[int, tuple[str, ...]] = field(default_factory=dict)


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

    # ---- goals ------------------------------------------------------------------------------------------

    def _draft(self, world: World, live: SqlWorld, rng: random.Random) -> _Draft | None:
        kinds = list(self.config.goal_kinds)
        weights = [self.config.goal_kinds[kind] for kind in kinds]
        counts = list(self.config.goal_counts)
        number = rng.choices(counts, [self.config.goal_counts[count] for count in counts])[0]
        draft, chains = _Draft(), ChainBuilder(tool_graph(world), rng)
        used: set[str] = set()
        for index in range(number):
            kind = rng.choices(kinds, weights)[0]
            if index and kind in ("unserved", "talk", "refuse") and rng.random() < 0.5:
                kind = "act"
            if not self._add_goal(world, live, draft, chains, kind, index, used, rng):
                return draft if index else None
        return draft

    def _add_goal(
        self,
        world: World,
        live: SqlWorld,
        draft: _Draft,
        chains: ChainBuilder,
        kind: str,
        index: int,
        used: set[str],
        rng: random.Random,
    ) -> bool:
        if kind in ("unserved", "talk"):
            pool = world.words.out_of_scope if kind == "unserved" else world.words.policy_questions
            return bool(pool) and self._add_question(draft, rng.choice(pool), kind, rng)
        tools = [tool for tool in world.tools if self._serves(world, tool, kind) and tool.name not in used]
        rng.shuffle(tools)
        for tool in tools[:6]:
            if self._add_tool_goal(world, live, draft, chains, kind, index, tool, rng):
                used.add(tool.name)
                return True
        return False

    @staticmethod
    def _add_question(draft: _Draft, question: Question, kind: str, rng: random.Random) -> bool:
        wish = rng.choice(question.ask)
        draft.goals.append(
            Goal(
                intent=wish,
                phrasings=question.ask,
                kind="unserved" if kind == "unserved" else "talk",
                answer=question.answer,
            )
        )
        draft.told[len(draft.goals) - 1] = question.values
        return True

    @staticmethod
    def _serves(world: World, tool: ToolSpec, kind: str) -> bool:
        words = world.words.tools.get(tool.name)
        if words is None or not words.ask or tool.program is None:
            return False
        if kind == "ask":
            return tool.annotations.read_only
        return not tool.annotations.read_only and (kind == "act" or bool(tool.errors))

    def _add_tool_goal(
        self,
        world: World,
        live: SqlWorld,
        draft: _Draft,
        chains: ChainBuilder,
        kind: str,
        index: int,
        tool: ToolSpec,
        rng: random.Random,
    ) -> bool:
        assert tool.program is not None
        witnesses = [
            w for w in tool.program.witnesses if not w.before and (w.error is not None) == (kind == "refuse")
        ]
        rng.shuffle(witnesses)
        for witness in witnesses[:3]:
            for arguments in sample_rows(live, tool, witness, 8, rng):
                plan = draft.plan.copy()
                sources = chains.sources(plan, index, tool.name, arguments)
                if sources is None:
                    continue
                if kind == "refuse" and not _worth_refusing(world, live, tool, sources, arguments):
                    continue
                result = live.call(tool.name, arguments)
                if result.ok == (kind == "refuse"):
                    continue
                said = {fact.spoken for fact in plan.facts.values()} | {
                    str(f.value) for f in plan.facts.values()
                }
                told = (
                    tuple(v for v in _told(world, tool, result.value) if v not in said) if result.ok else ()
                )
                if kind == "ask" and not told:
                    continue
                call = ReferenceCall(
                    goal=index, tool=tool.name, arguments=arguments, sources=sources, error=witness.error
                )
                if any(one.tool == call.tool and one.arguments == call.arguments for one in plan.calls):
                    continue
                plan.calls.append(call)
                if result.ok and isinstance(result.value, dict):
                    plan.rows[len(plan.calls) - 1] = result.value
                draft.plan = plan
                draft.goals.append(self._goal(world, tool, call, plan, kind, rng))
                draft.told[index] = told
                return True
        return False

    def _goal(
        self, world: World, tool: ToolSpec, call: ReferenceCall, plan: Plan, kind: str, rng: random.Random
    ) -> Goal:
        words = world.words.tools[tool.name]
        facts = tuple(
            dict.fromkeys(name for one in plan.calls if one.goal == call.goal for name in _facts_of(one))
        )
        full: list[str] = []
        said: list[str] = []
        doubtful: list[str] = []
        for template in words.ask:
            full.append(fill(template, self._values(world, call, plan, rng, vague=False)))
            text = fill(template, self._values(world, call, plan, rng, vague=rng.random() < 0.5))
            meant = {
                call.sources[name].fact for name in PLACEHOLDER.findall(template) if name in call.sources
            }
            chance = (plan.facts[name].spoken for name in facts if name not in meant)
            (doubtful if any(plain(word) and mentions(text, word) for word in chance) else said).append(text)
        said = said or doubtful
        return Goal(
            intent=full[0],
            phrasings=tuple(dict.fromkeys(said)),
            reasons=words.because,
            facts=facts,
            kind="ask" if kind == "ask" else "refuse" if kind == "refuse" else "act",
            consent=tuple(
                about.consent
                for name, about in words.arguments.items()
                if about.consent and call.arguments.get(name)
            ),
        )

    @staticmethod
    def _values(
        world: World, call: ReferenceCall, plan: Plan, rng: random.Random, *, vague: bool
    ) -> dict[str, str]:
        values = {}
        for name, value in call.arguments.items():
            about = world.words.tools[call.tool].arguments.get(name)
            source = call.sources.get(name)
            fact = plan.facts.get(source.fact) if source and source.fact else None
            if about and about.source and not about.known:
                entity = world.words.entities[about.source.split(".")[0]]
                if fact is not None and not vague:
                    values[name] = fact.spoken
                else:
                    values[name] = rng.choice(entity.vague) if entity.vague else f"the {entity.noun}"
            elif fact is not None:
                values[name] = fact.spoken
            else:
                values[name] = spoken(value, rng, name, int(world.clock[:4]))
        return values

    # ---- the whole task ---------------------------------------------------------------------------------

    def _finish(self, world: World, live: SqlWorld, draft: _Draft, rng: random.Random) -> Task | None:
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
        rubric = build_rubric(world, live, draft.goals, calls, draft.told, agent.confirms, faults)
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


def _facts_of(call: ReferenceCall) -> list[str]:
    names = [source.fact for source in call.sources.values() if source.fact]
    return [*names, *([call.fact] if call.fact else [])]


def _worth_refusing(
    world: World,
    live: SqlWorld,
    tool: ToolSpec,
    sources: dict[str, ArgumentSource],
    arguments: dict[str, Json],
) -> bool:
    """A refusal by policy, not a mistyped value, and not one that consent would lift."""
    if not any(source.kind == "read" for source in sources.values()):
        return False
    about = world.words.tools[tool.name].arguments
    agreed = {name: True for name, word in about.items() if word.consent and not arguments.get(name)}
    if not agreed:
        return True
    before = live.snapshot()
    refused, still = (live.call(tool.name, given).error for given in (arguments, {**arguments, **agreed}))
    live.restore(before)
    return refused is not None and still is not None and refused[0] == still[0]


def _told(world: World, tool: ToolSpec, value: Json) -> tuple[str, ...]:
    """What the user has to learn: the columns that all (or most) ways of telling the result have in common."""
    words = world.words.tools[tool.name]
    if isinstance(value, list):
        if not 1 <= len(value) <= LISTED:
            return ()
        names = [
            name
            for name in PLACEHOLDER.findall(words.each)
            if any(row.get(name) is not None for row in value)
        ]
        return tuple(dict.fromkeys(v for row in value for v in result_values(row, names[:1])))
    return tuple(v for v in result_values(value, told_columns(world, words.done, value)) if not _generated(v))


def told_columns(world: World, sentences: Sequence[str], row: dict[str, Json]) -> list[str]:
    """The result columns that every sentence names, else the one that most of them name; identifiers do not count."""
    ids = {
        name
        for words in world.words.tools.values()
        for name, about in words.arguments.items()
        if about.source
    }
    named = [
        {name for name in PLACEHOLDER.findall(text) if row.get(name) is not None and name not in ids}
        for text in sentences
    ]
    if not any(named):
        return []
    common = set.intersection(*named)
    if common:
        return sorted(common)
    counts = Counter(name for names in named for name in sorted(names))
    return [counts.most_common(1)[0][0]] if counts else []


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
