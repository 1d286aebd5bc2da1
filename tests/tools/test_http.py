"""Servers over streamable HTTP: the good one is a world that we serve, the bad ones answer by hand."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from pipeline.assets import asset
from pipeline.config.tools import IngestConfig
from pipeline.records import ConfigError
from pipeline.tools.harvest import Harvest
from pipeline.tools.ingest import list_server
from pipeline.worlds._mcp import Session, connect
from pipeline.worlds.load import load_world
from pipeline.worlds.serve import serve_world
from pipeline.worlds.server_process import run_isolated
from pipeline.worlds.servers import ServerEntry

ROOT = Path(__file__).parents[2]
SERVE = """
import asyncio, sys
from pathlib import Path
from pipeline.worlds.load import load_world
from pipeline.worlds.serve import serve_world
http = ("127.0.0.1", 0) if sys.argv[2:] else None
asyncio.run(serve_world(load_world(Path(sys.argv[1])), http=http, on_ready=lambda url: print(url, flush=True)))
"""
Answer = Callable[[BaseHTTPRequestHandler], None]


@contextmanager
def answering(answer: Answer) -> Iterator[str]:
    """The address of a server that answers each POST with `answer`."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            answer(self)

        def do_GET(self) -> None:
            self.send_error(405)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/mcp"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def send(handler: BaseHTTPRequestHandler, status: int, kind: str, body: bytes, **headers: str) -> None:
    handler.send_response(status)
    handler.send_header("content-type", kind)
    handler.send_header("content-length", str(len(body)))
    for name, value in headers.items():
        handler.send_header(name, value)
    handler.end_headers()
    handler.wfile.write(body)


def harvest(answer: Answer, **config: float) -> Harvest:
    with answering(answer) as url:
        entry = ServerEntry("web", url=url, headers={"Authorization": "Bearer tok-secret-123"})
        return asyncio.run(
            list_server(entry, IngestConfig(start_timeout=5, call_timeout=5).model_copy(update=config))
        )


def initialized(handler: BaseHTTPRequestHandler) -> bool:
    """Answers the handshake by the book; whether the request was part of it."""
    body = handler.body  # type: ignore[attr-defined]
    if body["method"] == "initialize":
        info = {"name": "web", "version": "1"}
        result = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": info}
        data = json.dumps({"jsonrpc": "2.0", "id": body["id"], "result": result}).encode()
        send(handler, 200, "application/json", data)
        return True
    if "id" not in body:
        send(handler, 202, "application/json", b"")
        return True
    return False


@pytest.mark.parametrize("status", [401, 403, 404, 500, 503])
def test_an_error_status_is_named(status: int) -> None:
    [failure] = harvest(
        lambda handler: send(handler, status, "text/plain", b"tok-secret-123 is wrong")
    ).failures
    assert (failure.step, failure.kind) == ("initialize", "http")
    assert str(status) in failure.message
    assert "tok-secret" not in failure.to_json()


def test_a_web_page_is_named() -> None:
    [failure] = harvest(lambda handler: send(handler, 200, "text/html", b"<html>hello</html>")).failures
    assert failure.kind == "http"
    assert "text/html" in failure.message


def test_json_that_is_no_message() -> None:
    [failure] = harvest(lambda handler: send(handler, 200, "application/json", b'{"hello": 1}')).failures
    assert failure.step == "initialize"
    assert failure.message


def test_a_redirect_elsewhere_is_not_followed() -> None:
    [failure] = harvest(
        lambda handler: send(handler, 307, "text/plain", b"", location="http://127.0.0.2:1/mcp")
    ).failures
    assert "307" in failure.message


def test_a_stream_that_closes_in_the_middle() -> None:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        if not initialized(handler):
            handler.send_response(200)
            handler.send_header("content-type", "text/event-stream")
            handler.end_headers()
            handler.wfile.write(b'event: message\ndata: {"jsonrpc": "2.0", "id"')
            handler.wfile.flush()

    [failure] = harvest(answer).failures
    assert failure.step == "tools/list"
    assert failure.message


def test_an_error_while_listing_names_the_step() -> None:
    [failure] = harvest(
        lambda handler: initialized(handler) or send(handler, 500, "text/plain", b"")  # type: ignore[func-returns-value]
    ).failures
    assert (failure.step, failure.kind) == ("tools/list", "http")


def test_silence_over_http_is_a_timeout() -> None:
    done = threading.Event()
    [failure] = harvest(lambda _: done.wait(3) and None, start_timeout=0.5).failures
    done.set()
    assert failure.kind == "timeout"


def test_nobody_listens() -> None:
    entry = ServerEntry("gone", url="http://127.0.0.1:9/mcp")
    [failure] = asyncio.run(list_server(entry, IngestConfig(start_timeout=5))).failures
    assert failure.kind == "unreachable"


def test_an_endless_answer_is_bounded() -> None:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        if initialized(handler):
            return
        handler.send_response(200)
        handler.send_header("content-type", "application/json")
        handler.end_headers()
        try:
            for _ in range(1000):
                handler.wfile.write(b" " * 1_000_000)
        except OSError:
            return

    [failure] = harvest(answer).failures
    assert failure.kind == "too_long"


async def _try_clinic(session: Session) -> None:
    listing = await session.list_tools()
    names = [tool["name"] for tool in listing.tools]
    world = load_world(asset("tools_repo/worlds/clinic.yaml"))
    assert names == [tool.name for tool in world.tools]
    assert world.policy_text in session.instructions
    good = await session.call("list_doctors", {})
    assert good.ok
    assert json.loads(good.value)
    bad = await session.call("list_doctors", {"no_such_argument": 1})
    assert not bad.ok
    assert json.loads(bad.value)["code"] == "INVALID_ARGUMENTS"
    unknown = await session.call("fly_away", {})
    assert json.loads(unknown.value)["code"] == "UNKNOWN_TOOL"


@pytest.mark.slow
async def test_a_world_is_served_over_stdio() -> None:
    path = asset("tools_repo/worlds/clinic.yaml")
    argv = [sys.executable, "-c", SERVE, str(path)]
    async with run_isolated(argv, env={"PYTHONPATH": str(ROOT)}) as process:
        async with connect(process) as session:
            await _try_clinic(session)


@pytest.mark.slow
async def test_a_world_is_served_over_http_to_two_clients() -> None:
    path = asset("tools_repo/worlds/clinic.yaml")
    with subprocess.Popen(  # noqa: ASYNC220
        [sys.executable, "-c", SERVE, str(path), "http"], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        entry = ServerEntry("clinic", url=process.stdout.readline().strip())
        async with connect(entry) as first:
            await _try_clinic(first)
        async with connect(entry) as second:
            await _try_clinic(second)
        process.terminate()


async def test_a_taken_port_is_said() -> None:
    with answering(lambda _: None) as url:
        port = int(url.rpartition(":")[2].partition("/")[0])
        with pytest.raises(ConfigError, match="cannot be listened on"):
            await serve_world(load_world(asset("tools_repo/worlds/clinic.yaml")), http=("127.0.0.1", port))


async def test_closed_sessions_leave_no_task() -> None:
    with answering(lambda handler: send(handler, 401, "text/plain", b"")) as url:
        for _ in range(5):
            await list_server(ServerEntry("web", url=url), IngestConfig(start_timeout=5))
    assert asyncio.all_tasks() == {asyncio.current_task()}
