"""Drafts of tasks: goals one after the other, each tried in a live copy of the world before it is taken."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

from pipeline.records import (
    ArgumentSource,
    Goal,
    Json,
    Question,
    ReferenceCall,
    ToolSpec,
    Witness,
    World,
)
from pipeline.tasks.chains import PLACEHOLDER, ChainBuilder, Plan, fill
from pipeline.tasks.graph import sample_rows, tool_graph
from pipeline.tasks.persons import Person, persons
from pipeline.tasks.telling import plain
from pipeline.tasks.values import mentions
from pipeline.teacher.told import told_values
from pipeline.worlds.admission import fitted
from pipeline.worlds.mixed import ahead
from pipeline.worlds.sql import SqlWorld


class Draft:
    """A growing task in one world. `live` is in the state after the goals taken so far, its clock at `clock` in the
    beginning."""

    def __init__(self, world: World, live: SqlWorld, rng: random.Random, clock: str = "") -> None:
        self.world = world
        self._clock = clock or world.clock
        self.live = live
        self.plan = Plan()
        self.goals: list[Goal] = []
        self.told: dict[int, tuple[str, ...]] = {}
        """For each goal the values that the agent has to communicate."""
        self._rng = rng
        self._chains = ChainBuilder(tool_graph(world), rng)
        self._people: list[frozenset[Person]] = []

    @property
    def personal(self) -> bool:
        """Whether a goal is about somebody's own rows."""
        return any(self._people)

    def add(self, kind: str) -> bool:
        """One more goal of a kind; False when none can be found."""
        if kind in ("unserved", "talk"):
            pool = self.world.words.out_of_scope if kind == "unserved" else self.world.words.policy_questions
            if pool:
                self._add_question(self._rng.choice(pool), kind)
            return bool(pool)
        used = {call.tool for call in self.plan.calls if call.tool in self._final_tools()}
        tools = [tool for tool in self.world.tools if self._serves(tool, kind) and tool.name not in used]
        self._rng.shuffle(tools)
        return any(self._add_tool(tool, kind) for tool in tools[:6])

    def _final_tools(self) -> set[str]:
        last = {call.goal: call.tool for call in self.plan.calls}
        return set(last.values())

    def _add_question(self, question: Question, kind: str) -> None:
        self.goals.append(
            Goal(
                intent=self._rng.choice(question.ask),
                phrasings=question.ask,
                kind="unserved" if kind == "unserved" else "talk",
                answer=question.answer,
            )
        )
        self.told[len(self.goals) - 1] = question.values

    def _serves(self, tool: ToolSpec, kind: str) -> bool:
        words = self.world.words.tools.get(tool.name)
        if words is None or not words.ask or tool.program is None:
            return False
        if kind == "ask":
            return tool.annotations.read_only
        return not tool.annotations.read_only and (kind == "act" or bool(tool.errors))

    # ---- one tool ---------------------------------------------------------------------------------------

    def _add_tool(self, tool: ToolSpec, kind: str) -> bool:
        assert tool.program is not None
        witnesses = [w for w in tool.program.witnesses if (w.error is not None) == (kind == "refuse")]
        self._rng.shuffle(witnesses)
        return any(self._add_witness(tool, kind, witness) for witness in witnesses[:3])

    def _add_witness(self, tool: ToolSpec, kind: str, witness: Witness) -> bool:
        """A goal from one witness; calls that have to come first become goals before it, in a fresh world only."""
        if not witness.before:
            rows = sample_rows(self.live, tool, witness, 8, self._rng)
            return any(self._try(tool, kind, arguments, witness.error) for arguments in rows)
        if self.goals:
            return False
        calls = [(self.world.tool_by_name[one.tool], one.arguments) for one in witness.before]
        for number, (one, given) in enumerate([*calls, (tool, witness.arguments)]):
            arguments, error = fitted(one, given), witness.error if number == len(calls) else None
            step_kind = "ask" if one.annotations.read_only else "refuse" if error else "act"
            if not self._serves(one, step_kind) or not self._try(one, step_kind, arguments, error):
                self._forget()
                return False
        return True

    def _forget(self) -> None:
        self.live.reset()
        self.live.advance(ahead(self.world, self._clock))
        self.plan, self.goals, self.told, self._people = Plan(), [], {}, []

    def _try(self, tool: ToolSpec, kind: str, arguments: dict[str, Json], error: str | None) -> bool:
        """Takes a call as the next goal if a person can ask for it, and it really ends as it should."""
        arguments = self._without_needless_consent(tool, arguments)
        plan, index = self.plan.copy(), len(self.goals)
        sources = self._chains.sources(plan, index, tool.name, arguments)
        if sources is None or any(one.tool == tool.name and one.arguments == arguments for one in plan.calls):
            return False
        if kind == "refuse" and not self._worth_refusing(tool, sources, arguments):
            return False
        people = self._behind(plan, index, tool, arguments)
        if not all(_same_person(people, other) for other in self._people):
            return False
        before = self.live.snapshot()
        result = self.live.call(tool.name, arguments)
        if (None if result.ok else (result.error or ("", ""))[0]) != error:
            if result.ok:
                self.live.restore(before)
            return False
        said = {text for fact in plan.facts.values() for text in (fact.spoken, str(fact.value))}
        told = told_values(self.world, tool, result.value) if result.ok else ()
        told = tuple(value for value in told if value not in said)
        if kind == "ask" and not told:
            return False
        call = ReferenceCall(goal=index, tool=tool.name, arguments=arguments, sources=sources, error=error)
        plan.calls.append(call)
        if result.ok and isinstance(result.value, dict):
            plan.rows[len(plan.calls) - 1] = result.value
        self.plan = plan
        self.goals.append(self._goal(tool, call, kind))
        self.told[index] = told
        self._people.append(people)
        return True

    def _without_needless_consent(self, tool: ToolSpec, arguments: dict[str, Json]) -> dict[str, Json]:
        """Consents that make no difference are not asked for: what they are about does not apply."""
        about = self.world.words.tools[tool.name].arguments
        given = {name: False for name, word in about.items() if word.consent and arguments.get(name)}
        if not given:
            return arguments
        before = self.live.snapshot()
        outcomes = []
        for one in (arguments, {**arguments, **given}):
            result = self.live.call(tool.name, one)
            outcomes.append((result.ok, (result.error or ("", ""))[0]))
            self.live.restore(before)
        return {**arguments, **given} if outcomes[0] == outcomes[1] else arguments

    def _worth_refusing(
        self, tool: ToolSpec, sources: Mapping[str, ArgumentSource], arguments: dict[str, Json]
    ) -> bool:
        """A refusal by policy, not a mistyped value, and not one that consent would lift."""
        if not any(source.kind == "read" for source in sources.values()):
            return False
        about = self.world.words.tools[tool.name].arguments
        agreed = {name: True for name, word in about.items() if word.consent and not arguments.get(name)}
        if not agreed:
            return True
        before = self.live.snapshot()
        refused, still = (
            self.live.call(tool.name, given).error for given in (arguments, {**arguments, **agreed})
        )
        self.live.restore(before)
        return refused is not None and still is not None and refused[0] == still[0]

    def _behind(self, plan: Plan, goal: int, tool: ToolSpec, arguments: dict[str, Json]) -> frozenset[Person]:
        """The persons whose rows a goal's calls name."""
        known = persons(self.world)
        found: frozenset[Person] = frozenset()
        calls = [(one.tool, one.arguments) for one in plan.calls if one.goal == goal]
        for called, given in [*calls, (tool.name, arguments)]:
            about = self.world.words.tools[called].arguments
            for name, value in given.items():
                source = about[name].source if name in about else ""
                found |= known.of(source, value) if source else known.named(name, value)
        return found

    # ---- its words --------------------------------------------------------------------------------------

    def _goal(self, tool: ToolSpec, call: ReferenceCall, kind: str) -> Goal:
        words = self.world.words.tools[tool.name]
        facts = tuple(
            dict.fromkeys(name for one in self.plan.calls if one.goal == call.goal for name in facts_of(one))
        )
        full = fill(words.ask[0], self._values(call, vague=False))
        said: list[str] = []
        doubtful: list[str] = []
        for template in words.ask:
            text = fill(template, self._values(call, vague=self._rng.random() < 0.5))
            (doubtful if self._says_by_chance(text, template, call, facts) else said).append(text)
        return Goal(
            intent=full,
            phrasings=tuple(dict.fromkeys(said or doubtful)),
            reasons=words.because,
            facts=facts,
            kind="ask" if kind == "ask" else "refuse" if kind == "refuse" else "act",
            consent=tuple(
                about.consent
                for name, about in words.arguments.items()
                if about.consent and call.arguments.get(name)
            ),
            devices=tuple(
                about.device
                for name, about in words.arguments.items()
                if about.device and call.arguments.get(name)
            ),
        )

    def _says_by_chance(self, text: str, template: str, call: ReferenceCall, facts: Sequence[str]) -> bool:
        """Whether a phrasing holds a fact's plain value without meaning the fact."""
        meant = {call.sources[name].fact for name in PLACEHOLDER.findall(template) if name in call.sources}
        return any(
            plain(self.plan.facts[name].spoken) and mentions(text, self.plan.facts[name].spoken)
            for name in facts
            if name not in meant
        )

    def _values(self, call: ReferenceCall, *, vague: bool) -> dict[str, str]:
        values = {}
        for name, value in call.arguments.items():
            about = self.world.words.tools[call.tool].arguments.get(name)
            source = call.sources.get(name)
            fact = self.plan.facts.get(source.fact) if source and source.fact else None
            if about and about.source and not about.known:
                entity = self.world.words.entities[about.source.split(".")[0]]
                if fact is not None and not vague:
                    values[name] = fact.spoken
                else:
                    values[name] = self._rng.choice(entity.vague) if entity.vague else f"the {entity.noun}"
            elif fact is not None:
                values[name] = fact.spoken
            else:
                values[name] = self._chains.spoken(name, value)
        return values


def facts_of(call: ReferenceCall) -> list[str]:
    """The names of the facts that a call needs."""
    names = [source.fact for source in call.sources.values() if source.fact]
    return [*names, *([call.fact] if call.fact else [])]


def _same_person(one: frozenset[Person], other: frozenset[Person]) -> bool:
    """Whether two goals can be one person's: where both name persons of a table, they have one in common."""
    return all(
        {person for person in one if person[0] == table} & {person for person in other if person[0] == table}
        for table in {person[0] for person in one} & {person[0] for person in other}
    )
