"""What ingestion brings home: tools, rejections, failures, and how servers answered."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field

from pipeline.records import Json, Provenance, Record, ToolSpec
from pipeline.store import Row, failure_row
from pipeline.tools.normalize import Rejection, normalize


class ServerFailure(Record):
    """What went wrong with one server or one part of a dump."""

    server: str
    step: str
    """install, start, initialize, tools/list; read (a dump)"""
    kind: str
    """install, timeout, exited, configuration (wants a key or another variable), noise, too_long, protocol, version,
    refused, http, unreachable, incomplete, unreadable"""
    message: str
    stderr: str = ""
    tools: int = 0
    """How many of its tools were kept all the same."""


class ServerReport(Record):
    """A server that listed its tools."""

    server: str
    name: str
    version: str
    protocol: str
    tools: int
    rejected: int
    pages: int
    noise: str = ""
    """First line on stdout that was no message."""


@dataclass(frozen=True)
class Harvest:
    """What came in, in the order of the servers, whatever the order in which they answered."""

    tools: tuple[ToolSpec, ...] = ()
    rejections: tuple[Rejection, ...] = ()
    failures: tuple[ServerFailure, ...] = ()
    servers: tuple[ServerReport, ...] = ()

    @staticmethod
    def joined(parts: Iterable[Harvest]) -> Harvest:
        parts = list(parts)
        return Harvest(
            tools=tuple(tool for part in parts for tool in part.tools),
            rejections=tuple(item for part in parts for item in part.rejections),
            failures=tuple(item for part in parts for item in part.failures),
            servers=tuple(item for part in parts for item in part.servers),
        )

    def failure_rows(self, stage: str = "tools") -> list[Row]:
        """Rows of `failures`: one for each server that failed and each tool that was rejected."""
        rows = [
            failure_row(
                stage,
                f"mcp_{item.kind}",
                f"{item.step}: {item.message}",
                subject=item.server,
                owner="tool",
                detail={"step": item.step, "stderr": item.stderr, "tools": item.tools},
            )
            for item in self.failures
        ]
        rows += [
            failure_row(
                stage,
                "tool_rejected",
                item.reason,
                subject=f"{item.provenance.server}/{item.name}",
                owner="tool",
                detail={"raw": item.raw, "provenance": item.provenance.model_dump(mode="json")},
            )
            for item in self.rejections
        ]
        return rows


@dataclass
class Siblings:
    """Takes in the tools of one server, one by one: names stay apart, and the same tool twice counts once."""

    provenance: Provenance
    tools: list[ToolSpec] = field(default_factory=list)
    rejections: list[Rejection] = field(default_factory=list)
    _names: set[str] = field(default_factory=set)
    _seen: set[str] = field(default_factory=set)

    def add(self, raw: Json) -> None:
        text = json.dumps(raw, sort_keys=True)
        if text in self._seen:
            name = str(raw.get("name", "")) if isinstance(raw, dict) else ""
            reason = "the same tool was listed twice"
            self.rejections.append(Rejection(name=name[:200], reason=reason, provenance=self.provenance))
            return
        self._seen.add(text)
        result = normalize(raw, self.provenance, self._names)
        if isinstance(result, Rejection):
            self.rejections.append(result)
        else:
            self.tools.append(result)
            self._names.add(result.name)
