"""The Model Context Protocol: the one module that imports the SDK.

A client session keeps what a server said as raw JSON, since the SDK rejects a whole list for one bad tool and
drops keys it does not know. A session is opened, used and closed in one task. Lines and answers are bounded;
whatever goes wrong is one `McpFailure` that names the step and the cause.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import anyio
import httpx2
import mcp_types as types
from mcp.client.session import ClientSession
from mcp.client.streamable_http import streamable_http_client
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

from pipeline.records import Json, ToolSpec
from pipeline.worlds.server_process import Process
from pipeline.worlds.servers import ServerEntry
from pipeline.worlds.wire import Answer, Listing, McpFailure, SessionLimits, Watching, Wire

_NOISE_LIMIT = 1 << 20
_CHUNK = 1 << 16


_raw_result: contextvars.ContextVar[dict[str, Any]] = contextvars.ContextVar("_raw_result")


class _RawDispatcher(JSONRPCDispatcher[Any]):
    """Keeps the last raw result of the calling task beside what the SDK makes of it."""

    async def send_raw_request(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        result = await super().send_raw_request(*args, **kwargs)
        _raw_result.set(result)
        return result


@dataclass
class Session:
    """An initialized connection."""

    name: str
    version: str
    protocol: str
    instructions: str
    _session: ClientSession
    _wire: Wire
    _process: Process | None
    _limits: SessionLimits

    @property
    def noise(self) -> str:
        """The first line on stdout that was no message."""
        return self._wire.noise

    async def list_tools(self) -> Listing:
        """Every page, bounded. A repeated cursor, or more pages or tools than the limits allow, ends the list with
        the tools so far and a `problem`. Raises McpFailure when a page fails."""
        tools: list[Json] = []
        cursors: set[str] = set()
        cursor: str | None = None
        for page in range(1, self._limits.pages + 1):
            params = types.PaginatedRequestParams(cursor=cursor) if cursor else None
            raw = await self._request(
                "tools/list", types.ListToolsRequest(params=params), types.ListToolsResult
            )
            listed = raw.get("tools")
            if not isinstance(listed, list):
                raise McpFailure("tools/list", "protocol", "the answer has no list `tools`")
            tools += listed
            cursor = raw.get("nextCursor")
            if not cursor:
                return Listing(tuple(tools), page)
            if not isinstance(cursor, str) or cursor in cursors:
                return Listing(tuple(tools), page, f"the cursor {str(cursor)[:80]!r} came twice")
            if len(tools) > self._limits.tools:
                return Listing(tuple(tools), page, f"more than {self._limits.tools} tools")
            cursors.add(cursor)
        return Listing(tuple(tools), self._limits.pages, f"more than {self._limits.pages} pages")

    async def call(self, name: str, arguments: Mapping[str, Json]) -> Answer:
        """Calls a tool by its original name. Raises McpFailure; a tool's own refusal is a result with `ok` false."""
        params = types.CallToolRequestParams(name=name, arguments=dict(arguments))
        raw = await self._request("tools/call", types.CallToolRequest(params=params), types.CallToolResult)
        blocks = raw.get("content") or []
        texts = [
            block.get("text", "")
            for block in blocks
            if isinstance(block, dict) and block.get("type") == "text"
        ]
        value = raw.get("structuredContent")
        if value is None:
            value = "\n".join(texts) if len(texts) == len(blocks) else blocks
        return Answer(ok=raw.get("isError") is not True, value=value, raw=raw)

    async def _request(self, step: str, request: Any, result: Any) -> dict[str, Any]:
        async with _causes(step, self._limits.call, self._wire, self._process):
            # What the SDK cannot parse is still an answer: the caller judges the raw form item by item.
            with contextlib.suppress(ValidationError):
                await self._session.send_request(request, result)
            return _raw_result.get()
        raise AssertionError("unreachable")


