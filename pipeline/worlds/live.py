"""The host whose tools belong to real MCP servers.

Nobody sees a server's state, so a state is known by the calls that led to it: all that the server does not declare
read-only. A snapshot holds those calls and what came of each; to restore one, fresh servers are given the calls again
and have to answer alike. Hence `recorded`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import jsonschema_rs

from pipeline.records import Failure, Json, Snapshot, ToolSpec, WorldError
from pipeline.records.base import canonical_json, content_id
from pipeline.records.errors import HostError
from pipeline.worlds.host import Ability, CallResult
from pipeline.worlds.server_pool import LiveServer, Servers
from pipeline.worlds.wire import Answer, McpFailure

_INVALID_PARAMS = "error -32602"


class LiveHost:
    """One episode's use of the servers that its tools belong to; each is started by the first call that needs it."""

    ability: Ability = "recorded"

    def __init__(self, tools: Sequence[ToolSpec], servers: Servers) -> None:
        self.tools: Mapping[str, ToolSpec] = {tool.name: tool for tool in tools}
        self._servers = servers
        self._leased: dict[str, LiveServer] = {}
        self._written: list[list[Json]] = []
        self._touched: set[str] = set()
        self._open = True
        self._world = content_id("live", sorted({tool.provenance.server for tool in tools}))
        self._validators: dict[str, Any] = {}
        self._ref = self._address()

    @classmethod
    async def open(cls, tools: Sequence[ToolSpec], servers: Servers) -> LiveHost:
        """Waits until an episode may begin. Raises HostError when a tool's server has no launch entry."""
        missing = sorted({tool.provenance.server for tool in tools} - set(servers.entries))
        if missing:
            raise HostError(
                f"No launch entry for the MCP server {missing[0]!r}.",
                way_out="Name it in the file of tools.ingest.servers.",
            )
        await servers.enter()
        return cls(tools, servers)

    async def call(self, name: str, arguments: dict[str, Json]) -> CallResult:
        tool = self.tools.get(name)
        if tool is None:
            return self._refused(Failure.UNKNOWN_TOOL, f"There is no tool named {name!r}.")
        if complaint := self._complaint(tool, arguments):
            return self._refused(Failure.INVALID_ARGUMENTS, complaint)
        before = self._ref
        ok, value, error = await self._ask(tool, arguments)
        if not tool.annotations.read_only:
            answer = content_id("answer", [ok, value, list(error or ())], size=8)
            self._written.append(["call", name, {"arguments": arguments, "answer": answer}])
            self._touched.add(tool.provenance.server)
            self._ref = self._address()
        return CallResult(ok, value, error, before, self._ref)

    def _refused(self, code: Failure, message: str) -> CallResult:
        return CallResult(False, None, (str(code), message), self._ref, self._ref)

    def _complaint(self, tool: ToolSpec, arguments: dict[str, Json]) -> str:
        """What is wrong with arguments by the schema that the agent was shown; empty when nothing is."""
        if tool.name not in self._validators:
            self._validators[tool.name] = jsonschema_rs.validator_for(tool.input_schema)
        error = next(iter(self._validators[tool.name].iter_errors(arguments)), None)
        return "" if error is None else str(error.message)[:500]

    async def _ask(
        self, tool: ToolSpec, arguments: dict[str, Json]
    ) -> tuple[bool, Json, tuple[str, str] | None]:
        name = str((tool.original or {}).get("name") or tool.name)
        server = await self._server(tool.provenance.server)
        try:
            answer = await server.call(name, arguments)
        except McpFailure as failure:
            if failure.kind == "refused":
                bad = failure.message.startswith(_INVALID_PARAMS)
                return False, None, _error(failure.message, bad)
            self._touched.add(server.entry.name)
            raise HostError(
                f"The MCP server {server.entry.name} was lost in a call of {name} ({failure.kind}):"
                f" {server.entry.scrub(failure.message)}."
            ) from failure
        if answer.ok:
            return True, _plain(answer), None
        return False, None, _refusal(answer)

    async def _server(self, name: str) -> LiveServer:
        if name not in self._leased:
            self._leased[name] = await self._servers.lease(name)
        return self._leased[name]

    def _address(self) -> str:
        return content_id("snap", [self._world, self._written], size=10)

    def snapshot(self) -> Snapshot:
        return Snapshot(ref=self._ref, state=self._ref, world=self._world, rows=tuple(self._written))

    async def restore(self, snapshot: Snapshot) -> None:
        """Gives the calls that led to a state again, to fresh servers where the present ones went another way.

        Raises WorldError when an answer is another one than it was, HostError when a server is lost.
        """
        if snapshot.world != self._world:
            raise WorldError(f"The snapshot {snapshot.ref} is of other MCP servers than this episode's.")
        wanted = [list(row) for row in snapshot.rows]
        done = len(self._written)
        if wanted[:done] != self._written:
            await self._release()
            self._written, done = [], 0
            self._ref = self._address()
        for number, row in enumerate(wanted[done:], done + 1):
            await self.call(row[1], row[2]["arguments"])
            if self._written[number - 1 :] != [row]:
                raise WorldError(
                    f"Call {number} of {row[1]} was answered otherwise than when it was recorded: the state"
                    f" {snapshot.ref} cannot be brought back."
                )

    async def _release(self) -> None:
        leased, self._leased = self._leased, {}
        for name, server in leased.items():
            await self._servers.give_back(server, written=name in self._touched)
        self._touched.clear()

    def advance(self, seconds: float) -> None:
        """Real servers have no virtual clock; waiting costs nothing here."""

    async def close(self) -> None:
        if self._open:
            self._open = False
            try:
                await self._release()
            finally:
                self._servers.leave()


def _plain(answer: Answer) -> Json:
    """The value of an answer; text that is a JSON object or list is read, since that is what the tool meant."""
    if isinstance(answer.value, str) and answer.value.lstrip()[:1] in ("{", "["):
        try:
            value = json.loads(answer.value)
            canonical_json(value)  # NaN and lone surrogates stay text
        except (ValueError, RecursionError):
            return answer.value
        return value
    return answer.value


def _refusal(answer: Answer) -> tuple[str, str]:
    """Code and message of a tool's refusal: its own code where it gives one."""
    value = _plain(answer)
    if (
        isinstance(value, dict)
        and isinstance(value.get("code"), str)
        and isinstance(value.get("message"), str)
    ):
        return value["code"], value["message"]
    return str(Failure.TOOL_ERROR), value if isinstance(value, str) else canonical_json(value)


def _error(message: str, invalid: bool) -> tuple[str, str]:
    return str(Failure.INVALID_ARGUMENTS if invalid else Failure.TOOL_ERROR), message
