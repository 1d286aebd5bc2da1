"""Environments for foreign packages, made once and kept: what `uvx` and `npx` do, whether they are installed or not.

Servers pin other versions of everything, so none shares our environment. One is made per package, version and
extra requirements, in a cache folder outside the repository, by `uv` where it is installed, else by `venv` and
`pip`; for npm by `npm install`. Installing runs under a keeper like the server itself, with the network settings of
the package clients and nothing else of our environment, and never runs a npm package's install scripts.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import importlib.util
import json
import os
import re
import shutil
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from email.parser import Parser
from pathlib import Path
from typing import Any

from pipeline.records import content_id
from pipeline.worlds.server_process import ProcessLimits, run_isolated
from pipeline.worlds.servers import ServerEntry

_MOST_OUTPUT = 1 << 20
_READY = "tracemill.json"
_CLIENT_SETTINGS = re.compile(
    r"^(PIP_|UV_|NPM_CONFIG_|npm_config_|SSL_CERT|REQUESTS_CA|CURL_CA|NODE_EXTRA_CA)|_proxy$|_PROXY$"
)
_UVX_VALUE_FLAGS = {"--from", "--with", "--python", "-p", "--index-url", "--extra-index-url", "-i"}
_SPECIFIER = re.compile(r"^([A-Za-z0-9._-]+)(\[[^\]]*\])?(.*)$")


class InstallFailure(Exception):
    """A package that cannot be installed or has nothing to run. The message ends with what the client printed."""


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


@dataclass(frozen=True)
class Environment:
    """An installed package: the command that starts it, and what its metadata says."""

    argv: tuple[str, ...]
    path: tuple[str, ...] = ()
    registry: str = ""
    package: str = ""
    version: str = ""
    license: str = ""
    env: Mapping[str, str] = field(default_factory=dict)


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


async def prepare(package: Package, cache: Path, seconds: float = 300.0) -> Environment:
    """The environment of a package, made on first use. Safe between processes. Raises InstallFailure."""
    cache = cache.absolute()
    key = content_id(
        package.name.replace("/", "-").lstrip("@"), [package.requirement, package.extras, package.python]
    )
    folder = cache / package.registry / key
    folder.mkdir(parents=True, exist_ok=True)
    async with _locked(folder.with_suffix(".lock")):
        if not (folder / _READY).is_file():
            shutil.rmtree(folder)
            folder.mkdir()
            if package.registry == "pypi":
                await _install_python(package, folder, cache, seconds)
            else:
                await _install_npm(package, folder, cache, seconds)
            facts = (
                _python_facts(package, folder) if package.registry == "pypi" else _npm_facts(package, folder)
            )
            (folder / _READY).write_text(json.dumps(facts), encoding="utf-8")
        facts = json.loads((folder / _READY).read_text(encoding="utf-8"))
    return _environment(package, folder, facts)


@asynccontextmanager
async def _locked(path: Path) -> AsyncIterator[None]:
    with path.open("w") as file:
        while True:
            with contextlib.suppress(BlockingIOError):
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            await asyncio.sleep(0.1)
        yield


async def client_output(
    argv: Sequence[str], what: str, seconds: float, settings: Mapping[str, str] | None = None
) -> str:
    """What a package client prints, run under a keeper with the network settings of the clients and an empty home.

    Raises InstallFailure with the end of its stderr.
    """
    limits = ProcessLimits(memory=3 << 30, seconds=seconds, cpu=int(seconds), file_size=4 << 30, grace=1.0)
    inherited = {name: value for name, value in os.environ.items() if _CLIENT_SETTINGS.search(name)}
    env = {"PATH": os.environ.get("PATH", ""), **_client_files(), **inherited, **(settings or {})}
    output = bytearray()
    async with run_isolated(argv, env=env, limits=limits) as process:
        process.stdin.close()
        while chunk := await process.stdout.read(1 << 16):
            output += chunk[: _MOST_OUTPUT - len(output)]
        code = await process.wait(seconds)
        if code != 0:
            raise InstallFailure(f"{what} failed (exit code {code}): {process.stderr_tail[-1500:]}")
    return output.decode("utf-8", "replace").strip()


def _client_files() -> dict[str, str]:
    """The user's configuration files of the clients, named one by one since the home is an empty one."""
    candidates = {
        "PIP_CONFIG_FILE": ("~/.config/pip/pip.conf", "~/.pip/pip.conf"),
        "UV_CONFIG_FILE": ("~/.config/uv/uv.toml",),
        "NPM_CONFIG_USERCONFIG": ("~/.npmrc",),
    }
    found = {}
    for name, paths in candidates.items():
        path = next((item for item in map(os.path.expanduser, paths) if os.path.isfile(item)), None)
        if path:
            found[name] = path
    return found


