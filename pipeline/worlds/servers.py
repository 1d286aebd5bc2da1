"""Entries of the usual `mcpServers` form: how a server is launched, or where it answers."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pipeline.records import ConfigError, Json

_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
_SHORTEST_SECRET = 6


@dataclass(frozen=True)
class ServerEntry:
    """One server: `command` with `args` and `env` (stdio), or `url` with `headers` (streamable HTTP)."""

    name: str
    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)

    def scrub(self, text: str) -> str:
        """`text` without the values of this entry's variables and headers: none may reach a row or a log."""
        values = {*self.env.values(), *self.headers.values()}
        values |= {part for value in self.headers.values() for part in value.split()}
        for value in sorted(values, key=len, reverse=True):
            if len(value) >= _SHORTEST_SECRET:
                text = text.replace(value, "[removed]")
        return text


def read_servers(path: Path) -> dict[str, ServerEntry]:
    """The entries of a file. Raises ConfigError when it cannot be read or an entry makes no sense."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError(
            f"The server list {path} cannot be read: {error}.",
            way_out="It has to be a JSON file with `mcpServers`.",
        ) from error
    return parse_servers(data, where=str(path))


def parse_servers(data: Json, where: str = "the server list") -> dict[str, ServerEntry]:
    """Entries by name; those with `"disabled": true` are left out.

    `${NAME}` and `${NAME:-default}` in `env`, `args`, `url` and `headers` are filled from our environment; nothing
    else of it ever reaches a server. Raises ConfigError naming the entry.
    """
    entries = data.get("mcpServers", data.get("servers")) if isinstance(data, dict) else None
    if not isinstance(entries, dict):
        raise ConfigError(
            f"{where} has no `mcpServers` object.", way_out='Write {"mcpServers": {"name": {…}}}.'
        )
    return {
        name: _entry(name, entry, where)
        for name, entry in entries.items()
        if not (isinstance(entry, dict) and entry.get("disabled") is True)
    }


def _entry(name: str, entry: Json, where: str) -> ServerEntry:
    def wrong(what: str) -> ConfigError:
        return ConfigError(
            f"{where}: server {name!r} {what}.",
            way_out="Give `command` with `args` and `env`, or `url` with `headers`.",
        )

    if not isinstance(entry, dict):
        raise wrong("is no object")
    command, url = entry.get("command", ""), entry.get("url", "")
    if not isinstance(command, str) or not isinstance(url, str) or bool(command) == bool(url):
        raise wrong("needs either `command` or `url`")
    if entry.get("type") == "sse":
        raise wrong("asks for the old SSE transport, which is not spoken here")
    args = entry.get("args", [])
    if not isinstance(args, list) or not all(isinstance(item, str) for item in args):
        raise wrong("has `args` that are no list of texts")
    return ServerEntry(
        name=name,
        command=command,
        args=tuple(_filled(item, wrong) for item in args),
        env={key: _filled(value, wrong) for key, value in _texts(entry, "env", wrong).items()},
        url=_filled(url, wrong),
        headers={key: _filled(value, wrong) for key, value in _texts(entry, "headers", wrong).items()},
    )


def _texts(entry: dict[str, Any], key: str, wrong: Any) -> dict[str, str]:
    value = entry.get(key) or {}
    if not isinstance(value, dict) or not all(isinstance(item, str | int | float) for item in value.values()):
        raise wrong(f"has `{key}` that is no object of texts")
    return {name: item if isinstance(item, str) else json.dumps(item) for name, item in value.items()}


def _filled(text: str, wrong: Any) -> str:
    def fill(match: re.Match[str]) -> str:
        value = os.environ.get(match[1], match[2])
        if value is None:
            raise wrong(f"wants the variable {match[1]}, which is not set")
        return value

    return _VARIABLE.sub(fill, text)
