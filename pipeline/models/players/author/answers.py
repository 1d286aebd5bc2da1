"""What an author is asked for, one small form for each stage. Descriptions are part of the request."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from pipeline.records import Json, Record

NAME = r"^[a-z][a-z0-9_]{1,40}$"
Kind = Literal["string", "integer", "number", "boolean"]


class Branch(Record):
    """One place in the tree of domains."""

    name: str = Field(min_length=3, max_length=60, description="two or three words")
    description: str = Field(max_length=300, description="one sentence: who does what there")
    tags: list[str] = Field(max_length=4, description="what it is about, from the list of tags")


class Branches(Record):
    branches: list[Branch] = Field(min_length=1, max_length=40)


class Entity(Record):
    """One table to be."""

    table: str = Field(pattern=NAME, description="a plural noun")
    columns: list[str] = Field(min_length=2, max_length=9, description="names of columns, the key first")


class WorldPlan(Record):
    """Entities and rules."""

    name: str = Field(min_length=3, max_length=60, description="an invented name of the business")
    summary: str = Field(max_length=300, description="one sentence: what it does and for whom")
    entities: list[Entity] = Field(min_length=2, max_length=7)
    rules: list[str] = Field(
        min_length=2, max_length=8, description="rules of the business that its tools enforce"
    )


class Schema(Record):
    """One statement for each table: a list is easier to finish than one long text."""

    statements: list[str] = Field(min_length=2, max_length=8, description="one CREATE TABLE each")

    @property
    def sql(self) -> str:
        return "\n".join(f"{one.strip().rstrip(';')};" for one in self.statements)


class Rows(Record):
    rows: list[dict[str, Json]] = Field(min_length=1, max_length=80)


class ToolIdea(Record):
    """One tool to be."""

    name: str = Field(pattern=NAME, description="verb and noun, as in find_visits")
    does: str = Field(max_length=200, description="what it does, in one sentence")
    kind: Literal["read", "write"]


class ToolPlan(Record):
    tools: list[ToolIdea] = Field(min_length=1, max_length=40)


class Argument(Record):
    name: str = Field(pattern=NAME)
    type: Kind
    description: str = Field(max_length=200)
    optional: bool = False


class Rule(Record):
    """A condition without which the tool refuses."""

    sql: str = Field(
        max_length=1000, description="a SELECT that finds a row, or a true value, when the call is allowed"
    )
    code: str = Field(pattern=r"^[A-Z][A-Z0-9_]{2,39}$", description="as in NOT_FOUND")
    message: str = Field(max_length=200, description="what the caller is told")
    example: dict[str, Json] = Field(description="arguments that break this rule")


class ToolBody(Record):
    """One tool."""

    description: str = Field(min_length=8, max_length=400)
    arguments: list[Argument] = Field(max_length=7)
    rules: list[Rule] = Field(max_length=4)
    changes: list[str] = Field(max_length=4, description="INSERT, UPDATE, DELETE; none in a reading tool")
    result: str = Field(max_length=1500, description="the SELECT whose rows are the answer")
    many: bool = Field(description="true: a list of rows; false: exactly one row")
    example: dict[str, Json] = Field(description="arguments with which it succeeds on the rows shown")


class PolicyLine(Record):
    rule: str = Field(min_length=8, max_length=300, description="one rule of the business, in prose")
    enforced_by: str = Field(description="what enforces it, from the list")


class Policy(Record):
    rules: list[PolicyLine] = Field(min_length=1, max_length=8)


class InvariantLine(Record):
    name: str = Field(min_length=4, max_length=100, description="what is always true")
    sql: str = Field(max_length=800, description="a SELECT whose only value is true")


class Invariants(Record):
    invariants: list[InvariantLine] = Field(min_length=1, max_length=5)


class Phrases(Record):
    """How people talk about one tool. `{argument}` stands for an argument, `{column}` for a column of the result."""

    ask: list[str] = Field(min_length=4, max_length=8, description="what a person would like to do")
    confirm: list[str] = Field(min_length=2, max_length=4, description="what the assistant is about to do")
    done: list[str] = Field(min_length=2, max_length=4, description="what the assistant says of the result")
    called: dict[str, str] = Field(description="argument to what it is called")


class Person(Record):
    name: str = Field(max_length=40, description="a label, no person's name")
    style: str = Field(max_length=120, description="how this person writes")
    patience: int = Field(ge=4, le=20, description="turns after which they give up")
    upfront: float = Field(ge=0, le=1, description="how readily they say everything at once")


class Cast(Record):
    """Who serves and who asks, in one world."""

    agents: list[str] = Field(min_length=1, max_length=5, description="completes: You are …")
    personas: list[Person] = Field(min_length=1, max_length=6)


class PlannedCall(Record):
    tool: str
    arguments: dict[str, Json]


class Wish(Record):
    """What a person wants, and what the work is."""

    intent: str = Field(
        min_length=8, max_length=300, description="a verb phrase that says all that is wanted"
    )
    phrasings: list[str] = Field(
        min_length=2, max_length=5, description="verb phrases to begin with; no codes, no ids"
    )
    reasons: list[str] = Field(max_length=4)
    calls: list[PlannedCall] = Field(
        min_length=1, max_length=8, description="in order; ids are read before they are used"
    )


class Wishes(Record):
    """What a person wants in one conversation, one thing after the other."""

    wishes: list[Wish] = Field(min_length=1, max_length=5)


class Knowledge(Record):
    """One fact that the person brings."""

    name: str = Field(description="as listed")
    label: str = Field(min_length=3, max_length=80, description="completes: Could you give me …?")
    spoken: str = Field(min_length=1, max_length=80, description="the value as a person says it")
    said: list[str] = Field(min_length=1, max_length=4, description="clauses with {value}")
    hidden: bool = Field(description="true: told only when asked for")


class Facts(Record):
    facts: list[Knowledge] = Field(max_length=10)


class Assertion(Record):
    name: str = Field(min_length=4, max_length=80)
    sql: str = Field(max_length=800, description="a SELECT, true after the work and false before it")


class Assertions(Record):
    checks: list[Assertion] = Field(max_length=4)


class WholeTool(ToolBody):
    """One tool of a world that is made in one answer."""

    name: str = Field(pattern=NAME)
    kind: Literal["read", "write"]


class WholeWorld(Record):
    """A world in one answer."""

    name: str = Field(min_length=3, max_length=60)
    summary: str = Field(max_length=300)
    sql: str = Field(max_length=6000)
    rows: dict[str, list[dict[str, Json]]]
    tools: list[WholeTool] = Field(min_length=1, max_length=40)