@asynccontextmanager
async def connect(
    target: Process | ServerEntry, limits: SessionLimits | None = None
) -> AsyncIterator[Session]:
    """A session with a running process (stdio) or an entry's `url` (streamable HTTP).

    Requests of the server's own (sampling, elicitation, roots) are declined. Raises McpFailure.
    """
    limits = limits or SessionLimits()
    wire = Wire()
    process = target if isinstance(target, Process) else None
    transport = _stdio(target, wire, limits) if isinstance(target, Process) else _http(target, wire, limits)
    try:
        async with transport as (read, write):
            async with ClientSession(
                dispatcher=_RawDispatcher(read, write),
                client_info=types.Implementation(name="tracemill", version="1"),
            ) as session:
                async with _causes("initialize", limits.start, wire, process):
                    await _handshake(session)
                info = session.server_info
                yield Session(
                    name=info.name if info else "",
                    version=info.version if info else "",
                    protocol=session.protocol_version or "",
                    instructions=session.instructions or "",
                    _session=session,
                    _wire=wire,
                    _process=process,
                    _limits=limits,
                )
    except BaseExceptionGroup as group:
        error = _leaf(group)
        if isinstance(error, OSError | httpx2.HTTPError):
            # A request task of the HTTP transport failed, and the step that waited for it was cancelled.
            raise McpFailure(wire.step, *(wire.fault or ("unreachable", _said(error)))) from None
        raise error from None


async def _handshake(session: ClientSession) -> None:
    try:
        await session.initialize()
    except MCPError as error:
        if error.code not in (types.METHOD_NOT_FOUND, types.UNSUPPORTED_PROTOCOL_VERSION):
            raise
        await session.discover()


def _leaf(error: BaseException) -> BaseException:
    """The exception that matters in a group: our own failure first."""
    while isinstance(error, BaseExceptionGroup):
        failures, _ = error.split(McpFailure)
        error = (failures or error).exceptions[0]
    return error


@asynccontextmanager
async def _causes(step: str, seconds: float, wire: Wire, process: Process | None) -> AsyncIterator[None]:
    """Bounds a step, and turns whatever ends it early into an McpFailure with the most telling cause."""
    wire.step = step
    try:
        with anyio.fail_after(seconds):
            yield
    except McpFailure:
        raise
    except TimeoutError as error:
        if wire.noise:
            raise McpFailure(step, "noise", f"noise on stdout, and no answer: {wire.noise!r}") from error
        raise McpFailure(step, "timeout", f"no answer within {seconds:g} seconds") from error
    except MCPError as error:
        if error.code == types.CONNECTION_CLOSED or wire.fault:
            raise await _closed(step, wire, process, error) from error
        raise McpFailure(step, "refused", f"error {error.code}: {error.message[:500]}") from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise McpFailure(
            step, "protocol", f"the answer breaks the protocol at {where}: {first['msg']}"
        ) from error
    except RuntimeError as error:
        if "protocol version" not in str(error):
            raise
        raise McpFailure(step, "version", str(error)) from error
    except (OSError, httpx2.HTTPError) as error:
        raise McpFailure(step, "unreachable", _said(error)) from error


