"""The door to an engine: what is said when none answers, both clients at one engine, streams that can be given up."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.records import SandboxError
from pipeline.sandbox import Engine, engine_problem
from pipeline.sandbox.engine import each, engine_errors


def test_an_engine_that_is_not_there_is_named_with_the_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nowhere = f"unix://{tmp_path}/none.sock"
    problem = engine_problem(nowhere)
    assert problem is not None
    assert nowhere in problem
    assert "no such file" in problem.lower()
    assert "prepare.sh" in problem
    monkeypatch.setenv("DOCKER_HOST", nowhere)
    assert engine_problem() == problem
    monkeypatch.delenv("DOCKER_HOST")
    monkeypatch.setenv("DOCKER_CONTEXT", "no-such-context")
    assert "context" in str(engine_problem())


@pytest.mark.parametrize(
    "host", ["tcp://127.0.0.1:1", "tcp://127.0.0.1", "carrier-pigeon://coop", "ssh://nobody@127.0.0.1:1"]
)
def test_an_address_of_no_use_is_a_problem_and_no_crash(host: str) -> None:
    problem = engine_problem(host)
    assert problem is not None
    assert host in problem


def test_an_engine_that_is_down_or_something_else_is_a_problem(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as there:
        there.bind(str(tmp_path / "engine.sock"))
        assert "refused" in str(engine_problem(f"unix://{tmp_path}/engine.sock"))
        there.listen()
        answering = threading.Thread(target=_say, args=(there, b"HTTP/1.0 418 Tea\r\n\r\nonly tea here"))
        answering.start()
        assert "tea" in str(engine_problem(f"unix://{tmp_path}/engine.sock"))
        answering.join(10)


def _say(there: socket.socket, words: bytes) -> None:
    there.accept()[0].close()  # the knock
    caller, _ = there.accept()
    with caller:
        caller.recv(4096)
        caller.sendall(words)


def test_what_both_clients_raise_becomes_one_error() -> None:
    with pytest.raises(SandboxError, match=r"failed while resting: TimeoutError\."):
        with engine_errors("resting"):
            raise TimeoutError


async def test_a_stream_is_read_to_its_end_and_can_be_given_up() -> None:
    assert [piece async for piece in each(range(5))] == list(range(5))
    halfway, more = threading.Event(), threading.Event()
    taken: list[int] = []

    def slow() -> Iterator[int]:
        for number in range(1000):
            taken.append(number)
            yield number
            if number == 2:
                halfway.set()
                more.wait(60)

    async def read() -> None:
        async for _ in each(slow()):
            pass

    reading = asyncio.create_task(read())
    assert await asyncio.to_thread(halfway.wait, 60)
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    more.set()
    assert len(taken) <= 4


@pytest.mark.docker
async def test_both_clients_speak_to_one_engine(engine: Engine) -> None:
    blocking = await asyncio.to_thread(engine.docker.info)
    assert (await engine.live.system.info())["ID"] == blocking["ID"]
    assert engine.architecture
    assert not await engine.running("0" * 64)
    await engine.remove("0" * 64)
