"""A world as a real MCP server, over stdio or streamable HTTP, so that any agent can be tried in it."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable

import uvicorn

from pipeline.records import ConfigError, Json, World
from pipeline.worlds._mcp import Call, http_app, serve_stdio
from pipeline.worlds.host import ToolHost
from pipeline.worlds.sql.host import SqlHost


def calls_of(host: ToolHost) -> Call:
    """The calls of a host as a server makes them: one at a time, in order of arrival; an error is `{code, message}`."""
    turn = asyncio.Lock()

    async def call(name: str, arguments: dict[str, Json]) -> tuple[bool, Json]:
        async with turn:
            result = await host.call(name, arguments)
        if result.error is not None:
            return False, {"code": result.error[0], "message": result.error[1]}
        return True, result.value

    return call


def instructions_of(world: World) -> str:
    """What a client may add to its system prompt: the summary and the policy."""
    return "\n\n".join(part for part in (world.summary, world.policy_text) if part)


async def serve_world(
    world: World,
    *,
    http: tuple[str, int] | None = None,
    on_ready: Callable[[str], None] | None = None,
) -> None:
    """Serves one copy of a world until the client or the user ends it: over stdio, or at `http` (host, port).

    All HTTP clients share the copy. Port 0 takes a free one; `on_ready` hears the address. Raises ConfigError when
    the port is taken.
    """
    host = SqlHost(world)
    try:
        about = {"version": world.id, "instructions": instructions_of(world)}
        if http is None:
            await serve_stdio(world.name, world.tools, calls_of(host), **about)
        else:
            app = http_app(world.name, world.tools, calls_of(host), host=http[0], **about)
            await _listen(app, *http, on_ready)
    finally:
        await host.close()


async def _listen(app: object, host: str, port: int, on_ready: Callable[[str], None] | None) -> None:
    config = uvicorn.Config(app, host=host, port=port, log_level="warning", ws="none")  # type: ignore[arg-type]
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listening = socket.create_server((host, port), family=family)
    except OSError as error:
        raise ConfigError(
            f"{host}:{port} cannot be listened on: {error.strerror}.", way_out="Choose another port."
        ) from error
    with listening:
        if on_ready is not None:
            on_ready(f"http://{host}:{listening.getsockname()[1]}/mcp")
        await uvicorn.Server(config).serve(sockets=[listening])
