"""Tools of real MCP servers: each launched alone, listed, normalized, and gone again.

One task per server does everything from installing to closing. Whatever a server does wrong costs one
`ServerFailure` with its cause and the tail of its stderr, never the run.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from pipeline.config.tools import IngestConfig
from pipeline.records import Json, Provenance
from pipeline.tools.harvest import Harvest, ServerFailure, ServerReport, Siblings
from pipeline.worlds._mcp import Session, connect
from pipeline.worlds.environments import Environment, InstallFailure
from pipeline.worlds.launch import OLDER_SDK, Box, breaks_under_sdk, find_environment, open_box, run_server
from pipeline.worlds.packages import Package, asked_package
from pipeline.worlds.server_process import sweep
from pipeline.worlds.servers import ServerEntry
from pipeline.worlds.wire import Listing, McpFailure, SessionLimits

_ASKS = re.compile(
    r"environment|variable|required|must be set|not set|missing|api[ _-]?key|token|credential", re.I
)
_VARIABLE = re.compile(r"\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b")


async def ingest(
    servers: Mapping[str, ServerEntry],
    config: IngestConfig,
    on_done: Callable[[str, Harvest], None] | None = None,
) -> Harvest:
    """Lists all servers, `config.parallel` at a time. `on_done` hears of each as it ends, e.g. to commit it.

    First ends what an earlier, killed run left behind. Raises SandboxError when containers are asked for and the
    engine fails.
    """
    await asyncio.to_thread(sweep)
    gate = asyncio.Semaphore(config.parallel)

    async def one(entry: ServerEntry, box: Box | None) -> Harvest:
        async with gate:
            harvest = await list_server(entry, config, box)
        if on_done is not None:
            on_done(entry.name, harvest)
        return harvest

    async with open_box(config) as box, asyncio.TaskGroup() as group:
        tasks = [group.create_task(one(entry, box)) for entry in servers.values()]
    return Harvest.joined(task.result() for task in tasks)


async def list_server(entry: ServerEntry, config: IngestConfig, box: Box | None = None) -> Harvest:
    """The harvest of one server; never raises for what the server does.

    A Python server that breaks under the present SDK is started once more with the one before it.
    """
    package = asked_package(entry)
    harvest = await _attempt(entry, package, config, box)
    if package is not None and _wants_older_sdk(package, harvest):
        older = await _attempt(entry, replace(package, extras=(*package.extras, OLDER_SDK)), config, box)
        return older if older.servers else harvest
    return harvest


def _wants_older_sdk(package: Package, harvest: Harvest) -> bool:
    return any(
        failure.kind in ("exited", "configuration") and breaks_under_sdk(package, failure.stderr)
        for failure in harvest.failures
    )


async def _attempt(
    entry: ServerEntry, package: Package | None, config: IngestConfig, box: Box | None
) -> Harvest:
    stderr = [""]
    try:
        return await _list(entry, package, config, box, stderr)
    except InstallFailure as error:
        failure = ("install", "install", str(error))
    except McpFailure as error:
        failure = (error.step, error.kind, error.message)
    step, kind, message = failure
    if kind == "exited" and (wanted := _wanted(stderr[0])):
        kind, message = "configuration", f"{message}; it seems to want {wanted}"
    row = ServerFailure(
        server=entry.name,
        step=step,
        kind=kind,
        message=_clean(entry, message),
        stderr=_clean(entry, stderr[0]),
    )
    return Harvest(failures=(row,))


def _wanted(stderr: str) -> str:
    """The variables that a server asks for in its last words, if it does."""
    if not _ASKS.search(stderr):
        return ""
    return ", ".join(list(dict.fromkeys(_VARIABLE.findall(stderr)))[:5])


def _clean(entry: ServerEntry, text: str) -> str:
    text = entry.scrub(text)
    return "".join(
        character if character.isprintable() or character in "\n\t" else "\ufffd" for character in text
    )


async def _list(
    entry: ServerEntry, package: Package | None, config: IngestConfig, box: Box | None, stderr: list[str]
) -> Harvest:
    limits = SessionLimits(
        start=config.start_timeout,
        call=config.call_timeout,
        line=config.max_line_mb << 20,
        pages=config.max_pages,
        tools=config.max_tools,
    )
    if entry.url:
        async with connect(entry, limits) as session:
            listing = await session.list_tools()
            return _harvest(entry, session, listing, Environment(argv=()), home="")
    environment = await find_environment(entry, package, config)
    async with run_server(entry, environment, config, box, config.server_timeout) as process:
        try:
            async with connect(process, limits) as session:
                listing = await session.list_tools()
                return _harvest(entry, session, listing, environment, home=str(process.home))
        finally:
            stderr[0] = process.stderr_tail


def _harvest(
    entry: ServerEntry, session: Session, listing: Listing, environment: Environment, home: str
) -> Harvest:
    provenance = Provenance(
        source="mcp",
        server=entry.name,
        server_version=session.version,
        protocol=session.protocol,
        registry=environment.registry,
        package=environment.package,
        version=environment.version,
        license=environment.license,
    )
    siblings = Siblings(provenance)
    for raw in listing.tools:
        siblings.add(_without_home(raw, home))
    report = ServerReport(
        server=entry.name,
        name=session.name,
        version=session.version,
        protocol=session.protocol,
        tools=len(siblings.tools),
        rejected=len(siblings.rejections),
        pages=listing.pages,
        noise=_clean(entry, session.noise),
    )
    failures: tuple[ServerFailure, ...] = ()
    if listing.problem:
        failure: dict[str, Any] = {"server": entry.name, "step": "tools/list", "kind": "incomplete"}
        failures = (ServerFailure(**failure, message=listing.problem, tools=len(siblings.tools)),)
    return Harvest(tuple(siblings.tools), tuple(siblings.rejections), failures, (report,))


def _without_home(raw: Json, home: str) -> Json:
    """The throw-away home in a description or default is an accident of this launch."""
    text = json.dumps(raw)
    return json.loads(text.replace(home, "/home/user")) if home and home in text else raw
