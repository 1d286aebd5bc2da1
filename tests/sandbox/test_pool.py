"""The pool and the box: byte-exact files, deadlines, backpressure, and nothing left behind, also by a killed parent."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
import requests
from docker.errors import APIError

from pipeline.config.sandbox import SandboxSection
from pipeline.records import RunStatus, SandboxError
from pipeline.sandbox import Engine, File, GuestError, Link, Pool, Sandbox, find_image, grade, sweep
from pipeline.sandbox.container import box_labels, container_config
from tests.sandbox.test_hostile import RIGHT, TASK
from tests.sandbox.test_parts import NAMES

pytestmark = [pytest.mark.slow, pytest.mark.docker]


async def mine(engine: Engine, run: str) -> list[str]:
    return [str(each["Id"]) for each in await engine.labeled() if each["Labels"].get("tracemill.run") == run]


async def test_files_come_back_byte_for_byte(pool: Pool) -> None:
    async with pool.box() as box:
        await box.mark()
        files = {path: File(data) if isinstance(data, bytes) else data for path, data in NAMES.items()}
        given = {path: file for path, file in files.items() if isinstance(file, File)} | {"empty": File(b"")}
        await box.write(given)
        assert await box.diff() == given
        for path, file in given.items():
            assert await box.read(path) == file.data
        await box.mark()
        await box.write({"run.sh": None, "empty": b"no longer"})
        await box.run("ln -s /etc/passwd link; mv 'a b.py' 'b a.py'")
        assert await box.diff() == {
            "run.sh": None,
            "empty": File(b"no longer"),
            "link": Link("/etc/passwd"),
            "a b.py": None,
            "b a.py": File(b"x = 1"),
        }
        with pytest.raises(GuestError):
            await box.read("no such file")


async def test_streams_results_and_deadlines(pool: Pool) -> None:
    async with pool.box() as box:
        result = await box.run("printf out; printf err >&2; exit 7")
        assert (result.exit_code, result.stdout.text, result.stderr.text) == (7, "out", "err")
        assert (await box.run("cat", stdin=b"\xff" * 300_000)).stdout.cut == 300_000 - (256 << 10)
        assert (await box.run("head -c 90000000 /dev/zero | tr '\\0' x")).stdout.cut > 80_000_000
        assert (await box.run("kill -11 $$")).signal == 11
        late = await box.run("trap '' TERM INT; setsid sleep 600 & sleep 600", timeout=1)
        assert late.timed_out
        assert not late.ended
        assert (await box.run("pgrep sleep")).exit_code == 1
        assert (await box.run(["no-such-program"])).exit_code == 127
        assert (await box.run("setsid sleep 600 & echo started")).stdout.text == "started\n"
        await box.reap()
        assert (await box.run("pgrep sleep")).exit_code == 1


async def test_a_worker_that_does_not_answer_is_destroyed(engine: Engine) -> None:
    limits = SandboxSection(grace=0.5)
    async with Sandbox(engine, await find_image(engine, "python"), limits, run="stopped") as box:
        # Stops the worker itself: only the deadline outside is left.
        result = await box.run("kill -STOP $PPID; sleep 600", timeout=1)
        assert result.timed_out
        assert result.ended
    assert await mine(engine, "stopped") == []


async def test_callers_wait_while_all_places_are_taken(engine: Engine) -> None:
    seen: list[int] = []
    running = 0
    async with Pool(SandboxSection(parallel=2, ahead=1), run="waiting") as pool:

        async def one() -> None:
            nonlocal running
            async with pool.box() as box:
                running += 1
                seen.append(running)
                await box.run("sleep 0.05")
                running -= 1

        await asyncio.gather(*(one() for _ in range(8)))
        assert max(seen) == 2
    assert await mine(engine, "waiting") == []


async def test_a_canceled_caller_leaves_nothing(engine: Engine) -> None:
    async with Pool(SandboxSection(parallel=2), run="canceled") as pool:

        async def long() -> None:
            async with pool.box() as box:
                await box.run("sleep 600", timeout=900)

        tasks = [asyncio.create_task(long()) for _ in range(4)]
        await asyncio.sleep(0.8)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert (await grade(pool, TASK, {"double.py": RIGHT})).status is RunStatus.PASSED
    assert await mine(engine, "canceled") == []


PARENT = """
import asyncio, sys
from pipeline.config.sandbox import SandboxSection
from pipeline.sandbox import Pool

