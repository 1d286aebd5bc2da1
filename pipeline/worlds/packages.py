"""Packages that a launch entry names: what the command lines of `uvx`, `pipx` and `npx` ask for."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from pipeline.worlds.servers import ServerEntry

_UVX_VALUE_FLAGS = {"--from", "--with", "--python", "-p", "--index-url", "--extra-index-url", "-i"}
_SPECIFIER = re.compile(r"^([A-Za-z0-9._-]+)(\[[^\]]*\])?(.*)$")


@dataclass(frozen=True)
class Package:
    """What a `uvx` or `npx` command line asks for."""

    registry: str
    """pypi or npm"""
    name: str
    requirement: str
    """As the client takes it: `name==1.2`, `name[extra]`, `@scope/name@1.2`."""
    executable: str = ""
    """The command inside the package; "" for the one that it would run by itself."""
    extras: tuple[str, ...] = ()
    """Further requirements installed beside it (`--with`)."""
    python: str = ""
    args: tuple[str, ...] = ()


def asked_package(entry: ServerEntry) -> Package | None:
    """The package that an entry starts through `uvx`, `uv tool run`, `pipx run` or `npx`; None for other commands."""
    command, args = Path(entry.command).name, list(entry.args)
    if command == "uv" and args[:2] == ["tool", "run"]:
        command, args = "uvx", args[2:]
    if command == "pipx" and args[:1] == ["run"]:
        command, args = "uvx", ["--from" if item == "--spec" else item for item in args[1:]]
    if command == "uvx":
        return _uvx(args)
    if command == "npx":
        return _npx(args)
    return None


def _split(args: list[str], value_flags: set[str]) -> tuple[dict[str, list[str]], list[str]]:
    """Leading flags with their values, and the rest."""
    flags: dict[str, list[str]] = {}
    while args and args[0].startswith("-") and args[0] != "--":
        name, given, value = args.pop(0).partition("=")
        if not given and name in value_flags and args:
            value = args.pop(0)
        flags.setdefault(name, []).append(value)
    return flags, args[1:] if args[:1] == ["--"] else args


def _uvx(args: list[str]) -> Package | None:
    flags, rest = _split(args, _UVX_VALUE_FLAGS)
    source = flags.get("--from", [""])[0]
    if not rest:
        return None
    command = rest[0]
    requirement = source or command
    if not source and "@" in command:
        name, _, version = command.partition("@")
        requirement, command = (name if version == "latest" else f"{name}=={version}"), name
    match = _SPECIFIER.match(requirement)
    if match is None:
        return None
    return Package(
        registry="pypi",
        name=match[1],
        requirement=requirement,
        executable=_SPECIFIER.sub(r"\1", command) if source else "",
        extras=tuple(item for value in flags.get("--with", []) for item in value.split(",") if item),
        python=(flags.get("--python", []) + flags.get("-p", []) + [""])[0],
        args=tuple(rest[1:]),
    )


def _npx(args: list[str]) -> Package | None:
    flags, rest = _split(args, {"--package", "-p", "--call", "-c"})
    packages = flags.get("--package", []) + flags.get("-p", [])
    if not rest or "--call" in flags or "-c" in flags:
        return None
    requirement = packages[0] if packages else rest[0]
    name = requirement if requirement.rfind("@") <= 0 else requirement[: requirement.rfind("@")]
    return Package(
        registry="npm",
        name=name,
        requirement=requirement,
        executable=rest[0] if packages else "",
        extras=tuple(packages[1:]),
        args=tuple(rest[1:]),
    )