def _said(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"


async def _closed(step: str, wire: Wire, process: Process | None, error: MCPError) -> McpFailure:
    if wire.fault:
        return McpFailure(step, *wire.fault)
    code = await process.wait(1.0) if process else None
    noise = f"; noise on stdout: {wire.noise!r}" if wire.noise else ""
    if code is not None:
        return McpFailure(step, "exited", f"exited with code {code}{noise}")
    return McpFailure(step, "exited", f"closed its output{noise}" if process else error.message)


def _messages(line: bytes, wire: Wire) -> list[SessionMessage]:
    """The messages of one line: none for noise, several for a batch; text glued before a message is cut off."""
    start = line.find(b'{"jsonrpc"')
    for text in (line, line[start:] if start > 0 else b""):
        with contextlib.suppress(ValueError):
            data = json.loads(text.decode("utf-8", "replace").lstrip("\ufeff"))
            items = data if isinstance(data, list) else [data]
            messages = [
                SessionMessage(types.jsonrpc_message_adapter.validate_python(item, by_name=False))
                for item in items
            ]
            if text is not line:
                wire.add_noise(line[:start])
            return messages
    wire.add_noise(line)
    return []


@asynccontextmanager
async def _stdio(process: Process, wire: Wire, limits: SessionLimits) -> AsyncIterator[tuple[Any, Any]]:
    to_session, read = anyio.create_memory_object_stream[SessionMessage | Exception](16)
    write, from_session = anyio.create_memory_object_stream[SessionMessage](16)

    async def receive() -> None:
        buffer = bytearray()
        with to_session, contextlib.suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            while chunk := await process.stdout.read(_CHUNK):
                searched = len(buffer)
                buffer += chunk
                while (end := buffer.find(b"\n", searched)) >= 0:
                    line, searched = bytes(buffer[:end]), 0
                    del buffer[: end + 1]
                    for message in _messages(line, wire):
                        await to_session.send(message)
                if len(buffer) > limits.line:
                    wire.fault = ("too_long", f"sent a line longer than {limits.line >> 20} MB")
                    return
                if wire.noise_bytes > _NOISE_LIMIT:
                    wire.fault = ("noise", f"more than 1 MB of noise on stdout: {wire.noise!r}")
                    return

    async def send() -> None:
        with contextlib.suppress(OSError):
            async for item in from_session:
                text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
                process.stdin.write(text.encode() + b"\n")
                await process.stdin.drain()

    tasks = [asyncio.create_task(receive()), asyncio.create_task(send())]
    try:
        yield read, write
    finally:
        with anyio.CancelScope(shield=True):
            await write.aclose()
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
        for stream in (to_session, read, from_session):
            stream.close()


@asynccontextmanager
async def _http(entry: ServerEntry, wire: Wire, limits: SessionLimits) -> AsyncIterator[tuple[Any, Any]]:
    async with httpx2.AsyncClient(
        headers=dict(entry.headers), timeout=limits.call, transport=Watching(wire, limits.line)
    ) as client:
        async with streamable_http_client(
            entry.url, http_client=client, max_sse_event_size=limits.line
        ) as streams:
            yield streams


Call = Callable[[str, dict[str, Json]], Awaitable[tuple[bool, Json]]]
"""(name, arguments) → (True, value) or (False, {"code": …, "message": …})."""


def _server(name: str, tools: Sequence[ToolSpec], call: Call, version: str, instructions: str) -> Server[Any]:
    listed = [
        types.Tool(
            name=tool.name,
            title=tool.title or None,
            description=tool.description,
            input_schema=tool.input_schema,
            output_schema=_object_schema(tool.output_schema),
            annotations=types.ToolAnnotations(
                read_only_hint=tool.annotations.read_only,
                destructive_hint=tool.annotations.destructive,
                idempotent_hint=tool.annotations.idempotent,
                open_world_hint=tool.annotations.open_world,
            ),
        )
        for tool in tools
    ]
    structured = {tool.name for tool in listed if tool.output_schema is not None}

    async def on_list_tools(_context: Any, _params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=listed)

    async def on_call_tool(_context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        ok, value = await call(params.name, dict(params.arguments or {}))
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        return types.CallToolResult(
            content=[types.TextContent(text=text)],
            structured_content=value
            if ok and params.name in structured and isinstance(value, dict)
            else None,
            is_error=not ok,
        )

    return Server(
        name,
        version=version,
        instructions=instructions or None,
        on_list_tools=on_list_tools,
        on_call_tool=on_call_tool,
    )


def _object_schema(schema: dict[str, Any] | None) -> dict[str, Any] | None:
    """The protocol allows only objects as structured results; a list travels as text."""
    return schema if schema is not None and schema.get("type") == "object" else None


async def serve_stdio(
    name: str, tools: Sequence[ToolSpec], call: Call, *, version: str = "", instructions: str = ""
) -> None:
    """Serves tools over our own stdin and stdout until the client closes them."""
    server = _server(name, tools, call, version, instructions)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


def http_app(
    name: str,
    tools: Sequence[ToolSpec],
    call: Call,
    *,
    host: str = "127.0.0.1",
    version: str = "",
    instructions: str = "",
) -> Any:
    """An ASGI application that serves tools over streamable HTTP at `/mcp`; on loopback it checks Host and Origin."""
    return _server(name, tools, call, version, instructions).streamable_http_app(host=host)
