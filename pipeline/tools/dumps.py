"""Saved `tools/list` answers: `.json` and `.jsonl` (also `.gz`), in the shapes that public collections use.

Tools are found wherever they stand: a protocol answer (`{"result": {"tools": […]}}`), a list of tools, one tool a
row, servers with their `tools`, a mapping from server names to either, an OpenAI `function` entry, and texts that
hold any of these as JSON. Keys around a tool (`server`, `package`, `version`, `license`, `registry`) become its
provenance.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any

from pipeline.records import InputError, Json, Provenance
from pipeline.tools.harvest import Harvest, ServerFailure, Siblings

_SCHEMAS = ("inputSchema", "input_schema", "parameters")
_HOLDERS = ("tools", "functions", "tool_list")
_MAX_NESTING = 12


@dataclass(frozen=True)
class _Origin:
    """What the keys around a tool say about where it comes from."""

    server: str = ""
    registry: str = ""
    package: str = ""
    version: str = ""
    license: str = ""
    protocol: str = ""

    def refined(self, around: dict[str, Any]) -> _Origin:
        info = around.get("serverInfo") or around.get("server_info")
        inner = info if isinstance(info, dict) else {}
        server = around.get("server") or around.get("server_name") or around.get("qualifiedName")
        changes = {
            "server": server if isinstance(server, str) else inner.get("name"),
            "version": around.get("version") or inner.get("version"),
            "protocol": around.get("protocolVersion"),
            **{key: around.get(key) for key in ("registry", "package", "license")},
        }
        return replace(
            self, **{key: value for key, value in changes.items() if isinstance(value, str) and value}
        )

    def provenance(self) -> Provenance:
        return Provenance(
            source="mcp",
            server=self.server or self.package,
            registry=self.registry,
            package=self.package,
            version=self.version,
            license=self.license,
            protocol=self.protocol,
        )


@dataclass
class _Reading:
    """Tools by server in order of appearance, and the parts that could not be read."""

    servers: dict[tuple[str, str, str], Siblings] = field(default_factory=dict)
    failures: list[ServerFailure] = field(default_factory=list)

    def take(self, value: Json, origin: _Origin, where: str) -> None:
        found = 0
        for raw, known in _tools(value, origin, 0):
            key = (known.server, known.package, known.version)
            if key not in self.servers:
                self.servers[key] = Siblings(known.provenance())
            self.servers[key].add(raw)
            found += 1
        if not found:
            self.fail(where, "no tool is here")

    def fail(self, where: str, message: str) -> None:
        self.failures.append(ServerFailure(server=where, step="read", kind="unreadable", message=message))


def read_dump(paths: Iterable[Path]) -> Harvest:
    """The tools of all files. A row that is no JSON or holds no tool costs one failure with file and line.

    Raises InputError for a file that cannot be opened.
    """
    reading = _Reading()
    for path in paths:
        try:
            _read(path, reading)
        except (OSError, EOFError) as error:
            raise InputError(f"The dump {path} cannot be read: {error}.") from error
    return Harvest(
        tools=tuple(tool for siblings in reading.servers.values() for tool in siblings.tools),
        rejections=tuple(item for siblings in reading.servers.values() for item in siblings.rejections),
        failures=tuple(reading.failures),
    )


def _read(path: Path, reading: _Reading) -> None:
    name = path.name.removesuffix(".gz")
    opener: Any = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rb") as file:
        if name.endswith((".jsonl", ".ndjson")):
            _read_rows(file, path.name, reading)
        else:
            value = _parsed(file.read(), path.name, reading)
            if value is not None:
                reading.take(value, _Origin(), path.name)


def _read_rows(file: IO[bytes], name: str, reading: _Reading) -> None:
    for number, line in enumerate(file, 1):
        if line.strip():
            value = _parsed(line, f"{name}:{number}", reading)
            if value is not None:
                reading.take(value, _Origin(), f"{name}:{number}")


def _parsed(data: bytes, where: str, reading: _Reading) -> Json:
    try:
        return json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        reading.fail(where, f"no JSON: {error}")
        return None


def _tools(value: Json, origin: _Origin, depth: int) -> Iterator[tuple[Json, _Origin]]:
    """Raw tools with their origins, wherever they stand in `value`."""
    if depth > _MAX_NESTING:
        return
    if isinstance(value, str):
        inner = _json_text(value)
        if inner is not None:
            yield from _tools(inner, origin, depth + 1)
    elif isinstance(value, list):
        for item in value:
            yield from _tools(item, origin, depth + 1)
    elif isinstance(value, dict):
        if isinstance(value.get("function"), dict) and "name" in value["function"]:
            value = {**value["function"]}
        holder = next((key for key in _HOLDERS if isinstance(value.get(key), list | str | dict)), None)
        around = origin.refined(value)
        if holder is not None:
            if not around.server and isinstance(value.get("name"), str):
                around = replace(around, server=value["name"])
            yield from _listed(value[holder], around, depth)
        elif _is_tool(value):
            yield _raw(value), around
        else:
            for key, item in value.items():
                named = replace(around, server=key) if _names_a_server(key, item) else around
                yield from _tools(item, named, depth + 1)


def _listed(value: Json, origin: _Origin, depth: int) -> Iterator[tuple[Json, _Origin]]:
    """The items of a list of tools: each of them is one, however broken."""
    if isinstance(value, str):
        value = _json_text(value)
    if isinstance(value, dict):
        value = [{"name": name, **item} if isinstance(item, dict) else item for name, item in value.items()]
    for item in value if isinstance(value, list) else []:
        found = list(_tools(item, origin, depth + 1)) if isinstance(item, dict | str) else []
        yield from found or [(item, origin)]


def _is_tool(value: dict[str, Any]) -> bool:
    return isinstance(value.get("name"), str) and any(key in value for key in (*_SCHEMAS, "description"))


def _raw(value: dict[str, Any]) -> dict[str, Any]:
    """A tool with its schemas as JSON, which some collections keep as texts."""
    texts = {
        key: inner
        for key in (*_SCHEMAS, "outputSchema", "output_schema", "annotations")
        if isinstance(value.get(key), str) and (inner := _json_text(value[key])) is not None
    }
    return {**value, **texts}


def _json_text(text: str) -> Json:
    if text[:1] not in "[{":
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _names_a_server(key: str, item: Json) -> bool:
    """Whether a mapping's key may be a server's name: its value holds tools and no word of the protocol."""
    return key not in ("result", "data", "response", "mcpServers", "servers", "metadata") and isinstance(
        item, dict | list
    )
