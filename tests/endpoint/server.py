"""An OpenAI-compatible server on loopback that answers, or misbehaves, as a Python function says.

    with Endpoint(lambda received: text("hello")) as endpoint:
        ...  # endpoint.base_url; endpoint.calls holds what arrived

The script gets a `Received` and returns a `Reply`, or a str for a plain answer, or a dict as the body. It runs in the
server's own thread and event loop. `python -m tests.endpoint.server --latency 0.2` serves fixed answers for
benchmarks until its standard input ends.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Literal

from aiohttp import web


@dataclass(frozen=True)
class Received:
    """A request as it arrived. `number` counts requests from 0; header names are in lower case."""

    number: int
    path: str
    body: dict[str, Any]
    headers: dict[str, str]

    @property
    def last(self) -> str:
        """Content of the last message."""
        return str(self.body["messages"][-1]["content"])

    @property
    def system(self) -> str:
        """Content of the system messages, joined."""
        return "\n".join(m["content"] for m in self.body["messages"] if m["role"] == "system")


@dataclass(frozen=True)
class Reply:
    """What the server does. `latency` in seconds comes before anything else."""

    body: bytes = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    content_type: str = "application/json"
    latency: float = 0.0
    fate: Literal["answer", "reset", "hang", "cut"] = "answer"
    """reset: the connection is aborted; hang: nothing is ever sent; cut: half the body, then an abort."""
    chunks: int = 1
    """Into how many pieces the body is cut, `pause` seconds apart."""
    pause: float = 0.0


Script = Callable[[Received], "Reply | str | dict[str, Any]"]


def completion(
    content: str | None = "",
    *,
    calls: Sequence[tuple[str, str]] = (),
    finish: str = "",
    tokens: tuple[int, int] = (10, 5),
    cached: int = 0,
    **message: Any,
) -> dict[str, Any]:
    """The body of a chat completion; `calls` are (name, argument text); `message` adds fields to the message."""
    said: dict[str, Any] = {"role": "assistant", "content": content, **message}
    if calls:
        said["tool_calls"] = [
            {"id": f"call_{n}", "type": "function", "function": {"name": name, "arguments": arguments}}
            for n, (name, arguments) in enumerate(calls)
        ]
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 0,
        "model": "scripted",
        "choices": [
            {"index": 0, "message": said, "finish_reason": finish or ("tool_calls" if calls else "stop")}
        ],
        "usage": {
            "prompt_tokens": tokens[0],
            "completion_tokens": tokens[1],
            "total_tokens": sum(tokens),
            "prompt_tokens_details": {"cached_tokens": cached},
        },
    }


def text(content: str, *, latency: float = 0.0, **more: Any) -> Reply:
    """A good answer; `more` as for `completion`."""
    return Reply(json.dumps(completion(content, **more)).encode(), latency=latency)


def calls(*made: tuple[str, Any], content: str = "", **more: Any) -> Reply:
    """An answer with tool calls: (name, arguments as an object or as raw text)."""
    written = [(name, a if isinstance(a, str) else json.dumps(a)) for name, a in made]
    return Reply(json.dumps(completion(content, calls=written, **more)).encode())


def error(
    status: int, message: str = "scripted error", *, code: str | None = None, retry_after: float | None = None
) -> Reply:
    """An error as OpenAI words it."""
    body = {"error": {"message": message, "type": "error", "code": code}}
    headers = {} if retry_after is None else {"Retry-After": f"{retry_after:g}"}
    return Reply(json.dumps(body).encode(), status=status, headers=headers)


def html(status: int = 200) -> Reply:
    """A gateway's page."""
    page = b"<html><head><title>Bad gateway</title></head><body>nginx</body></html>"
    return Reply(page, status=status, content_type="text/html")


class Endpoint:
    """The server, in a thread of its own; a context manager. `script` may be replaced while it runs."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.calls: list[Received] = []
        self.served = 0
        """Chat answers with status 200 that were written completely."""
        self.in_flight = 0
        self.peak = 0
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._stop = asyncio.Event()
        self._thread = threading.Thread(target=self._run, name="scripted-endpoint", daemon=True)
        self._port = 0

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._port}/v1"

    def __enter__(self) -> Endpoint:
        self._thread.start()
        if not self._ready.wait(10):
            raise RuntimeError("the scripted endpoint did not start")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(10)
        self._loop.close()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self._serve())

    async def _serve(self) -> None:
        app = web.Application(client_max_size=64_000_000)
        app.router.add_route("*", "/{path:.*}", self._handle)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1, handler_cancellation=True)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0, backlog=4096)
        await site.start()
        self._port = runner.addresses[0][1]
        self._ready.set()
        await self._stop.wait()
        await runner.cleanup()

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        body = json.loads(await request.read() or b"{}")
        received = Received(
            len(self.calls),
            request.path,
            body,
            {name.lower(): value for name, value in request.headers.items()},
        )
        self.calls.append(received)
        self.in_flight += 1
        self.peak = max(self.peak, self.in_flight)
        try:
            return await self._answer(request, self.script(received))
        finally:
            self.in_flight -= 1

    async def _answer(self, request: web.Request, said: Reply | str | dict[str, Any]) -> web.StreamResponse:
        reply = text(said) if isinstance(said, str) else said
        if isinstance(reply, dict):
            reply = Reply(json.dumps(reply).encode())
        if reply.latency:
            await asyncio.sleep(reply.latency)
        if reply.fate == "hang":
            await self._stop.wait()
        if reply.fate in ("hang", "reset"):
            assert request.transport is not None
            request.transport.abort()
            return web.Response()
        headers = {"Content-Type": reply.content_type, **reply.headers}
        if reply.fate == "answer" and reply.chunks == 1:
            self.served += reply.status == 200
            return web.Response(body=reply.body, status=reply.status, headers=headers)
        return await self._pieces(request, reply, headers)

    async def _pieces(
        self, request: web.Request, reply: Reply, headers: dict[str, str]
    ) -> web.StreamResponse:
        response = web.StreamResponse(status=reply.status, headers=headers)
        response.content_length = len(reply.body)
        await response.prepare(request)
        step = max(1, -(-len(reply.body) // max(reply.chunks, 2)))
        for start in range(0, len(reply.body), step):
            await response.write(reply.body[start : start + step])
            if reply.fate == "cut":
                assert request.transport is not None
                request.transport.close()
                return response
            await asyncio.sleep(reply.pause)
        self.served += reply.status == 200
        return response


def main() -> None:
    """Serve fixed answers; prints the base URL, ends with standard input, prints counts as JSON."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--latency", type=float, default=0.2)
    parser.add_argument("--rejected", type=float, default=0.0, help="share of calls that meet 429, at random")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    answer = text("A fixed answer of a few words.", latency=options.latency)
    refusal = error(429, "slow down")

    numbers = random.Random(options.seed)

    def script(received: Received) -> Reply:
        return refusal if numbers.random() < options.rejected else answer

    with Endpoint(script) as endpoint:
        print(endpoint.base_url, flush=True)
        sys.stdin.read()
        print(json.dumps({"calls": len(endpoint.calls), "served": endpoint.served, "peak": endpoint.peak}))


if __name__ == "__main__":
    main()
