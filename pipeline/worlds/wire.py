"""What goes over a connection to a server: bounds, answers, noise and failures."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import httpx2

from pipeline.records import Json


class McpFailure(Exception):
    """A server that did not do what was asked.

    `step` is start, initialize, tools/list or tools/call; `kind` one of timeout, exited, noise, too_long, protocol,
    version, refused (a JSON-RPC error), http, unreachable.
    """

    def __init__(self, step: str, kind: str, message: str) -> None:
        super().__init__(message)
        self.step, self.kind, self.message = step, kind, message


@dataclass(frozen=True)
class SessionLimits:
    """Seconds and bytes."""

    start: float = 30.0
    """For the handshake."""
    call: float = 30.0
    """For each further request."""
    line: int = 8 << 20
    """Bytes of one message."""
    pages: int = 200
    tools: int = 20_000


@dataclass(frozen=True)
class Listing:
    """All tools of a server as it sent them, in order. `problem` says why the list may not be complete."""

    tools: tuple[Json, ...]
    pages: int
    problem: str = ""


@dataclass(frozen=True)
class Answer:
    """`value` is the structured content where there is some, else the text, else the list of content blocks."""

    ok: bool
    value: Json
    raw: dict[str, Any]


@dataclass
class Wire:
    """What the transport saw: noise before or between messages, and the fault that ended it."""

    step: str = "start"
    noise: str = ""
    noise_bytes: int = 0
    fault: tuple[str, str] | None = None
    """Kind and message."""

    def add_noise(self, line: bytes) -> None:
        text = line.decode("utf-8", "replace").strip()
        self.noise_bytes += len(line)
        if text and not self.noise:
            self.noise = text[:200]


class _Bounded(httpx2.AsyncByteStream):
    """A response body that fails after `limit` bytes."""

    def __init__(self, stream: httpx2.AsyncByteStream, limit: int, wire: Wire) -> None:
        self._stream, self._limit, self._wire = stream, limit, wire

    async def __aiter__(self) -> AsyncIterator[bytes]:
        seen = 0
        async for chunk in self._stream:
            seen += len(chunk)
            if seen > self._limit:
                self._wire.fault = ("too_long", f"sent an answer longer than {self._limit >> 20} MB")
                raise httpx2.ReadError("answer too long")
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()


@dataclass
class Watching(httpx2.AsyncBaseTransport):
    """An HTTP transport that bounds answers and notes why a request went wrong."""

    wire: Wire
    limit: int
    inner: httpx2.AsyncHTTPTransport = field(default_factory=httpx2.AsyncHTTPTransport)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        try:
            response = await self.inner.handle_async_request(request)
        except httpx2.HTTPError as error:
            if request.method == "POST":
                self.wire.fault = ("unreachable", f"{type(error).__name__}: {error}")
            raise
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        response.stream = _Bounded(response.stream, self.limit, self.wire)
        if request.method != "POST" or response.status_code == 202:
            return response
        kind = response.headers.get("content-type", "").partition(";")[0].strip()
        if response.status_code >= 300:
            self.wire.fault = ("http", f"HTTP {response.status_code}")
        elif kind not in ("application/json", "text/event-stream"):
            self.wire.fault = (
                "http",
                f"answered {kind or 'no content type'} instead of JSON or an event stream",
            )
        return response

    async def aclose(self) -> None:
        await self.inner.aclose()
