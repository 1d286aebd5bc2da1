"""Worlds: a SQLite database, its tools, its policy, and how people talk about it."""

from __future__ import annotations

from functools import cached_property

from pipeline.records.base import Json, Record, content_id
from pipeline.records.tools import Domain, ToolSpec

SIMULATED = "simulated"
"""The archetype of worlds whose tools are played."""
LIVE = "live"
"""The archetype of worlds whose tools belong to a real server: they hold words and no state."""


class Invariant(Record):
    """A query whose single value is true in every reachable state."""

    name: str
    sql: str


class PolicyRule(Record):
    """One rule of the business, in prose, and what enforces it.

    `enforced_by` is `tool.ERROR_CODE` (the SQL refuses), `invariant:NAME`, `consent:TOOL.ARGUMENT` (the user must
    have agreed before), or `reply` (a check reads what the agent says).
    """

    rule: str
    enforced_by: str


class ArgumentWords(Record):
    """How people talk about one argument of one tool."""

    called: str = ""
    """Noun phrase: `the phone number on file`."""
    said: tuple[str, ...] = ()
    """How a person states it, with `{value}`: `my number is {value}`."""
    source: str = ""
    """`table.column` whose values it takes, when it names a row of the world."""
    known: bool = True
    """Whether a person knows it by heart; otherwise it has to be looked up."""
    consent: str = ""
    """For a boolean: what the user agrees to, said by the agent before: `a late fee of 25.00 applies`."""
    device: str = ""
    """For a consent that is more than a yes: the user's own tool by which they do what it says."""


class ToolWords(Record):
    """How people talk about one tool."""

    ask: tuple[str, ...] = ()
    """Verb phrases of the user: `call off {visit_id}`; an argument that names a row becomes its description."""
    because: tuple[str, ...] = ()
    """Reasons a person may give, as clauses: `something came up at work`."""
    confirm: tuple[str, ...] = ()
    """What the agent is about to do: `cancel the visit on {starts}`."""
    done: tuple[str, ...] = ()
    """What the agent says of a result, with arguments and result columns."""
    each: str = ""
    """For a list: how one row is said."""
    none: tuple[str, ...] = ()
    """For an empty list."""
    arguments: dict[str, ArgumentWords] = {}


class EntityWords(Record):
    """How people talk about the rows of one table."""

    noun: str
    plural: str = ""
    describe: tuple[str, ...] = ()
    """Ways to point at a row by what a person knows of it: `the {starts} visit with {vet}`."""
    vague: tuple[str, ...] = ()
    """Ways to mention it without saying which: `one of my visits`."""


class Question(Record):
    """Something people ask that needs no tool, or that no tool can serve."""

    ask: tuple[str, ...]
    answer: tuple[str, ...]
    values: tuple[str, ...] = ()
    """What an answer must contain, compared by value."""


class Words(Record):
    """The language of a world."""

    tools: dict[str, ToolWords] = {}
    entities: dict[str, EntityWords] = {}
    agent: tuple[str, ...] = ()
    """Who the assistant is: `the front-desk assistant of a small clinic`."""
    asides: tuple[str, ...] = ()
    """Sentences a user of this world may add that change nothing."""
    policy_questions: tuple[Question, ...] = ()
    out_of_scope: tuple[Question, ...] = ()


class World(Record):
    """A world: DDL, seed rows, tools, policy, invariants."""

    name: str
    domain: Domain
    summary: str = ""
    archetype: str = "hand"
    clock: str
    """Virtual start time, ISO 8601 without zone."""
    schema_sql: str
    seed: dict[str, tuple[dict[str, Json], ...]] = {}
    lists: dict[str, tuple[Json, ...]] = {}
    """Word lists that `generate` picks from."""
    generate: tuple[str, ...] = ()
    """Statements that make the long part of the seed, deterministically."""
    policy: tuple[PolicyRule, ...] = ()
    invariants: tuple[Invariant, ...] = ()
    tools: tuple[ToolSpec, ...] = ()
    log_tables: tuple[str, ...] = ()
    """Tables left out of the state hash."""
    words: Words = Words()

    @cached_property
    def id(self) -> str:
        return content_id("world", self.model_dump(mode="json"))

    @cached_property
    def tool_by_name(self) -> dict[str, ToolSpec]:
        return {tool.name: tool for tool in self.tools}

    @property
    def foreign(self) -> bool:
        """Whether its tools are not executed here: they are played by a simulator, and programs, where there are any,
        are only the teacher's reading of them; or they belong to a real server."""
        return self.archetype in (SIMULATED, LIVE)

    @property
    def policy_text(self) -> str:
        return "\n".join(f"{number}. {rule.rule}" for number, rule in enumerate(self.policy, 1))


class Toolset(Record):
    """The tools one agent gets: relevant ones and distractors, in the order shown."""

    tools: tuple[ToolSpec, ...]
    relevant: tuple[str, ...] = ()
    worlds: tuple[str, ...] = ()

    @cached_property
    def id(self) -> str:
        return content_id("set", [tool.id for tool in self.tools])