async def main():
    async with Pool(SandboxSection(parallel=2, ahead=1), run=sys.argv[1]) as pool:
        async with pool.box() as box:
            print("ready", flush=True)
            await box.run("setsid sleep 600 & sleep 600", timeout=900)

asyncio.run(main())
"""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
async def test_nothing_outlives_its_parent(engine: Engine, how: signal.Signals) -> None:
    root, label = Path(__file__).parent.parent.parent, f"orphans-{how.name}"
    parent = subprocess.Popen(  # noqa: ASYNC220 - nothing else runs in this loop
        [sys.executable, "-c", textwrap.dedent(PARENT), label],
        cwd=root,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert parent.stdout is not None
    assert parent.stdout.readline() == b"ready\n"
    await asyncio.sleep(0.5)
    assert await mine(engine, label)
    parent.send_signal(how)
    parent.wait(30)
    parent.stdout.close()
    for _ in range(100):
        if not await mine(engine, label):
            break
        await asyncio.sleep(0.1)
    assert await mine(engine, label) == []


async def test_the_sweep_takes_leftovers_and_nothing_else(engine: Engine) -> None:
    image = await find_image(engine, "python")
    limits = SandboxSection()
    ours = box_labels("sweep", 600)
    dead = ours | {"tracemill.owner": ours["tracemill.owner"].rpartition(":")[0] + ":1"}
    made = {
        "alive": await engine.create(container_config(image, limits, ours), f"sweep-alive-{os.getpid()}"),
        "dead": await engine.create(container_config(image, limits, dead), f"sweep-dead-{os.getpid()}"),
        "expired": await engine.create(
            container_config(image, limits, box_labels("sweep", -5)), f"sweep-expired-{os.getpid()}"
        ),
        "foreign": await engine.create(container_config(image, limits, {}), f"sweep-foreign-{os.getpid()}"),
    }
    try:
        await sweep(engine)
        left = {each["Id"] for each in await engine.labeled()}
        assert made["alive"] in left
        assert not {made["dead"], made["expired"]} & left
        assert await asyncio.to_thread(engine.docker.containers.get, made["foreign"])
    finally:
        for container in made.values():
            await engine.remove(container)


async def test_an_engine_that_fails_is_never_scored(
    docker_ready: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Pool(SandboxSection(ahead=0, retries=1), run="failing") as pool:
        starts = 0
        start = Engine.start

        async def failing(self: Engine, container: str) -> None:
            nonlocal starts
            starts += 1
            if starts <= failures:
                raise SandboxError("The engine is out of order.")
            await start(self, container)

        monkeypatch.setattr(Engine, "start", failing)
        failures = 1
        assert (await grade(pool, TASK, {"double.py": RIGHT})).status is RunStatus.PASSED
        starts, failures = 0, 9
        report = await grade(pool, TASK, {"double.py": RIGHT})
        assert report.status is RunStatus.INFRA_ERROR
        assert "out of order" in report.reason


async def test_a_pool_without_an_engine_says_the_way_out() -> None:
    with pytest.raises(SandboxError, match=r"prepare\.sh"):
        async with Pool(SandboxSection(hosts=("unix:///nowhere/docker.sock",))):
            pass


async def test_a_dead_host_among_several_is_gone_without(docker_ready: None) -> None:
    hosts = ("unix:///nowhere/docker.sock", "unix:///var/run/docker.sock")
    async with Pool(SandboxSection(hosts=hosts, ahead=0)) as pool:
        assert (await grade(pool, TASK, {"double.py": RIGHT})).status is RunStatus.PASSED


@pytest.mark.parametrize("status", [409, 500])
async def test_a_removal_that_the_engine_gave_up_is_asked_for_again(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    """An engine under load answers 500 when a kill takes too long, 409 while a removal is on its way."""
    labels = box_labels(f"slow-engine-{status}", 60)
    container = await engine.create(
        container_config(await find_image(engine, "python"), SandboxSection(), labels),
        f"slow-engine-{status}-{os.getpid()}",
    )
    really, asked = engine.docker.api.remove_container, 0

    def gives_up_twice(name: str, **options: bool) -> None:
        nonlocal asked
        asked += 1
        if asked <= 2:
            answer = requests.Response()
            answer.status_code = status
            raise APIError("tried to kill container, but did not receive an exit event", answer)
        really(name, **options)

    monkeypatch.setattr(engine.docker.api, "remove_container", gives_up_twice)
    await engine.remove(container)
    assert asked == 3
    assert not await mine(engine, f"slow-engine-{status}")
