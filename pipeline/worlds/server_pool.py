"""Running MCP servers and who uses them: one session per episode, or one for all.

Each server is owned by a task of its own, since a session must be closed in the task that opened it; calls may come from
any other task. A server that an episode has called with anything not declared read-only is stateful as far as anybody
can tell, and is ended when the episode is over; the next one meets a fresh server.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from types import TracebackType
from typing import Self

from pipeline.config.tools import IngestConfig
from pipeline.config.trajectories import LiveConfig
from pipeline.records import Json
from pipeline.records.errors import HostError
from pipeline.worlds._mcp import Session, connect
from pipeline.worlds.environments import InstallFailure
from pipeline.worlds.launch import OLDER_SDK, Box, breaks_under_sdk, find_environment, open_box, run_server
from pipeline.worlds.packages import Package, asked_package
from pipeline.worlds.server_process import sweep
from pipeline.worlds.servers import ServerEntry
from pipeline.worlds.wire import Answer, McpFailure, SessionLimits

_HOME = "/home/user"
"""How a server's throw-away home is called in calls and answers, so that they are alike from launch to launch."""


class LiveServer:
    """One running server. `call` is for several tasks at once; `open` and `close` are for the pool."""

    def __init__(self, entry: ServerEntry, config: IngestConfig, seconds: float, box: Box | None) -> None:
        self.entry = entry
        self._config = config
        self._seconds = seconds
        self._box = box
        self._limits = SessionLimits(
            start=config.start_timeout, call=config.call_timeout, line=config.max_line_mb << 20
        )
        self._home = ""
        self._stderr = ""
        self._over = asyncio.Event()
        self._ready: asyncio.Future[Session] = asyncio.get_running_loop().create_future()
        self._owner = asyncio.create_task(self._own(), name=f"mcp {entry.name}")
        self.lost = False

    async def open(self) -> None:
        """Waits for the handshake. Raises HostError when the server cannot be started."""
        try:
            await asyncio.shield(self._ready)
        except (McpFailure, InstallFailure) as error:
            step = f"{error.step}, {error.kind}" if isinstance(error, McpFailure) else "install"
            said = f" It said: {self._stderr[-300:]}" if self._stderr else ""
            raise HostError(
                self.entry.scrub(f"The MCP server {self.entry.name} does not start ({step}): {error}.{said}"),
                way_out="`tracemill doctor` says whether servers can be launched here.",
            ) from error

    async def _own(self) -> None:
        package = asked_package(self.entry)
        try:
            try:
                await self._serve(package)
            except McpFailure:
                if self._ready.done() or not breaks_under_sdk(package, self._stderr):
                    raise
                assert package is not None
                await self._serve(replace(package, extras=(*package.extras, OLDER_SDK)))
        except (McpFailure, InstallFailure, OSError) as error:
            self.lost = True
            if not self._ready.done():
                known = isinstance(error, McpFailure | InstallFailure)
                self._ready.set_exception(error if known else McpFailure("start", "unreachable", str(error)))

    async def _serve(self, package: Package | None) -> None:
        async with self._session(package) as session:
            self._ready.set_result(session)
            await self._over.wait()

    @asynccontextmanager
    async def _session(self, package: Package | None) -> AsyncIterator[Session]:
        if self.entry.url:
            async with connect(self.entry, self._limits) as session:
                yield session
            return
        environment = await find_environment(self.entry, package, self._config)
        async with run_server(self.entry, environment, self._config, self._box, self._seconds) as process:
            self._home = str(process.home) if self._box is None else ""
            try:
                async with connect(process, self._limits) as session:
                    yield session
            finally:
                self._stderr = process.stderr_tail

    async def call(self, name: str, arguments: Mapping[str, Json]) -> Answer:
        """Raises McpFailure; any but a `refused` one means that the server is lost."""
        session = self._ready.result()
        try:
            answer = await session.call(name, _swapped(dict(arguments), _HOME, self._home))
        except McpFailure as failure:
            self.lost = self.lost or failure.kind != "refused"
            raise
        return replace(answer, value=self._clean(answer.value))

    def _clean(self, value: Json) -> Json:
        """An answer without this launch's home, and without the secrets of the entry."""
        scrubbed = _mapped(value, self.entry.scrub) if self.entry.env or self.entry.headers else value
        return _swapped(scrubbed, self._home, _HOME)

    async def close(self) -> None:
        """Ends the server, whatever it is doing."""
        self._over.set()
        if not self._ready.done():
            self._owner.cancel()
        await asyncio.wait([self._owner])
        if self._ready.done() and not self._ready.cancelled():
            self._ready.exception()


def _swapped(value: Json, old: str, new: str) -> Json:
    return _mapped(value, lambda text: text.replace(old, new)) if old and new else value


def _mapped(value: Json, change: Callable[[str], str]) -> Json:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list):
        return [_mapped(item, change) for item in value]
    if isinstance(value, dict):
        return {key: _mapped(item, change) for key, item in value.items()}
    return value


class Servers:
    """The servers of one event loop; an async context manager that ends them all."""

    def __init__(self, entries: Mapping[str, ServerEntry], config: IngestConfig, live: LiveConfig) -> None:
        self.entries = entries
        self._config = config
        self._live = live
        self._idle: dict[str, list[LiveServer]] = {}
        self._common: dict[str, LiveServer] = {}
        """With `session: shared`: the server that episodes which begin now get, by name."""
        self._users: dict[LiveServer, int] = {}
        self._starting: dict[str, asyncio.Lock] = {}
        self._seats = asyncio.Semaphore(live.episodes)
        self._stack = AsyncExitStack()
        self._box: Box | None = None
        self.started = 0
        """Servers started so far."""

    async def __aenter__(self) -> Self:
        await asyncio.to_thread(sweep)
        self._box = await self._stack.enter_async_context(open_box(self._config))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.gather(*(self._end(server) for server in list(self._users)))
        await self._stack.aclose()

    async def enter(self) -> None:
        """Waits for a seat: so many episodes use servers at once."""
        await self._seats.acquire()

    def leave(self) -> None:
        self._seats.release()

    async def lease(self, name: str) -> LiveServer:
        """A server as its entry starts it, for one episode or for all. Raises HostError when it cannot be started."""
        if self._live.session == "episode":
            idle = self._idle.get(name, [])
            while idle:
                server = idle.pop()
                if not server.lost:
                    return server
                await self._end(server)
            return await self._start(name)
        async with self._starting.setdefault(name, asyncio.Lock()):
            common = self._common.get(name)
            if common is None or common.lost:
                common = self._common[name] = await self._start(name)
        self._users[common] += 1
        return common

    async def _start(self, name: str) -> LiveServer:
        server = LiveServer(self.entries[name], self._config, self._live.seconds, self._box)
        self._users[server] = 0
        self.started += 1
        try:
            await server.open()
        except BaseException:
            await self._end(server)
            raise
        return server

    async def give_back(self, server: LiveServer, *, written: bool) -> None:
        """After an episode. A server whose state may have changed serves no other episode, unless its entry is named in
        `live.stateless`."""
        name = server.entry.name
        written = (written and name not in self._live.stateless) or server.lost
        if self._live.session == "episode":
            if written:
                await self._end(server)
            else:
                self._idle.setdefault(name, []).append(server)
            return
        self._users[server] -= 1
        if written and self._common.get(name) is server:
            del self._common[name]  # who begins from now on gets another one
        if self._users[server] == 0 and self._common.get(name) is not server:
            await self._end(server)

    async def _end(self, server: LiveServer) -> None:
        self._users.pop(server, None)
        await server.close()
