"""Recording what a host answers, and answering from the recording: how an episode replays without its servers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pipeline.records import Json, Snapshot, ToolSpec, WorldError
from pipeline.records.base import canonical_json
from pipeline.worlds.host import Ability, CallResult, ToolHost


@dataclass(frozen=True, slots=True)
class Recorded:
    """One call and its answer, in full."""

    tool: str
    arguments: dict[str, Json]
    result: CallResult

    def row(self, trajectory: str, position: int) -> dict[str, Any]:
        """As a row of the table `cassettes`."""
        code, message = self.result.error or ("", "")
        return {
            "trajectory": trajectory,
            "position": position,
            "tool": self.tool,
            "arguments": canonical_json(self.arguments),
            "ok": self.result.ok,
            "value": json.dumps(self.result.value, ensure_ascii=False),  # in its own order, which was shown
            "error_code": code,
            "error_message": message,
            "before": self.result.before,
            "after": self.result.after,
        }

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Recorded:
        error = (row["error_code"], row["error_message"]) if row["error_code"] else None
        result = CallResult(row["ok"], json.loads(row["value"]), error, row["before"], row["after"])
        return cls(row["tool"], json.loads(row["arguments"]), result)

    def to_json(self) -> list[Json]:
        """As the journal keeps it; `from_json` is the inverse."""
        one = self.result
        return [self.tool, self.arguments, one.ok, one.value, list(one.error or ()), one.before, one.after]

    @classmethod
    def from_json(cls, data: Sequence[Any]) -> Recorded:
        tool, arguments, ok, value, error, before, after = data
        return cls(tool, arguments, CallResult(ok, value, tuple(error) or None, before, after))


class Recorder:
    """A host that keeps every call made through it. `take` hands over what came since it was last asked."""

    def __init__(self, host: ToolHost) -> None:
        self.host = host
        self.ability: Ability = host.ability
        self.tools: Mapping[str, ToolSpec] = host.tools
        self._fresh: list[Recorded] = []

    async def call(self, name: str, arguments: dict[str, Json]) -> CallResult:
        result = await self.host.call(name, arguments)
        self._fresh.append(Recorded(name, arguments, result))
        return result

    def take(self) -> list[Recorded]:
        fresh, self._fresh = self._fresh, []
        return fresh

    def snapshot(self) -> Snapshot:
        return self.host.snapshot()

    async def restore(self, snapshot: Snapshot) -> None:
        await self.host.restore(snapshot)

    def advance(self, seconds: float) -> None:
        self.host.advance(seconds)

    async def close(self) -> None:
        await self.host.close()


class CassetteHost:
    """Answers the calls of a recording in their order. It knows nothing else: any other call is a WorldError."""

    ability: Ability = "recorded"

    def __init__(self, tools: Sequence[ToolSpec], calls: Sequence[Recorded], begin: str = "") -> None:
        self.tools: Mapping[str, ToolSpec] = {tool.name: tool for tool in tools}
        self._calls = calls
        self._next = 0
        self._ref = calls[0].result.before if calls else begin

    async def call(self, name: str, arguments: dict[str, Json]) -> CallResult:
        if self._next == len(self._calls):
            raise WorldError(f"The recording has ended; there is no answer to a further call of {name}.")
        recorded = self._calls[self._next]
        if (recorded.tool, recorded.arguments) != (name, arguments):
            raise WorldError(
                f"The recording goes on with a call of {recorded.tool} with"
                f" {canonical_json(recorded.arguments)[:200]}, not of {name} with"
                f" {canonical_json(arguments)[:200]}."
            )
        self._next += 1
        self._ref = recorded.result.after
        return recorded.result

    def snapshot(self) -> Snapshot:
        return Snapshot(ref=self._ref, state=self._ref)

    async def restore(self, snapshot: Snapshot) -> None:
        """Goes to the last place in the recording that had this state. Raises WorldError when there is none."""
        places = [n for n, one in enumerate(self._calls) if one.result.after == snapshot.ref]
        if self._calls and snapshot.ref == self._calls[0].result.before:
            places = places or [-1]
        if not places:
            raise WorldError(f"The state {snapshot.ref} is not in the recording.")
        self._next, self._ref = places[-1] + 1, snapshot.ref

    def advance(self, seconds: float) -> None:
        """A recording has no clock."""

    async def close(self) -> None:
        """Nothing is held."""
