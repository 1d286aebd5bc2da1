"""The sandbox beside the engine's own floor, in one run and in turns, so that a busy machine slows both alike.

    python -m benchmarks.sandbox [TASKS]     # TASKS: HumanEval-shaped tasks for the admission figure, default 164

Needs a Docker engine. The bare side is `docker run --rm` with the same image and the same flags.
"""

from __future__ import annotations

import asyncio
import io
import json
import os
import statistics
import subprocess
import sys
import tarfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import docker
import psutil

from pipeline.config.sandbox import SandboxSection
from pipeline.records import CodeTask
from pipeline.sandbox import (
    Engine,
    Pool,
    admit,
    find_image,
    gold_changes,
    grade,
    load_tasks,
    task_files,
    test_files,
)
from pipeline.sandbox.admission import GOLD_RUNS
from pipeline.sandbox.container import container_config
from pipeline.sandbox.shapes import humaneval
from pipeline.sandbox.tools import CodeTools

PARALLEL = 4
ROUNDS = 3
LIMITS = SandboxSection(parallel=PARALLEL, ahead=2)


def flags() -> list[str]:
    """The options of `docker run` that say the same as the pool's container configuration."""
    host = container_config("", LIMITS, {})["HostConfig"]
    found = [
        "--rm",
        "-i",
        "--network",
        "none",
        "--user",
        "1000:1000",
        "--read-only",
        "--cap-drop",
        "ALL",
        "--init",
    ]
    found += ["--security-opt", "no-new-privileges", "--memory", str(host["Memory"]), "--log-driver", "none"]
    found += ["--memory-swap", str(host["MemorySwap"]), "--pids-limit", str(host["PidsLimit"])]
    found += ["--cpus", str(LIMITS.cpus), "--workdir", "/work", "--shm-size", str(host["ShmSize"])]
    for limit in host["Ulimits"]:
        found += ["--ulimit", f"{limit['Name']}={limit['Soft']}:{limit['Hard']}"]
    for path, options in host["Tmpfs"].items():
        found += ["--tmpfs", f"{path}:{options}"]
    return found


