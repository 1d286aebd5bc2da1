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
from dataclasses import dataclass, replace
from email.parser import Parser
from pathlib import Path
from typing import Any

from pipeline.records import content_id
from pipeline.worlds.interpreters import find_interpreter, other_interpreters
from pipeline.worlds.packages import Package
from pipeline.worlds.server_process import ProcessLimits, run_isolated

_MOST_OUTPUT = 1 << 20
_OTHER_PYTHON = re.compile(r"Requires-Python|different Python|Python[<>=]", re.I)
_READY = "tracemill.json"
_CLIENT_SETTINGS = re.compile(
    r"^(PIP_|UV_|NPM_CONFIG_|npm_config_|SSL_CERT|REQUESTS_CA|CURL_CA|NODE_EXTRA_CA)|_proxy$|_PROXY$"
)


class InstallFailure(Exception):
    """A package that cannot be installed or has nothing to run. The message ends with what the client printed."""


@dataclass(frozen=True)
class Environment:
    """An installed package: the command that starts it, and what its metadata says."""

    argv: tuple[str, ...]
    path: tuple[str, ...] = ()
    folders: tuple[Path, ...] = ()
    """What a container has to see."""
    registry: str = ""
    package: str = ""
    version: str = ""
    license: str = ""


async def prepare(package: Package, cache: Path, seconds: float = 300.0) -> Environment:
    """The environment of a package, made on first use. Safe between processes.

    A package that refuses our Python is tried with the others of this machine, newest first, unless the entry names
    one. Raises InstallFailure.
    """
    cache = cache.absolute()
    key = [package.requirement, package.extras, package.python]
    folder = cache / package.registry / content_id(package.name.replace("/", "-").lstrip("@"), key)
    folder.mkdir(parents=True, exist_ok=True)
    async with _locked(folder.with_suffix(".lock")):
        if not (folder / _READY).is_file():
            shutil.rmtree(folder)
            folder.mkdir()
            facts = await _install(package, folder, cache, seconds)
            (folder / _READY).write_text(json.dumps(facts), encoding="utf-8")
        facts = json.loads((folder / _READY).read_text(encoding="utf-8"))
    if "python" in facts:
        return await prepare(replace(package, python=facts["python"]), cache, seconds)
    return _environment(package, folder, facts)


async def _install(package: Package, folder: Path, cache: Path, seconds: float) -> dict[str, Any]:
    """Facts about the installed package, or the other interpreter that it could be installed for."""
    if package.registry == "npm":
        await _install_npm(package, folder, cache, seconds)
        return _npm_facts(package, folder)
    try:
        await _install_python(package, folder, cache, seconds)
        return _python_facts(package, folder)
    except InstallFailure as error:
        if package.python or not _OTHER_PYTHON.search(str(error)):
            raise
        for python in other_interpreters():
            with contextlib.suppress(InstallFailure):
                await prepare(replace(package, python=python), cache, seconds)
                return {"python": python}
        raise


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
    python = find_interpreter(package.python) if package.python else sys.executable
    if python is None:
        raise InstallFailure(f"Python {package.python} is not installed here.")
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
    path: tuple[str, ...] = ()
    if package.registry == "pypi":
        bin_folder = folder / "bin"
        program = bin_folder / name
        argv: tuple[str, ...] = (str(program),)
    else:
        bin_folder = folder / "node_modules" / ".bin"
        node = shutil.which("node") or "node"
        path += (os.path.dirname(node),)
        known = name in scripts
        program = folder / "node_modules" / package.name / scripts[name] if known else bin_folder / name
        argv = (node, str(program)) if known else (str(program),)
    if not program.is_file():
        raise InstallFailure(
            f"{package.name} has no executable {name!r}; it has {sorted(scripts) or 'none'}."
        )
    return Environment(
        argv=(*argv, *package.args),
        path=(str(bin_folder), *path),
        folders=(folder,),
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