async def _install_python(package: Package, folder: Path, cache: Path, seconds: float) -> None:
    kept = {"PIP_CACHE_DIR": str(cache / "pip"), "UV_CACHE_DIR": str(cache / "uv")}
    python = _interpreter(package.python)
    requirements = [package.requirement, *package.extras]
    uv = shutil.which("uv")
    target = str(folder / "bin" / "python")
    if uv:
        await client_output(
            [uv, "venv", "-q", "--allow-existing", "--python", python, str(folder)], "uv venv", seconds, kept
        )
        await client_output(
            [uv, "pip", "install", "-q", "--python", target, *requirements], "uv pip install", seconds, kept
        )
        return
    own_pip = importlib.util.find_spec("pip") is not None
    await client_output(
        [python, "-m", "venv", *(["--without-pip"] if own_pip else []), str(folder)], "venv", seconds, kept
    )
    pip = [sys.executable, "-m", "pip", "--python", target] if own_pip else [target, "-m", "pip"]
    flags = ["-q", "--no-input", "--disable-pip-version-check", "--prefer-binary", "--no-compile"]
    await client_output([*pip, "install", *flags, *requirements], "pip install", seconds, kept)


def _interpreter(asked: str) -> str:
    if not asked:
        return sys.executable
    found = shutil.which(asked if asked.startswith("python") else f"python{asked}") or (
        asked if Path(asked).is_file() else None
    )
    if found is None:
        raise InstallFailure(f"Python {asked} is not installed here.")
    return found


async def _install_npm(package: Package, folder: Path, cache: Path, seconds: float) -> None:
    npm = shutil.which("npm")
    if npm is None:
        raise InstallFailure("npm is not installed here; install Node.js to start servers from npm.")
    flags = ["--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error"]
    command = [npm, "install", "--prefix", str(folder), *flags, package.requirement, *package.extras]
    await client_output(command, "npm install", seconds, {"npm_config_cache": str(cache / "npm-cache")})


def _python_facts(package: Package, folder: Path) -> dict[str, Any]:
    """Version, licence and console scripts of the installed distribution."""
    wanted = re.sub(r"[-_.]+", "-", package.name).lower()
    for info in folder.glob("lib/python*/site-packages/*.dist-info"):
        meta = Parser().parsestr(
            (info / "METADATA").read_text(encoding="utf-8", errors="replace"), headersonly=True
        )
        if re.sub(r"[-_.]+", "-", meta.get("Name", "")).lower() != wanted:
            continue
        entries = info / "entry_points.txt"
        text = entries.read_text(encoding="utf-8") if entries.is_file() else ""
        section = re.search(r"^\[console_scripts\]\s*$(.*?)(?=^\[|\Z)", text, re.M | re.S)
        scripts = re.findall(r"^([^\s=#]+)\s*=", section[1], re.M) if section else []
        return {"version": meta.get("Version", ""), "license": _license(meta), "scripts": scripts}
    raise InstallFailure(f"{package.requirement} was installed, but no distribution {package.name} is there.")


def _license(meta: Any) -> str:
    """SPDX expression where given, else the first line of License, else the classifier."""
    if expression := meta.get("License-Expression"):
        return str(expression)
    text = str(meta.get("License") or "").strip()
    if text and "\n" not in text and len(text) < 60:
        return text
    names = [
        item.rpartition(" :: ")[2] for item in meta.get_all("Classifier", []) if item.startswith("License ::")
    ]
    return names[0] if names else ""


def _npm_facts(package: Package, folder: Path) -> dict[str, Any]:
    path = folder / "node_modules" / package.name / "package.json"
    if not path.is_file():
        raise InstallFailure(f"{package.requirement} was installed, but no package {package.name} is there.")
    meta = json.loads(path.read_text(encoding="utf-8"))
    scripts = meta.get("bin") or {}
    if isinstance(scripts, str):
        scripts = {package.name.rpartition("/")[2]: scripts}
    declared = meta.get("license") or ""
    license_name = declared if isinstance(declared, str) else str(declared.get("type", ""))
    return {"version": meta.get("version", ""), "license": license_name, "scripts": scripts}


def _environment(package: Package, folder: Path, facts: dict[str, Any]) -> Environment:
    scripts = facts["scripts"]
    name = package.executable or _default_script(package, list(scripts))
    if package.registry == "pypi":
        bin_folder = folder / "bin"
        program = bin_folder / name
        argv: tuple[str, ...] = (str(program),)
    else:
        bin_folder = folder / "node_modules" / ".bin"
        known = name in scripts
        program = folder / "node_modules" / package.name / scripts[name] if known else bin_folder / name
        argv = (shutil.which("node") or "node", str(program)) if known else (str(program),)
    if not program.is_file():
        raise InstallFailure(
            f"{package.name} has no executable {name!r}; it has {sorted(scripts) or 'none'}."
        )
    return Environment(
        argv=(*argv, *package.args),
        path=(str(bin_folder),),
        registry=package.registry,
        package=package.name,
        version=facts["version"],
        license=facts["license"],
    )


def _default_script(package: Package, scripts: list[str]) -> str:
    """The script named like the package; else the only one; else the one that sounds like a server."""
    short = package.name.rpartition("/")[2]
    if short in scripts or not scripts:
        return short
    if len(scripts) == 1:
        return scripts[0]
    likely = [name for name in scripts if "mcp" in name] or [name for name in scripts if "server" in name]
    return min(likely or scripts, key=len)
