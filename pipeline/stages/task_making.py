"""One task by a model: wish with its calls, facts, checks; then the gate and two probes, their reports fed back."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from pipeline.config import Config
from pipeline.models.players.author import Asker, Checked, Problem, Said, Step, fence, lines, settle
from pipeline.models.players.author.answers import Assertions, Cast, Facts, Wish, Wishes
from pipeline.models.players.policy import ModelPolicy
from pipeline.models.players.seat import Seat
from pipeline.records import (
    Fact,
    Goal,
    Json,
    Persona,
    Policy,
    Record,
    StateCheck,
    Task,
    Toolset,
    Usage,
    World,
)
from pipeline.tasks.agents import agent_for, personas
from pipeline.tasks.authored.knowledge import asserted, facts_to_word, worded
from pipeline.tasks.authored.probes import (
    FirstMessageSolver,
    all_facts_at_once,
    first_message_only,
    hides,
    unsupported,
)
from pipeline.tasks.authored.wanted import Wanted
from pipeline.tasks.authored.wishes import Planned, Stage, planned
from pipeline.tasks.gate import Attempt, gate
from pipeline.tasks.lives import Lives
from pipeline.tasks.rubric import build_rubric
from pipeline.teacher.axes import axes_of, difficulty
from pipeline.teacher.policy import TeacherPolicy
from pipeline.teacher.told import told_values
from pipeline.tools.evolve.authored.texts import as_texts, foreign, instructing, unsafe
from pipeline.worlds.sql import SqlHost, SqlWorld

_SHOWN_ROWS, _SHOWN_WISHES = 3, 6


@dataclass
class Proposal:
    """One task on its way: its talk, its account, and the task once there is one."""

    wanted: Wanted
    persona: Persona
    steps: list[Step] = field(default_factory=list)
    task: Task | None = None
    kind: str = ""
    message: str = ""
    evidence: dict[str, Any] = field(default_factory=dict)
    signature: str = ""


class TaskMaker:
    """Proposes the tasks of one world. `solver` is a seat of the model that plays the policy, for the probes; or None."""

    def __init__(
        self,
        pen: Asker,
        config: Config,
        world: World,
        attempt: Attempt,
        solver: Seat | None = None,
        language: str = "en",
        host: Callable[[], Stage] | None = None,
    ) -> None:
        """`attempt` plays the finished task; `host` opens a fresh one for its calls, that of a SQL world when not given."""
        self._pen = pen
        self._config = config
        self._world = world
        self._attempt = attempt
        self._solver = solver
        self._language = language
        self.host: Callable[[], Stage] = host or (lambda: SqlHost(world))
        self._about = f"{world.name} ({world.domain.path}): {world.summary}"
        self._people: list[Persona] = []
        self._agents: tuple[str, ...] = ()
        self.seen: dict[str, str] = {}
        """Signatures of the calls of admitted tasks, with their intents."""
        self.steps: list[Step] = []
        self.admitted: list[tuple[Wanted, Task]] = []

    async def cast(self, rng: random.Random) -> None:
        """Agents and personas of this world; where the model names none, those that ship."""
        styles = [one.style for one in personas()]
        step = Step("cast", self._world.name)
        self.steps.append(step)
        found = await self._settle("cast", Cast, lambda answer: Checked(answer), step, styles=styles[:12])
        if found is not None:
            self._agents = tuple(found.agents)
            self._people = [
                Persona(
                    name=one.name,
                    style=one.style,
                    language=self._language,
                    patience=max(8, one.patience),
                    upfront=one.upfront,
                )
                for one in found.personas
            ]
        self._people = self._people or rng.sample(list(personas()), 3)

    async def propose(self, wanted: Wanted, rng: random.Random) -> Proposal:
        """One task, or why there is none. Each repair shows the model what the gate or a probe said."""
        proposal = Proposal(wanted, rng.choice(self._people))
        wish = self._wish_talk(wanted, proposal.persona)
        for attempt in range(self._config.author.repairs + 1):
            plan = await wish(proposal)
            if plan is None:
                return proposal
            await self._task(plan, proposal, random.Random(f"{self._world.id}/{plan.signature}"))
            if proposal.task is None:
                wish.object(f"With this wish there were no fitting facts: {proposal.message}")
                continue
            proposal.kind, proposal.message = await self._proven(proposal)
            step = Step("gate", proposal.task.id, asked=1, repairs=attempt, kept=not proposal.kind)
            step.kind, step.message = proposal.kind, proposal.message
            step.caught = [proposal.kind] if proposal.kind else []
            proposal.steps.append(step)
            if not proposal.kind:
                proposal.signature = plan.signature
                return proposal
            wish.object(f"The task was tried out: {proposal.message}")
        return proposal

    # ---- the parts --------------------------------------------------------------------------------------

    def _wish_talk(self, wanted: Wanted, persona: Persona) -> _WishTalk:
        world = self._world
        inputs: dict[str, Any] = {
            "world": f"{self._about}\nToday is {world.clock}.",
            "policy": world.policy_text,
            "tools": [_shown(tool) for tool in world.tools],
            "rows": _some_rows(world),
            "persona": persona.style,
            "wanted": str(wanted),
            "goals": wanted.goals,
            "near": lines(list(self.seen.values())[-_SHOWN_WISHES:]),
        }
        mark = fence(inputs["world"], *inputs.values())
        talk = self._pen.begin("wish", language=self._language, fence=mark, **inputs)
        return _WishTalk(self, talk, wanted)

    async def _task(self, plan: Planned, proposal: Proposal, rng: random.Random) -> None:
        """Facts, checks and the rest of a task around calls that have been made."""
        world = self._world
        facts: Sequence[Fact] | None = list(plan.which.values())
        step = Step("facts", plan.intent[:80])
        if plan.told:
            proposal.steps.append(step)
            facts = await self._settle(
                "facts", Facts, lambda answer: worded(plan, answer), step, intent=plan.intent,
                phrasings=plan.texts, facts=facts_to_word(plan), hidden=proposal.wanted.hidden,
            )  # fmt: skip
        if facts is None:
            proposal.task, proposal.kind, proposal.message = None, step.kind, f"facts: {step.message}"
            return
        before, after = SqlWorld(world), self.host()
        try:
            for call in plan.calls:
                await after.call(call.tool, call.arguments)
            checks = await self._assertions(plan, before, after.live, proposal)
            proposal.task = self._assembled(plan, facts, checks, after.live, proposal, rng)
        finally:
            before.close()
            await after.close()

    async def _assertions(
        self, plan: Planned, before: SqlWorld, after: SqlWorld, proposal: Proposal
    ) -> Sequence[StateCheck]:
        changes = after.changes()
        if not changes:
            return ()
        step = Step("checks", plan.intent[:80])
        proposal.steps.append(step)
        shown = lines(
            {"table": one.table, "key": one.key, "before": one.old, "after": one.new} for one in changes[:12]
        )
        found = await self._settle(
            "checks", Assertions, lambda answer: asserted(before, after, answer, self._world.clock), step,
            world=f"{self._about}\n{self._world.schema_sql}", intent=plan.intent, changed=shown,
        )  # fmt: skip
        return found or ()

    def _assembled(
        self,
        plan: Planned,
        facts: Sequence[Fact],
        checks: Sequence[StateCheck],
        after: SqlWorld,
        proposal: Proposal,
        rng: random.Random,
    ) -> Task:
        world = self._world
        goals = [_goal(world, plan, number) for number in range(len(plan.wishes))]
        tools = list(world.tools)
        rng.shuffle(tools)
        relevant = tuple(dict.fromkeys(call.tool for call in plan.calls))
        toolset = Toolset(tools=tuple(tools), relevant=relevant, worlds=(world.id,))
        voice = world if not self._agents else world.replace(words=world.words.replace(agent=self._agents))
        agent = agent_for([voice], toolset, world.clock, rng)
        told = {number: _told(world, plan, number) for number in range(len(goals))}
        rubric = build_rubric(Lives(world, [after]), toolset, goals, plan.calls, told, agent, ())
        axes = axes_of(world, goals, plan.calls, facts, (), toolset, 1, 0)
        return Task(
            world=world.id,
            world_name=world.name,
            agent=agent,
            persona=proposal.persona,
            goals=tuple(goals),
            facts=tuple(facts),
            axes=axes,
            difficulty=difficulty(axes),
            rubric=rubric.replace(checks=(*rubric.checks, *checks)),
            reference=tuple(plan.calls),
            author=self._pen.author,
        )

    # ---- the proof --------------------------------------------------------------------------------------

    async def _proven(self, proposal: Proposal) -> Problem:
        """("", "") for a task that the gate and the probes let in, else kind and message."""
        task = proposal.task
        assert task is not None
        report = await gate(
            task,
            self._attempt,
            lambda one, number: TeacherPolicy(one, self._world, f"gate/{number}"),
            self._config.seed,
            self._config.tasks.max_passing_mutations,
        )
        proposal.evidence = {**report.evidence(), "wanted": vars(proposal.wanted)}
        if not report.admitted:
            return report.reason.split(":")[0], report.reason
        if lost := unsupported(task):
            return "something needed is hidden", f"nobody tells the assistant {', '.join(lost)}"
        probes = proposal.evidence["probes"] = {}
        if hides(task):
            alone = first_message_only(task)
            outcome = await self._attempt(alone, FirstMessageSolver(task), 3)
            probes["first message, rules"] = outcome.passed
            if outcome.passed:
                return (
                    "the wording gives it away",
                    "it can be done with the first message alone, though facts are hidden: leave them out of the phrasings, or let them matter",
                )
            if self._solver is not None:
                outcome = await self._attempt(alone, self._policy(task, 0), 4)
                probes["first message, model"] = outcome.passed
                if outcome.passed:
                    return (
                        "the wording gives it away",
                        "a solver that saw only the first message did it, though facts are hidden",
                    )
        whole = all_facts_at_once(task)
        outcome = await self._attempt(whole, TeacherPolicy(whole, self._world, "probe"), 5)
        probes["all facts, reference"] = outcome.passed
        if not outcome.passed:
            return (
                "something needed is hidden",
                f"with all facts told at once it cannot be done: {outcome.judgement.reason}",
            )
        if self._solver is not None:
            outcome = await self._attempt(whole, self._policy(task, 1), 6)
            probes["all facts, model"] = outcome.passed
        return "", ""

    def _policy(self, task: Task, sample: int) -> Policy:
        assert self._solver is not None
        seat = Seat(
            self._solver.models,
            self._solver.model,
            "policy",
            self._solver.stage,
            f"probe {task.id}",
            sample,
            self._solver.seed,
        )
        return ModelPolicy(seat, temperature=self._config.trajectories.temperature_of(0))

    async def _settle(self, prompt: str, form: type[Record], check: Any, step: Step, **inputs: Any) -> Any:
        inputs.setdefault("world", self._about)
        mark = fence(inputs["world"], *inputs.values())
        talk = self._pen.begin(prompt, language=self._language, fence=mark, **inputs)
        return await settle(talk, form, check, step, repairs=self._config.author.repairs, also=self.unfit)

    def unfit(self, value: Record) -> Sequence[Problem]:
        """What no answer may be, whatever it is about."""
        texts = as_texts(value)
        found: list[Problem] = [("unsafe", why) for why in dict.fromkeys(unsafe(texts))]
        found += [("instruction", why) for why in dict.fromkeys(instructing(texts))]
        other = foreign(
            " ".join(text for text in texts if " " in text and "select" not in text.lower()), self._language
        )
        return (
            [*found, ("another language", f"it is written in {other}; write it in {self._language}")]
            if other
            else found
        )


@dataclass
class _WishTalk:
    """The talk about one wish, which goes on when the gate objects."""

    maker: TaskMaker
    talk: Any
    wanted: Wanted
    last: Record | None = None

    async def __call__(self, proposal: Proposal) -> Planned | None:
        maker, world = self.maker, self.maker._world
        step = Step("wish", proposal.persona.name)
        proposal.steps.append(step)
        kinds = self.wanted.kinds

        async def check(answer: Any) -> Checked[Planned]:
            self.last = answer
            wishes = answer.wishes if isinstance(answer, Wishes) else [answer]
            host = maker.host()
            try:
                return await planned(world, host, wishes, kinds, set(maker.seen))
            finally:
                await host.close()

        self.last = None
        form: type[Record] = Wish if len(kinds) == 1 else Wishes
        repairs = maker._config.author.repairs
        found = await settle(self.talk, form, check, step, repairs=repairs, also=maker.unfit)
        if found is None:
            proposal.task, proposal.kind, proposal.message = None, step.kind, f"wish: {step.message}"
        return found

    def object(self, problem: str) -> None:
        raw = self.last.model_dump_json() if self.last is not None else ""
        self.talk.object(Said(None, raw, Usage()), problem)


def _shown(tool: Any) -> dict[str, Json]:
    return {
        "name": tool.name,
        "description": tool.description,
        "arguments": tool.input_schema.get("properties", {}),
    }


def _some_rows(world: World) -> list[str]:
    live = SqlWorld(world)
    try:
        found = []
        for table in live.runtime.image.tables:
            rows = live.ask(f'select * from "{table}" order by 1 limit {_SHOWN_ROWS}')
            found += lines({"table": table, **row} for row in rows)
        return found
    finally:
        live.close()


def _goal(world: World, plan: Planned, number: int) -> Goal:
    """One wish as a goal, with the facts that it is the first to need."""
    wish = plan.wishes[number]
    return Goal.model_validate(
        {
            "intent": wish.intent,
            "phrasings": wish.phrasings,
            "reasons": wish.reasons,
            "facts": plan.facts_of(number),
            "kind": plan.kinds[number],
            "consent": [
                world.words.tools[call.tool].arguments[name].consent
                for call in plan.calls
                for name, source in call.sources.items()
                if call.goal == number and source.kind == "consent"
            ],
        }
    )


def _told(world: World, plan: Planned, goal: int) -> tuple[str, ...]:
    """What the person has to learn from a goal's last result, without what they said themselves."""
    step = plan.last(goal)
    if plan.calls[step].error is not None:
        return ()
    said = {text for fact in plan.told.values() for text in (fact.spoken, str(fact.value))}
    tool = world.tool_by_name[plan.calls[step].tool]
    return tuple(value for value in told_values(world, tool, plan.results[step]) if value not in said)
