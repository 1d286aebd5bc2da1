"""How a launch entry becomes a running server: its environment is found or made, its process is isolated."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from pipeline.config.tools import IngestConfig
from pipeline.sandbox.engine import Engine
from pipeline.sandbox.images import build_image
from pipeline.sandbox.sweep import sweep as sweep_containers
from pipeline.worlds.contained import run_contained
from pipeline.worlds.environments import Environment, prepare
from pipeline.worlds.packages import Package
from pipeline.worlds.server_process import Process, ProcessLimits, run_isolated
from pipeline.worlds.servers import ServerEntry

OLDER_SDK = "mcp<2"
_SDK_ERROR = re.compile(
    r"pin 'mcp<2'|(?:ModuleNotFoundError|ImportError|AttributeError|TypeError).*\b(?:mcp|Server|FastMCP)\b"
)


@dataclass(frozen=True)
class Box:
    """Where servers run with `isolate: docker`."""

    engine: Engine
    image: str


@asynccontextmanager
async def open_box(config: IngestConfig) -> AsyncIterator[Box | None]:
    """The engine and the sandbox image if servers are to run in containers. Raises SandboxError."""
    if config.isolate == "process":
        yield None
        return
    async with Engine.connect() as engine:
        await sweep_containers(engine)
        yield Box(engine, (await build_image(engine)).digest)


def default_cache() -> Path:
    """Where environments are kept unless the configuration says otherwise."""
    return Path.home() / ".cache" / "tracemill" / "servers"


def breaks_under_sdk(package: Package | None, stderr: str) -> bool:
    """Whether the last words of a Python server say that it wants the SDK before the present one."""
    if package is None or package.registry != "pypi" or any(one.startswith("mcp") for one in package.extras):
        return False
    return bool(_SDK_ERROR.search(stderr))


async def find_environment(entry: ServerEntry, package: Package | None, config: IngestConfig) -> Environment:
    """What starts an entry of the stdio kind; a package is installed on first use. Raises InstallFailure."""
    if package is not None:
        return await prepare(package, config.cache or default_cache(), config.install_timeout)
    program = await asyncio.to_thread(shutil.which, entry.command) or entry.command
    folder = os.path.dirname(os.path.abspath(program))
    return Environment(argv=(program, *entry.args), path=(folder,))


def run_server(
    entry: ServerEntry, environment: Environment, config: IngestConfig, box: Box | None, seconds: float
) -> AbstractAsyncContextManager[Process]:
    """The server as a process that lives at most `seconds`; its whole tree is gone when the block is left."""
    limits = ProcessLimits(memory=config.memory_mb << 20, seconds=seconds)
    env, path = dict(entry.env), environment.path
    if box is None:
        return run_isolated(environment.argv, env=env, path=path, limits=limits)
    named = [Path(word) for word in environment.argv if word.startswith("/") and Path(word).exists()]
    folders = environment.folders or named
    return run_contained(
        environment.argv, box.engine, box.image, env=env, path=path, folders=folders, limits=limits
    )
