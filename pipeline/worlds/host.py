"""The one interface through which tools are executed, whatever executes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

from pipeline.records import Json, Snapshot, ToolSpec

Ability = Literal["exact", "recorded", "none"]
"""exact: states can be restored and compared; recorded: answers replay from a recording; none: neither."""


@dataclass(frozen=True, slots=True)
class CallResult:
    """The answer of a host to one call.

    ok: `value` holds the result; otherwise `error` is (code, message). `before` and `after` are snapshot
    references, equal when the call changed nothing.
    """

    ok: bool
    value: Json = None
    error: tuple[str, str] | None = None
    before: str = ""
    after: str = ""


class ToolHost(Protocol):
    """Executes tools. One host serves one episode; it is opened by whoever opens the episode."""

    ability: Ability
    tools: Mapping[str, ToolSpec]

    async def call(self, name: str, arguments: dict[str, Json]) -> CallResult:
        """Executes a call whose name and arguments have been checked by the host itself.

        An unknown name or invalid arguments are results with a `Failure` code, no exceptions. Raises
        SandboxError or ModelError when the host itself is lost (owned by infra).
        """
        ...

    def snapshot(self) -> Snapshot:
        """The present state; for hosts without snapshots only its reference is filled."""
        ...

    async def restore(self, snapshot: Snapshot) -> None:
        """Returns to a state. Raises WorldError when the host cannot."""
        ...

    def advance(self, seconds: float) -> None:
        """Moves the virtual clock; nothing ever sleeps."""
        ...

    async def close(self) -> None:
        """Frees what the host holds; safe to call twice."""
        ...
