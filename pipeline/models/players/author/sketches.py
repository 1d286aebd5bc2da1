"""What an author is asked for who only sketches a world: forms from which the rest is derived."""

from __future__ import annotations

from pydantic import Field

from pipeline.models.players.author.answers import NAME, ToolIdea
from pipeline.records import Json, Record

COLUMN = (
    r"^[a-z][a-z0-9_]{1,30}( (text|integer|real|date|moment|[a-z][a-z_]{1,20}(\|[a-z][a-z_]{1,20}){1,5}))?$"
)


class SketchedEntity(Record):
    """One table to be."""

    table: str = Field(pattern=NAME, description="a plural noun")
    columns: list[str] = Field(
        min_length=2,
        max_length=7,
        description="the key first, as in visit_id; then name and kind, as in: price real, day date, status open|closed",
    )


class SketchedPlan(Record):
    """Entities with the kinds of their columns, and tools."""

    name: str = Field(min_length=3, max_length=60, description="an invented name of the business")
    summary: str = Field(max_length=200, description="one sentence: what it does and for whom")
    entities: list[SketchedEntity] = Field(min_length=2, max_length=5)
    tools: list[ToolIdea] = Field(min_length=2, max_length=12)


class SketchedRows(Record):
    """Rows of all tables, without keys."""

    rows: dict[str, list[dict[str, Json]]]


class SketchedRule(Record):
    """A condition without which the tool refuses."""

    sql: str = Field(max_length=300, description="a SELECT that finds a row when the call is allowed")
    code: str = Field(pattern=r"^[A-Z][A-Z0-9_]{2,30}$", description="as in NOT_FREE")
    message: str = Field(max_length=120, description="what the caller is told")


class SketchedTool(Record):
    """One tool, as its statements."""

    description: str = Field(min_length=8, max_length=200)
    rules: list[SketchedRule] = Field(default=[], max_length=2)
    changes: list[str] = Field(default=[], max_length=2, description="INSERT, UPDATE, DELETE")
    result: str = Field(max_length=600, description="the SELECT whose rows are the answer")
    many: bool = Field(description="true: a list of rows; false: exactly one row")
