"""The hosts that the conformance suite holds to what they declare. A further host is a further entry of `CASES`."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from pipeline.config.sandbox import SandboxSection
from pipeline.config.tools import IngestConfig
from pipeline.config.trajectories import LiveConfig
from pipeline.records import CodeTask, Json
from pipeline.sandbox import Pool, load_tasks
from pipeline.tools.ingest import list_server
from pipeline.worlds.container import ContainerHost
from pipeline.worlds.host import Ability, ToolHost
from pipeline.worlds.live import LiveHost
from pipeline.worlds.server_pool import Servers
from pipeline.worlds.servers import ServerEntry
from pipeline.worlds.simulated import SimulatedHost
from pipeline.worlds.simulated.programs import ProgramSimulator, hidden
from pipeline.worlds.sql import SqlHost
from tests.worlds.tiny import tiny_world

Open = Callable[[], Awaitable[ToolHost]]
"""Opens one more host in its first state."""
Called = tuple[str, dict[str, Json]]
SHELF = ServerEntry(
    name="shelf",
    command=sys.executable,
    args=(str(Path(__file__).parent / "shelf_server.py"),),
    env={"SHELF_KEY": "planted-secret-77"},
)


@dataclass(frozen=True)
class Case:
    """A kind of host, and calls that mean something to it: `read` shows what `write` has done."""

    name: str
    opener: Callable[[], AbstractAsyncContextManager[Open]]
    ability: Ability
    write: Called
    read: Called
    shown: Callable[[Json], bool]
    """Whether the value of `read` shows the write."""
    other_write: Called
    """A write that leads to another state."""
    refused: Called
    code: str
    """The tool's own code for `refused`."""
    invalid: Called
    marks: tuple[Any, ...] = field(default=())


@asynccontextmanager
async def _closing(make: Open) -> AsyncIterator[Open]:
    async with AsyncExitStack() as stack:

        async def open_one() -> ToolHost:
            host = await make()
            stack.push_async_callback(host.close)
            return host

        yield open_one


@asynccontextmanager
async def sql() -> AsyncIterator[Open]:
    async def make() -> ToolHost:
        return SqlHost(tiny_world())

    async with _closing(make) as open_one:
        yield open_one


@asynccontextmanager
async def simulated() -> AsyncIterator[Open]:
    """Tools without a program, played by one that has them: a call goes the whole way of proposal, patch and proof."""
    simulator = ProgramSimulator(tiny_world())

    async def make() -> ToolHost:
        return SimulatedHost(hidden(tiny_world()), simulator)

    async with _closing(make) as open_one:
        yield open_one
    simulator.close()


@asynccontextmanager
async def live(session: Any = "episode") -> AsyncIterator[Open]:
    tools = (await list_server(SHELF, IngestConfig())).tools
    async with Servers({"shelf": SHELF}, IngestConfig(), LiveConfig(session=session)) as servers:

        async def make() -> ToolHost:
            return await LiveHost.open(tools, servers)

        async with _closing(make) as open_one:
            yield open_one


@asynccontextmanager
async def container() -> AsyncIterator[Open]:
    folder = Path(__file__).parent.parent.parent / "data" / "code_tasks"
    task = next(one for one in load_tasks(folder) if isinstance(one, CodeTask))
    async with Pool(SandboxSection(parallel=3, ahead=1), run="tests", build=True) as pool:

        async def make() -> ToolHost:
            return await ContainerHost.open(pool, task)

        async with _closing(make) as open_one:
            yield open_one


SQL = Case(
    name="sql",
    opener=sql,
    ability="exact",
    write=("add", {"name": "gear", "amount": 5}),
    read=("look", {}),
    shown=lambda rows: {"name": "gear", "amount": 5, "price": None} in rows,
    other_write=("add", {"name": "gear", "amount": 6}),
    refused=("take", {"name": "zero", "amount": 3}),
    code="TOO_FEW",
    invalid=("add", {"name": "gear"}),
)
CASES = (
    SQL,
    replace(SQL, name="simulated", opener=simulated),
    Case(
        name="live",
        opener=live,
        ability="recorded",
        write=("shelf_put", {"key": "a", "value": "blue"}),
        read=("shelf_get", {"key": "a"}),
        shown=lambda value: value == {"value": "blue"},
        other_write=("shelf_put", {"key": "a", "value": "red"}),
        refused=("shelf_get", {"key": "nothing"}),
        code="NOT_THERE",
        invalid=("shelf_put", {"key": 5, "value": "x"}),
    ),
    Case(
        name="container",
        opener=container,
        ability="recorded",
        write=("write_file", {"path": "made.txt", "content": "blue\n"}),
        read=("read_file", {"path": "made.txt"}),
        shown=lambda value: "blue" in str(value),
        other_write=("write_file", {"path": "made.txt", "content": "red\n"}),
        refused=("read_file", {"path": "nothing.txt"}),
        code="NOT_FOUND",
        invalid=("write_file", {"path": "made.txt"}),
        marks=(pytest.mark.slow, pytest.mark.docker),
    ),
)
