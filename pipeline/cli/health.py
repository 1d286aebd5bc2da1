"""What `tracemill doctor` examines."""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing examined: whether it works, whether it is needed at all, and the command that mends it."""

    name: str
    ok: bool
    what: str
    mend: str = ""
    needed: bool = False

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    def line(self) -> str:
        mark = "ok     " if self.ok else "MISSING" if self.needed else "absent "
        return f"{mark} {self.name:<14} {self.what}{f'  → {self.mend}' if self.mend and not self.ok else ''}"


def examine() -> list[Finding]:
    """Everything a run may use."""
    return [_python(), _assets(), _disk(), _models(), _prefect(), *_docker(), *_launchers(), *_extras()]


def _python() -> Finding:
    version = ".".join(map(str, sys.version_info[:3]))
    ok = (3, 11) <= sys.version_info[:2] < (3, 14)
    return Finding("python", ok, version, "Use Python 3.11, 3.12 or 3.13.", needed=True)


def _assets() -> Finding:
    from pipeline.assets import asset
    from pipeline.records.errors import ConfigError

    try:
        count = len(list(asset("tools_repo/worlds").glob("*.yaml")))
        return Finding("worlds", count > 0, f"{count} hand-written worlds", needed=True)
    except ConfigError as error:
        return Finding("worlds", False, error.what, "pip install --force-reinstall tracemill", needed=True)


def _disk() -> Finding:
    free = shutil.disk_usage(Path.cwd()).free / 2**30
    return Finding(
        "disk", free > 1, f"{free:.1f} GiB free here", "Free some space or set `data:`.", needed=True
    )


def _models() -> Finding:
    from pipeline.config import load_config

    config = load_config()
    played = {role: name for role, name in config.roles.items() if name != "teacher"}
    if played:
        return Finding("models", True, ", ".join(f"{role}={name}" for role, name in played.items()))
    key = "OPENAI_API_KEY is set" if os.environ.get("OPENAI_API_KEY") else "no OPENAI_API_KEY"
    return Finding("models", True, f"the teacher plays every role ({key})")


def _prefect() -> Finding:
    from importlib.metadata import version

    url = os.environ.get("PREFECT_API_URL")
    return Finding(
        "prefect", True, f"{version('prefect')}, {'server ' + url if url else 'temporary server per run'}"
    )


def _docker() -> list[Finding]:
    """The engine, and the image of the shipped code tasks, which the first run makes when it is not there."""
    import asyncio

    from pipeline.records.errors import SandboxError
    from pipeline.sandbox import Engine, find_image

    async def ask() -> list[Finding]:
        try:
            async with Engine.connect() as engine:
                version = (await engine.ask(engine.docker.version))["Version"]
                found = [Finding("docker", True, f"engine {version}, {engine.architecture}")]
                try:
                    return [*found, Finding("image python", True, await find_image(engine, "python"))]
                except SandboxError as error:
                    return [*found, Finding("image python", False, error.what, "tracemill sandbox build")]
        except SandboxError as error:
            return [Finding("docker", False, error.what, error.way_out)]

    return asyncio.run(ask())


def _launchers() -> list[Finding]:
    mends = {
        "uvx": "pip install uv (an own virtual environment per server is used instead)",
        "npx": "Install Node.js for npm servers.",
    }
    return [
        Finding(name, shutil.which(name) is not None, shutil.which(name) or "not on the path", mend)
        for name, mend in mends.items()
    ]


def _extras() -> list[Finding]:
    from importlib.util import find_spec

    extras = {
        "local": ("xllamacpp", "serving GGUF files"),
        "rephrase": ("spacy", "the parsing layer of the fidelity checker"),
    }
    return [
        Finding(f"extra {name}", find_spec(module) is not None, about, f"pip install 'tracemill[{name}]'")
        for name, (module, about) in extras.items()
    ]