async def bare(image: str, command: list[str], given: bytes = b"") -> int:
    argv = ["docker", "run", *flags(), image, *command]
    process = await asyncio.create_subprocess_exec(
        *argv, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    await process.communicate(given)
    return process.returncode or 0


async def rate(count: int, parallel: int, job: Callable[[int], Awaitable[object]]) -> float:
    """Jobs per second, so many at a time."""
    gate = asyncio.Semaphore(parallel)

    async def one(number: int) -> None:
        async with gate:
            await job(number)

    started = time.perf_counter()
    await asyncio.gather(*(one(number) for number in range(count)))
    return count / (time.perf_counter() - started)


def packed(task: CodeTask, gold: bool) -> bytes:
    """Repository and tests as a tar stream, for the bare side."""
    out = io.BytesIO()
    files = {**task_files(task), **(gold_changes(task) if gold else {}), **test_files(task)}
    with tarfile.open(fileobj=out, mode="w") as tar:
        for path, file in files.items():
            if file is not None:
                entry = tarfile.TarInfo(path)
                entry.size = len(file.data)
                tar.addfile(entry, io.BytesIO(file.data))
    return out.getvalue()


PYTEST = "python3 -m pytest -q -p no:cacheprovider"


def shaped(count: int) -> list[CodeTask]:
    """Tasks of HumanEval's shape, each another function."""
    tasks = []
    for number in range(count):
        name, a, b = f"step_{number}", number % 17 + 2, number % 23 + 1
        prompt = f'from typing import List\n\n\ndef {name}(values: List[int]) -> List[int]:\n    """Each value times {a} plus {b}."""\n'
        body = f"    return [value * {a} + {b} for value in values]\n"
        test = f"def check(candidate):\n    assert candidate([]) == []\n    assert candidate([1, 2]) == [{a + b}, {2 * a + b}]\n"
        row = {
            "task_id": f"Shaped/{number}",
            "prompt": prompt,
            "canonical_solution": body,
            "test": test,
            "entry_point": name,
        }
        tasks.append(CodeTask.model_validate(humaneval(row)))
    return tasks


async def containers(pool: Pool, image: str) -> None:
    """A fresh container for one trivial command: bare, and from the pool."""

    async def ours(number: int) -> None:
        async with pool.box() as box:
            assert (await box.run(["python3", "-c", "pass"])).ok

    async def theirs(number: int) -> None:
        assert await bare(image, ["python3", "-c", "pass"]) == 0

    figures: dict[str, list[float]] = {"bare": [], "ours": []}
    for _ in range(ROUNDS):
        figures["bare"].append(await rate(24, PARALLEL, theirs))
        figures["ours"].append(await rate(24, PARALLEL, ours))
    report("fresh container, python3 -c pass, 4 at a time [/s]", figures, higher=True, goal=0.9)


async def grades(pool: Pool, image: str, task: CodeTask) -> None:
    """One grade in a fresh container: bare pytest without any check, and `grade`."""
    data, gold = packed(task, gold=True), gold_changes(task)

    async def ours(number: int) -> None:
        assert (await grade(pool, task, gold, alone=False)).status == "passed"

    async def theirs(number: int) -> None:
        assert await bare(image, ["sh", "-c", f"tar -x && {PYTEST}"], data) == 0

    figures: dict[str, list[float]] = {"bare": [], "ours": []}
    for _ in range(ROUNDS):
        figures["bare"].append(await rate(16, PARALLEL, theirs))
        figures["ours"].append(await rate(16, PARALLEL, ours))
    report("fresh container per grade, pytest, 4 at a time [/s]", figures, higher=True, goal=0.9)


async def one_after_the_other(pool: Pool, image: str) -> None:
    """docker-py's create, start, exec, remove against a box of the pool, one after the other."""
    client = docker.from_env()
    config = container_config(image, LIMITS, {})["HostConfig"]
    host = client.api.create_host_config(
        network_mode="none",
        read_only=True,
        cap_drop=["ALL"],
        security_opt=["no-new-privileges"],
        mem_limit=config["Memory"],
        memswap_limit=config["MemorySwap"],
        pids_limit=config["PidsLimit"],
        nano_cpus=config["NanoCpus"],
        tmpfs=config["Tmpfs"],
        init=True,
    )

    def peer() -> None:
        made = client.api.create_container(image, ["sleep", "600"], host_config=host, user="1000:1000")
        client.api.start(made["Id"])
        run = client.api.exec_create(made["Id"], ["python3", "-c", "pass"])
        client.api.exec_start(run["Id"])
        assert client.api.exec_inspect(run["Id"])["ExitCode"] == 0
        client.api.remove_container(made["Id"], force=True)

    async def ours() -> None:
        async with pool.box() as box:
            assert (await box.run(["python3", "-c", "pass"])).ok

    figures: dict[str, list[float]] = {"docker-py": [], "ours": []}
    for _ in range(ROUNDS):
        started = time.perf_counter()
        for _ in range(8):
            await asyncio.to_thread(peer)
        figures["docker-py"].append(8 / (time.perf_counter() - started))
        started = time.perf_counter()
        for _ in range(8):
            await ours()
        figures["ours"].append(8 / (time.perf_counter() - started))
    client.close()
    report("create, start, run, remove, one after the other [/s]", figures, higher=True, goal=1.5)


async def tool_calls(pool: Pool, task: CodeTask) -> None:
    """An agent's trivial calls in a live container."""
    async with pool.box() as box:
        desk = CodeTools(box, task)
        await desk.open()
        path = next(iter(task.files))
        for name, arguments in (
            ("bash", {"command": "true"}),
            ("read_file", {"path": path}),
            ("list_files", {}),
        ):
            took = []
            for _ in range(200):
                started = time.perf_counter()
                assert (await desk.call(name, arguments)).ok
                took.append((time.perf_counter() - started) * 1000)
            took.sort()
            print(
                f"{'tool call ' + name + ' [ms]':58} median {statistics.median(took):.2f}  p95 {took[189]:.2f}  (goal: ≤ 5)"
            )


def numbered(job: Callable[[int], Awaitable[None]], chosen: range) -> Callable[[int], Awaitable[None]]:
    """`job` for the n-th of `chosen`."""
    return lambda n: job(chosen[n])


async def admission(pool: Pool, image: str, count: int) -> None:
    """Empty once, gold three times in one container: `admit` against a bare script of the same containers."""
    tasks = shaped(count)
    thrice = "tar -x && " + " && ".join([PYTEST] * GOLD_RUNS)

    async def theirs(number: int) -> None:
        task = tasks[number]
        assert await bare(image, ["sh", "-c", f"tar -x && {PYTEST}"], packed(task, gold=False)) == 1
        assert await bare(image, ["sh", "-c", thrice], packed(task, gold=True)) == 0

    async def ours(number: int) -> None:
        assert (await admit(pool, tasks[number])).admitted

    figures: dict[str, list[float]] = {"bare": [], "ours": []}
    parts = 4  # in turns, so that a change of the machine's load meets both
    for part in range(parts):
        chosen = range(part * count // parts, (part + 1) * count // parts)
        for name, job in (("bare", theirs), ("ours", ours)):
            took = len(chosen) / await rate(len(chosen), PARALLEL, numbered(job, chosen))
            figures[name].append(took)
    print(f"{f'admission of {count} HumanEval-shaped tasks [s]':58}", end=" ")
    bare_sum, our_sum = sum(figures["bare"]), sum(figures["ours"])
    print(f"bare {bare_sum:.1f}  ours {our_sum:.1f}  ours/bare {our_sum / bare_sum:.2f} (goal: ≤ 1.25)")


async def memory(pool: Pool) -> None:
    """Memory of this process while a container prints two gigabytes."""
    process, seen = psutil.Process(), []
    async with pool.box() as box:
        before = process.memory_info().rss

        async def watch() -> None:
            while True:
                seen.append(process.memory_info().rss)
                await asyncio.sleep(0.02)

        watcher = asyncio.create_task(watch())
        result = await box.run("head -c 2000000000 /dev/zero | tr '\\0' x", timeout=120)
        watcher.cancel()
    print(
        f"{'two gigabytes printed: harness memory [MB]':58} before {before / 1e6:.0f}  highest {max(seen) / 1e6:.0f}"
        f"  kept {len(result.stdout.text)} characters in {result.seconds:.1f} s"
    )


async def twice(pool: Pool) -> None:
    """A hundred tasks graded twice, gold and empty in turns: the verdicts must be the same."""
    own = [each for each in load_tasks(Path("data/code_tasks")) if isinstance(each, CodeTask)]
    tasks = [*own, *shaped(100 - len(own))]

    async def verdict(number: int) -> str:
        task = tasks[number]
        report = await grade(pool, task, gold_changes(task) if number % 2 else {}, alone=False)
        return json.dumps([report.status, [each.outcome for each in report.outcomes]])

    gate = asyncio.Semaphore(PARALLEL)

    async def one(number: int) -> str:
        async with gate:
            return await verdict(number)

    first = await asyncio.gather(*(one(number) for number in range(len(tasks))))
    second = await asyncio.gather(*(one(number) for number in range(len(tasks))))
    same = sum(a == b for a, b in zip(first, second, strict=True))
    print(f"{'tasks graded twice with the same verdict':58} {same} of {len(tasks)}")


def report(what: str, figures: dict[str, list[float]], *, higher: bool, goal: float) -> None:
    (peer, theirs), (_, ours) = figures.items()
    ratio = statistics.median(ours) / statistics.median(theirs)
    print(
        f"{what:58} {peer} {statistics.median(theirs):.2f}  ours {statistics.median(ours):.2f}"
        f"  ours/{peer} {ratio:.2f} (goal: ≥ {goal})"
    )


async def main(count: int) -> None:
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    async with Engine.connect() as engine, Pool(LIMITS, run="benchmark", build=True) as pool:
        image = await find_image(engine, "python")
        own = next(each for each in load_tasks(Path("data/code_tasks")) if isinstance(each, CodeTask))
        await containers(pool, image)
        await grades(pool, image, own)
        await one_after_the_other(pool, image)
        await tool_calls(pool, own)
        await memory(pool)
        await twice(pool)
        await admission(pool, image, count)
        left = [each for each in await engine.labeled() if each["Labels"].get("tracemill.run") == "benchmark"]
    print(f"{'containers in use or warm at the end':58} {len(left)}")
    done = subprocess.run(  # noqa: ASYNC221 - nothing else runs any more
        ["docker", "ps", "-aq", "--filter", "label=tracemill.run=benchmark"], capture_output=True
    )
    print(f"{'containers left after the pool was closed':58} {len(done.stdout.split())}")


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else 164))
