"""Agents, personas and tasks."""

from __future__ import annotations

from functools import cached_property
from typing import Literal

from pipeline.records.base import Json, Record, content_id
from pipeline.records.rubrics import Rubric
from pipeline.records.tools import Call
from pipeline.records.worlds import Toolset


class Persona(Record):
    """The user's manner. `style` colors the words; the numbers are chances from 0 to 1."""

    name: str
    style: str
    """terse, chatty, anxious, expert, formal, casual, non-native …"""
    language: str = "en"
    patience: int = 12
    """Turns after which the user gives up."""
    upfront: float = 0.5
    """Chance to state a fact in the opening that could also wait."""
    slips: float = 0.0
    """Chance to state a fact wrongly first."""

    @cached_property
    def id(self) -> str:
        return content_id("per", self.model_dump(mode="json"))


class AgentProfile(Record):
    """An agent: its system prompt, its habits, its tools."""

    name: str
    system_prompt: str
    expertise: str = ""
    tone: str = "friendly"
    formality: Literal["casual", "neutral", "formal"] = "neutral"
    strictness: Literal["strict", "measured", "obliging"] = "measured"
    """How it speaks of rules when it has to refuse."""
    calling: Literal["one", "together", "free"] = "free"
    """Calls one at a time, independent lookups together, or as it sees fit."""
    announces: Literal["always", "sometimes", "never"] = "sometimes"
    """Whether it says a word before it calls tools."""
    verbosity: Literal["brief", "normal", "full"] = "normal"
    confirms: Literal["never", "destructive", "writes"] = "destructive"
    """Before which calls it asks the user."""
    toolset: Toolset

    @cached_property
    def id(self) -> str:
        return content_id("agent", [self.model_dump(mode="json", exclude={"toolset"}), self.toolset.id])


class Fact(Record):
    """Something the user knows.

    open: may be said at once; asked: told only when asked for; corrected: `wrong` is said first and put right when
    the agent's findings show it or when asked again; changed: `wrong` is what the user wants at first, and when the
    agent is about to act the user makes up their mind anew.
    """

    name: str
    label: str
    """What it is called when asked for: `the phone number on file`."""
    value: Json
    spoken: str
    """How a person says it: `half past nine`."""
    said: tuple[str, ...] = ()
    """Sentences or clauses that state it, with `{value}` for `spoken`."""
    disclosure: Literal["open", "asked", "corrected", "changed"] = "open"
    wrong: str | None = None
    """What is said first, in the same spoken form."""
    keywords: tuple[str, ...] = ()
    """Words by which a question for it is recognized."""
    device: str = ""
    """The user's own tool by which they look it up; empty: known by heart."""


class Goal(Record):
    """One thing the user wants. Goals are raised one after the other."""

    intent: str
    """Verb phrase, complete and unambiguous: `cancel Pixel's visit on 2 March at 09:30`."""
    phrasings: tuple[str, ...] = ()
    """Verb phrases a user may open with; they say no more than the open facts."""
    reasons: tuple[str, ...] = ()
    facts: tuple[str, ...] = ()
    """Names of the facts that belong to it."""
    kind: Literal["act", "ask", "refuse", "blocked", "withdrawn", "unserved", "talk"] = "act"
    """act: a write succeeds; ask: something is read and told; refuse: policy forbids it; blocked: a lasting fault or
    somebody else's change stands in the way; withdrawn: the user decides against it when asked for a yes; unserved:
    no tool can do it; talk: no tool is needed."""
    consent: tuple[str, ...] = ()
    """What the user will be asked to accept, and accepts."""
    devices: tuple[str, ...] = ()
    """The user's own tools with which they do something when asked, as `consent` says."""
    answer: tuple[str, ...] = ()
    """For `unserved` and `talk`: fitting answers."""


class ArgumentSource(Record):
    """Where a reference argument comes from.

    told: the user's `fact`; read: `column` of the result of reference call `step`, in the row that fits `fact` (a
    description, column to value) or the only row; fixed: the value itself; consent: true once the user agreed.
    """

    kind: Literal["told", "read", "fixed", "consent"]
    fact: str | None = None
    step: int | None = None
    column: str | None = None


class ReferenceCall(Record):
    """One call of the reference solution."""

    goal: int
    tool: str
    arguments: dict[str, Json]
    sources: dict[str, ArgumentSource] = {}
    error: str | None = None
    """The declared error that is expected, None for success."""
    fact: str | None = None
    """For a list that is told to the user: the description of the row that is meant."""
    withdrawn: bool = False
    """It is only proposed: the user says no, and it must not be made."""


FaultKind = Literal[
    "error", "timeout_before", "timeout_after", "rate_limit", "partial", "stale", "denied", "changed"
]


class Fault(Record):
    """One planned fault: the n-th call (from 1) of a tool meets it.

    error: an error instead of the call; timeout_before / timeout_after: no answer, before or after the commit;
    rate_limit: refused, and the virtual clock moves on by `wait` seconds; partial: a list is cut short; stale: the
    answer is that of the episode's beginning; denied: permission is lost; changed: somebody else makes the calls
    `by` just before. `explicit`: a partial or stale answer says so. `permanent`: every later call meets it, too.
    """

    tool: str
    nth: int
    kind: FaultKind
    permanent: bool = False
    explicit: bool = True
    wait: float = 0.0
    by: tuple[Call, ...] = ()


class Task(Record):
    """A task variant: goals, knowledge, initial state, faults, rubric and reference solution together."""

    world: str
    """World id; empty for tasks on tools without a world."""
    world_name: str = ""
    agent: AgentProfile
    persona: Persona
    goals: tuple[Goal, ...]
    facts: tuple[Fact, ...] = ()
    axes: dict[str, float] = {}
    """calls, hops, entities, hidden_facts, policy_conflicts, recoveries, parallel, goals …"""
    difficulty: Literal["simple", "moderate", "hard", "expert"] = "simple"
    initial: tuple[str, ...] = ()
    """Statements that turn the world's seed into the initial state."""
    faults: tuple[Fault, ...] = ()
    rubric: Rubric
    reference: tuple[ReferenceCall, ...] = ()
    host: Literal["sql", "simulated", "live", "container"] = "sql"
    proof: Literal["exact", "recorded", "none"] = "exact"
    author: str = "teacher"

    @cached_property
    def id(self) -> str:
        body = self.model_dump(mode="json", exclude={"agent"})
        return content_id("task", [body, self.agent.id])
