"""Engines that are restarted, lost or several: real ones of the tests' own, beside the one of the machine."""

from __future__ import annotations

import asyncio
import gc
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio

from pipeline.config.sandbox import SandboxSection
from pipeline.records import RunStatus
from pipeline.sandbox import Engine, Pool, build_image, engine_problem, grade
from pipeline.sandbox.engine import LABEL
from tests.sandbox.test_hostile import RIGHT, TASK

pytestmark = [
    pytest.mark.slow,
    pytest.mark.docker,
    # The `docker` package leaves a socket to the collector when an engine goes away while it connects.
    pytest.mark.filterwarnings(
        "ignore:Exception ignored in. <socket:pytest.PytestUnraisableExceptionWarning"
    ),
]
LOCAL = "unix:///var/run/docker.sock"


class OwnEngine:
    """A `dockerd` in namespaces of its own, network included: with it go its containers and mounts, as with a machine that crashes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.host = f"unix://{folder}/socket"
        self.process: subprocess.Popen[bytes] | None = None

    async def start(self) -> None:
        folder = self.folder
        command = [
            "unshare",
            "--mount",
            "--net",
            "--pid",
            "--fork",
            "--mount-proc",
            "--kill-child",
            "dockerd",
        ]
        command += ["--host", self.host, "--data-root", f"{folder}/data", "--exec-root", f"{folder}/exec"]
        command += [
            "--pidfile",
            f"{folder}/pid",
            "--bridge",
            "none",
            "--iptables=false",
            "--ip-forward=false",
        ]
        command += ["--add-runtime", f"other={shutil.which('runc')}"]
        # As on a machine that starts anew: what names processes is gone, what lies on the disk is there.
        (folder / "pid").unlink(missing_ok=True)
        shutil.rmtree(folder / "exec", ignore_errors=True)
        with (folder / "log").open("ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log)  # noqa: ASYNC220
        for _ in range(300):
            if await asyncio.to_thread(engine_problem, self.host) is None:
                return
            await asyncio.sleep(0.2)
        self.process.kill()
        raise AssertionError((folder / "log").read_text()[-2000:])

    async def stop(self, how: signal.Signals = signal.SIGTERM) -> None:
        process, self.process = self.process, None
        if process is not None:
            children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text()
            os.kill(int(children), how)
            await asyncio.to_thread(process.wait, 60)


@pytest.fixture(scope="module")
def made(docker_ready: None) -> Iterator[OwnEngine]:
    if os.geteuid() != 0 or shutil.which("dockerd") is None:
        pytest.skip("An engine of the tests' own needs root and dockerd (docker.io).")
    engine = OwnEngine(Path(tempfile.mkdtemp(prefix="own-engine-")))  # a socket's path has to be short

    async def make() -> None:
        await engine.start()
        async with Engine.connect(engine.host) as client:
            await build_image(client)

    try:
        asyncio.run(make())
        yield engine
    finally:
        asyncio.run(engine.stop(signal.SIGKILL))
        shutil.rmtree(engine.folder)


@pytest_asyncio.fixture
async def own(made: OwnEngine) -> AsyncIterator[OwnEngine]:
    if made.process is None:
        await made.start()
    yield made
    gc.collect()


async def left(host: str, run: str) -> list[str]:
    async with Engine.connect(host) as engine:
        return [str(each["Id"]) for each in await engine.labeled() if each["Labels"][f"{LABEL}.run"] == run]


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
async def test_grades_outlive_a_restart_of_their_engine(own: OwnEngine, how: signal.Signals) -> None:
    limits = SandboxSection(hosts=(own.host,), parallel=3, ahead=1)
    async with Pool(limits, run="restart") as pool:
        done = 0

        async def one() -> RunStatus:
            nonlocal done
            status = (await grade(pool, TASK, {"double.py": RIGHT})).status
            done += 1
            return status

        grades = [asyncio.ensure_future(one()) for _ in range(12)]
        await grades[0]
        await own.stop(how)
        await asyncio.sleep(1)
        before = done
        await own.start()
        assert await asyncio.gather(*grades) == [RunStatus.PASSED] * 12
        assert before < 12
    assert await left(own.host, "restart") == []


async def test_several_engines_share_the_work_and_one_is_lost(own: OwnEngine) -> None:
    limits = SandboxSection(hosts=(own.host, LOCAL), parallel=2, ahead=0)
    async with Pool(limits, run="several") as pool:
        seen: list[str] = []

        async def one() -> RunStatus:
            async with pool.box() as box:
                seen.append(box.engine.host)
                await box.run("sleep 0.2")
            return (await grade(pool, TASK, {"double.py": RIGHT})).status

        assert set(await asyncio.gather(*(one() for _ in range(4)))) == {RunStatus.PASSED}
        assert set(seen) == {own.host, LOCAL}
        await own.stop(signal.SIGKILL)
        reports = await asyncio.gather(*(grade(pool, TASK, {"double.py": RIGHT}) for _ in range(6)))
        assert {report.status for report in reports} == {RunStatus.PASSED}
    assert await left(LOCAL, "several") == []


async def test_an_engine_that_stays_away_is_an_infra_error(own: OwnEngine) -> None:
    limits = SandboxSection(hosts=(own.host,), ahead=0, patience=1)
    async with Pool(limits, run="away") as pool:
        await own.stop()
        report = await grade(pool, TASK, {"double.py": RIGHT})
    assert report.status is RunStatus.INFRA_ERROR
    assert "answered for 1 seconds" in report.reason
    assert "prepare.sh" in report.reason


async def test_the_runtime_is_the_configured_one(own: OwnEngine) -> None:
    async with Pool(SandboxSection(hosts=(own.host,), runtime="other")) as pool, pool.box() as box:
        container = await asyncio.to_thread(box.engine.docker.containers.get, box.container)
        assert container.attrs["HostConfig"]["Runtime"] == "other"
        assert (await box.run("echo here")).stdout.text == "here\n"
    async with Pool(SandboxSection(hosts=(own.host,), runtime="runsc", retries=0)) as pool:
        report = await grade(pool, TASK, {"double.py": RIGHT})
    assert report.status is RunStatus.INFRA_ERROR
    assert "runsc" in report.reason
