"""The list maker: names of packages become launch entries with pinned versions.

A name without a version is looked up through the ordinary client (`pip index versions`, `npm view`), one look-up a
name, a few at a time.
"""

from __future__ import annotations

import asyncio
import re
import shutil
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pipeline.records import ConfigError
from pipeline.tools.harvest import ServerFailure
from pipeline.worlds.environments import InstallFailure, client_output

Registry = Literal["pypi", "npm"]

_PYPI_NAME = re.compile(r"^[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?(?:\[[A-Za-z0-9_,.-]+\])?$")
_NPM_NAME = re.compile(r"^(?:@[a-z0-9~_-][a-z0-9._~-]*/)?[a-z0-9~_-][a-z0-9._~-]*$", re.I)
_VERSION = re.compile(r"^[A-Za-z0-9][A-Za-z0-9.+!_-]*$")
_PARALLEL = 4


@dataclass(frozen=True)
class PackageList:
    """Entries in the `mcpServers` form, in the order of the file, and the names that have none."""

    mcp_servers: dict[str, dict[str, Any]]
    failures: tuple[ServerFailure, ...] = ()

    def document(self) -> dict[str, Any]:
        """What is written to a file and read by `tracemill run tools --mcp`."""
        return {"mcpServers": self.mcp_servers}


@dataclass
class _Name:
    line: int
    name: str
    version: str | None
    args: tuple[str, ...] = field(default=())


async def list_packages(file: Path, registry: Registry) -> PackageList:
    """Reads one package a line: `name`, `name==1.2` or `name@1.2`, arguments for the server after it, `#` comments.

    Raises ConfigError for a file that cannot be read or a line that is no package name.
    """
    names = _read(file, registry)
    gate = asyncio.Semaphore(_PARALLEL)

    async def pinned(one: _Name) -> str | ServerFailure:
        if one.version:
            return one.version
        async with gate:
            try:
                return await latest_version(one.name, registry)
            except InstallFailure as error:
                return ServerFailure(server=one.name, step="look up", kind="install", message=str(error))

    versions = await asyncio.gather(*(pinned(one) for one in names))
    servers: dict[str, dict[str, Any]] = {}
    for one, version in zip(names, versions, strict=True):
        if isinstance(version, str):
            servers[_entry_name(one.name, servers)] = _entry(one, version, registry)
    return PackageList(servers, tuple(version for version in versions if isinstance(version, ServerFailure)))


def _read(file: Path, registry: Registry) -> list[_Name]:
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"The list {file} cannot be read: {error}.") from error
    names: dict[str, _Name] = {}
    for number, line in enumerate(lines, 1):
        words = line.partition(" #")[0].split() if not line.lstrip().startswith("#") else []
        if not words:
            continue
        name, version = _split(words[0])
        legal = (_PYPI_NAME if registry == "pypi" else _NPM_NAME).match(name)
        if not legal or (version is not None and not _VERSION.match(version)):
            raise ConfigError(
                f"{file}:{number}: {words[0]!r} is no name of a {registry} package.",
                way_out="Write one package a line, as name, name==version or name@version.",
            )
        names.setdefault(name.lower(), _Name(number, name, version, tuple(words[1:])))
    return list(names.values())


def _split(word: str) -> tuple[str, str | None]:
    if "==" in word:
        name, _, version = word.partition("==")
        return name, version
    at = word.rfind("@")
    return (word[:at], word[at + 1 :]) if at > 0 else (word, None)


async def latest_version(name: str, registry: Registry, seconds: float = 60.0) -> str:
    """The newest released version, as the registry's own client says. Raises InstallFailure."""
    if registry == "npm":
        npm = shutil.which("npm")
        if npm is None:
            raise InstallFailure("npm is not installed here.")
        output = await client_output([npm, "view", name, "version"], "npm view", seconds)
    else:
        argv = [
            sys.executable,
            "-m",
            "pip",
            "index",
            "versions",
            "--disable-pip-version-check",
            name.partition("[")[0],
        ]
        output = await client_output(argv, "pip index versions", seconds)
    match = re.search(r"\(([^()\s]+)\)|^([0-9]\S*)$", output, re.M)
    if match is None:
        raise InstallFailure(f"no version of {name} in {output[:200]!r}")
    return match[1] or match[2]


def _entry(one: _Name, version: str, registry: Registry) -> dict[str, Any]:
    if registry == "npm":
        return {"command": "npx", "args": ["-y", f"{one.name}@{version}", *one.args]}
    return {"command": "uvx", "args": [f"{one.name}@{version}", *one.args]}


def _entry_name(name: str, taken: dict[str, Any]) -> str:
    """A short key: the package's name without scope and the usual affixes, or the whole name if that is taken."""
    bare = name.partition("[")[0].rpartition("/")[2].lower()
    short = re.sub(
        r"^(mcp[-_.]server[-_.]|server[-_.]|mcp[-_.])|([-_.]mcp[-_.]server|[-_.]mcp|[-_.]server)$", "", bare
    )
    return next(key for key in (short or bare, bare, name, f"{name}-{len(taken)}") if key not in taken)
