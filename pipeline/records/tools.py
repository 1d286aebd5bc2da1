"""Domains, tools and where they come from."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Literal

from pydantic import Field

from pipeline.records.base import Json, Record, content_id


class Domain(Record):
    """A place in the tree of domains; `path` is `category/domain/subdomain`."""

    path: str = Field(pattern=r"^[^/]+(/[^/]+)*$")
    description: str = ""
    vocabulary: dict[str, tuple[str, ...]] = {}
    parent: str | None = None

    @cached_property
    def id(self) -> str:
        return content_id("dom", self.model_dump(mode="json"))


class Provenance(Record):
    """Where a tool comes from: an MCP server as it was listed, or a domain and its author."""

    source: Literal["mcp", "evolved"]
    server: str = ""
    server_version: str = ""
    protocol: str = ""
    registry: str = ""
    package: str = ""
    version: str = ""
    license: str = ""
    domain: str = ""
    author: str = ""
    """`hand`, `teacher` or a model's name."""


class DeclaredError(Record):
    """An error that a tool may answer with, as its documentation says."""

    code: str = Field(pattern=r"^[A-Z][A-Z0-9_]{1,39}$")
    message: str


class ToolAnnotations(Record):
    """Behavior hints, after the MCP specification (2025-06-18, tool annotations)."""

    read_only: bool = False
    destructive: bool = False
    idempotent: bool = False
    open_world: bool = False


class Step(Record):
    """One step of a program. `require` raises `error` unless its query yields a true first value."""

    kind: Literal["require", "do", "returns_one", "returns_many"]
    sql: str
    error: DeclaredError | None = None


class Call(Record):
    """A call as data: a tool's name and its arguments."""

    tool: str
    arguments: dict[str, Json] = {}


class Witness(Record):
    """Proof that a tool works, or that one of its errors can be provoked.

    `query` yields rows whose columns are arguments; without it `arguments` is the one example. `before` are
    calls made first. `error` is the code that must come, None for success.
    """

    error: str | None = None
    query: str | None = None
    arguments: dict[str, Json] = {}
    before: tuple[Call, ...] = ()


class SqlProgram(Record):
    """A tool as parameterised SQL, run in one transaction on the world's database."""

    steps: tuple[Step, ...]
    witnesses: tuple[Witness, ...] = ()


class ToolSpec(Record):
    """A tool as it is offered to an agent."""

    name: str = Field(pattern=r"^[a-zA-Z0-9_-]{1,64}$")
    title: str = ""
    description: str = ""
    input_schema: dict[str, Any]
    output_schema: dict[str, Any] | None = None
    annotations: ToolAnnotations = ToolAnnotations()
    errors: tuple[DeclaredError, ...] = ()
    provenance: Provenance
    program: SqlProgram | None = None
    original: dict[str, Any] | None = None
    """The raw listing, when normalization changed anything."""
    flags: tuple[str, ...] = ()
    """What normalization repaired or noticed, one short phrase each."""

    @cached_property
    def id(self) -> str:
        """Content id; what was only noticed about the tool (`flags`) is no content."""
        return content_id("tool", self.model_dump(mode="json", exclude={"flags"}))

    def for_model(self) -> dict[str, Any]:
        """The entry of an OpenAI `tools` list."""
        function = {"name": self.name, "description": self.description, "parameters": self.input_schema}
        return {"type": "function", "function": function}
