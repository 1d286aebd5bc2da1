"""Episodes: how fast, how many at once, and whether they replay, persist and survive being killed.

    python -m benchmarks.rollout [--only PART…] [--tau2 PATH --tau2-python PYTHON] [--quick]

Parts: teacher, replay (teacher's episodes again), persistence, crowd (1,000 at once against a loopback endpoint, beside
the bare client on the same requests), gym (beside the retail environment of tau2-bench, if the path of its source is
given; the PyPI package `tau2` is something else), kills.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil

from benchmarks.pipeline import timed
from pipeline.config import load_config
from pipeline.records import Json, Snapshot, World
from pipeline.sandbox import engine_problem
from pipeline.stages.context import Context
from pipeline.stages.replay import replay
from pipeline.stages.stored import Stored, stored
from pipeline.stages.units import STAGES, work
from pipeline.store import RunFolder
from pipeline.worlds.mixed import parts_of
from pipeline.worlds.sql import SqlWorld
from tests.worlds.hosts import CASES

ROOT = Path(__file__).resolve().parent.parent
CLIENTS = Path(__file__).resolve().parent / "rollout_clients"
PARTS = ("teacher", "replay", "persistence", "crowd", "gym", "kills")


# ---- the teacher -------------------------------------------------------------------------------------------------


def teacher(data: Path, tasks: int) -> RunFolder:
    """A whole run of the teacher with faults in half of the tasks, on all cores."""
    folder, seconds, peak = timed(data, tasks, 2, {"tasks.fault_rate": 0.5})
    rows = list(folder.rows("trajectories", columns=("id", "faults")))
    faults = sum(row["faults"] for row in rows)
    print(
        f"teacher: {len(rows)} episodes, {faults} injected faults: {len(rows) / seconds['trajectories']:.0f} episodes/s "
        f"played, judged and stored on {os.cpu_count()} cores (at least 200); peak worker {peak / 1024:.0f} MiB"
    )
    return folder


def replays(folder: RunFolder) -> None:
    """Every episode again: observations and state references have to be the same."""
    same = total = calls = 0
    began = time.perf_counter()
    for one in _episodes(folder):
        assert one.world is not None
        told = asyncio.run(replay(one.trajectory, one.task, one.world))
        total += 1
        same += told.same
        calls += told.calls
        if not told.same:
            print(f"  {told.text}")
    print(
        f"replay: {same} of {total} episodes identical, {calls} calls compared, {time.perf_counter() - began:.1f} s"
    )


def _episodes(folder: RunFolder) -> Iterator[Stored]:
    return stored(Context.open(folder.path))


# ---- what was written is read back -------------------------------------------------------------------------------


def persistence(folder: RunFolder) -> None:
    """Facts that calls wrote, looked for in the results of later calls of the same episode, and at its end in those of
    every read-only tool that the changed rows give arguments for.

    A fact is a cell of a row that a call changed, as the engine noted it then. A later result speaks of it when it holds
    the row's key and a column of that name which no other table of the world has.
    """
    written = met = kept = episodes = 0
    for one in _episodes(folder):
        assert one.world is not None
        if len(parts_of(one.world)) > 1:
            continue  # names of columns say too little where several worlds speak
        episodes += 1
        facts: Facts = {}
        columns = _columns(one.world)
        before: Snapshot | None = None
        for event in one.trajectory.events:
            if event.role != "tool":
                continue
            after, fresh = one.states.get(event.after), Facts()
            if event.before != event.after and after is not None:
                fresh = _changed(one.world, before, after)
                written += sum(map(len, fresh.values()))
                before = after
            older = {place: cells for place, cells in facts.items() if place not in fresh}
            if event.ok:
                seen = [_compared(row, older, columns) for row in _objects(_read(event.content))]
                met, kept = met + sum(n for n, _ in seen), kept + sum(n for _, n in seen)
            for place, cells in fresh.items():
                facts.setdefault(place, {}).update(cells)
        if before is not None:
            seen = [_compared(row, facts, columns) for row in _looked_up(one.world, before, facts)]
            met, kept = met + sum(n for n, _ in seen), kept + sum(n for _, n in seen)
    share = f"{kept / met:.2%}" if met else "none"
    print(
        f"persistence sql: {episodes} episodes, {written} facts written; met again in later results {met} times, as written "
        f"{kept} times: {share} (100 %)"
    )


Facts = dict[tuple[str, Json], dict[str, Json]]
"""Table and key to the cells that were written last."""


def _compared(
    row: dict[str, Json], facts: Facts, columns: Sequence[tuple[str, str, set[str]]]
) -> tuple[int, int]:
    """How many facts an object of a result speaks of, and of how many as they were written."""
    met = kept = 0
    for table, key, names in columns:
        wanted = facts.get((table, row[key]), {}) if isinstance(row.get(key), str | int) else {}
        for name in names & row.keys() & wanted.keys():
            met += 1
            kept += _alike(row[name], wanted[name])
    return met, kept


def _looked_up(world: World, state: Snapshot, facts: Facts) -> Iterator[dict[str, Json]]:
    """What read-only tools say about changed rows in a copy of the world that got the state through its stored form."""
    live = SqlWorld(world)
    live.restore(Snapshot.model_validate_json(state.model_dump_json()))
    tables = live.runtime.image.tables
    for table, key in facts:
        row = live.ask(
            f"select * from {table} where {tables[table].columns[tables[table].key[0]]} = :key", {"key": key}
        )
        for tool in world.tools if row else ():
            words = world.words.tools.get(tool.name)
            if not tool.annotations.read_only or words is None:
                continue
            sources = {name: about.source.partition(".") for name, about in words.arguments.items()}
            wanted = tool.input_schema.get("required", ())
            filled = {
                name: row[0][sources[name][2]]
                for name in wanted
                if name in sources and sources[name][0] == table and sources[name][2] in row[0]
            }
            filled |= {name: row[0][name] for name in wanted if name in row[0] and name not in filled}
            if len(filled) == len(wanted):
                answer = live.call(tool.name, filled)
                yield from _objects(answer.value) if answer.ok else ()
    live.close()


def _columns(world: World) -> list[tuple[str, str, set[str]]]:
    """Tables with a key of one column, that column, and the columns whose names only this table has."""
    live = SqlWorld(world)
    tables = live.runtime.image.tables
    often = Counter(name for table in tables.values() for name in table.columns)
    live.close()
    return [
        (name, table.columns[table.key[0]], {c for c in table.columns if often[c] == 1})
        for name, table in tables.items()
        if len(table.key) == 1
    ]


def _changed(world: World, before: Snapshot | None, after: Snapshot) -> Facts:
    """Cells that differ between two states, by table and key."""
    live = SqlWorld(world)
    tables = live.runtime.image.tables
    live.close()
    old = {(table, key): row for table, key, row in (before.rows if before else ())}
    found = Facts()
    for table, key, row in after.rows:
        shape = tables.get(table)
        if row is None or shape is None or len(shape.key) != 1 or old.get((table, key)) == row:
            continue
        was = old.get((table, key))
        place = (table, row[shape.key[0]])
        found[place] = {
            name: row[i] for i, name in enumerate(shape.columns) if was is None or was[i] != row[i]
        }
    return found


def _read(text: str) -> Json:
    try:
        return json.loads(text)
    except ValueError:
        return None  # cut for its length


def _objects(value: Json) -> Iterator[dict[str, Json]]:
    if isinstance(value, dict):
        yield value
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from _objects(item)


def _alike(shown: Json, kept: Json) -> bool:
    """SQLite keeps JSON as text and truth as a number; results show what the schema says."""
    if isinstance(shown, dict | list):
        return isinstance(kept, str) and json.loads(kept) == shown
    return bool(shown == kept)


async def _other_hosts(docker: bool) -> None:
    """The same on the hosts of the conformance suite: a write, reads after it, and reads after a restart from a snapshot."""
    for case in CASES:
        if case.name == "sql" or (case.name == "container" and not docker):
            continue
        met = kept = 0
        async with case.opener() as open_one:
            for write in (case.write, case.write, case.write):
                host = await open_one()
                await host.call(*write)
                for again in range(2):
                    for _ in range(3):
                        shown = await host.call(*case.read)
                        met += 1
                        kept += shown.ok and case.shown(shown.value)
                    if not again:
                        state = host.snapshot()
                        await host.close()
                        host = await open_one()
                        await host.restore(state)
                await host.close()
        print(
            f"persistence {case.name}: {kept} of {met} reads showed what was written, half of them after a restore"
        )


# ---- a crowd -----------------------------------------------------------------------------------------------------


@contextmanager
def endpoint(latency: float, log: Path) -> Iterator[str]:
    log.parent.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, str(CLIENTS / "endpoint.py"), str(latency), str(log)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip()
    finally:
        process.communicate("")


def _client(script: str, *words: str) -> dict[str, float]:
    command = [sys.executable, str(CLIENTS / f"{script}.py"), *words]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)}
    )
    if done.returncode:
        raise RuntimeError(done.stderr[-2000:])
    figures: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return figures


def _prepared(data: Path, name: str, url: str, tasks: int, **more: Any) -> RunFolder:
    """A run with tasks, and a model at `url` as its agent."""
    flags = {
        "data": str(data),
        "tasks.count": tasks,
        "tasks.fault_rate": 0.5,
        "cache.enabled": False,
        "endpoints": {"default": {"base_url": url}},
        "models": {"m": {}},
        "roles.policy": "m",
        "limits": {"concurrency": 1000},
        "trajectories.attempts": 1,
        **more,
    }
    config = load_config(None, flags, {})
    folder = RunFolder.create(data, name, "trajectories", config.seed, config.to_yaml())
    for stage in ("worlds", "domains", "evolve", "tasks"):
        for number in range(STAGES[stage].units(Context.open(folder.path))):
            asyncio.run(work(folder.path, stage, number))
    return folder


def crowd(data: Path, episodes: int) -> None:
    """All episodes at once, agent at an endpoint of 200 ms; then the bare client with the same requests."""
    log = data / "requests"
    with endpoint(0.2, log) as url:
        more = {
            "trajectories.concurrency": episodes,
            "trajectories.shard_tasks": episodes,
            "trajectories.attempts": 10,
        }
        folder = _prepared(data, "crowd", url, episodes // 10, **more)
        ours = _client("ours", str(folder.path), "0")
    played = sum(1 for _ in folder.rows("trajectories", columns=("id",)))
    with endpoint(0.2, data / "again") as url:
        bare = _client("bare", url, f"{log}.bodies")
    longest = max(Counter(line.split()[0] for line in log.read_text().splitlines()).values())
    print(
        f"crowd: {played} episodes at once, {bare['requests']:.0f} requests of 200 ms, at most {longest} in a row "
        f"(ideal {longest * 0.2:.1f} s): {ours['wall']:.1f} s played and judged, bare client {bare['wall']:.1f} s: "
        f"{ours['wall'] / bare['wall']:.2f} x (at most 1.2); CPU {ours['cpu']:.1f} s against {bare['cpu']:.1f} s; "
        f"{ours['rss_mb'] / played:.2f} MB for each live episode (at most 1)"
    )


# ---- kills -------------------------------------------------------------------------------------------------------


def kills(data: Path, times: int) -> None:
    """A run with a model as agent, killed at random moments, beside one that is left alone."""
    contents = []
    more = {
        "trajectories.shard_tasks": 10,
        "trajectories.concurrency": 20,
        "worlds.only": ["harbour-hotel"],
    }
    for name in ("calm", "killed"):
        log = data / f"{name}.log"
        with endpoint(0.05, log) as url:
            folder = _prepared(data / name, "run", url, 60, **more)
            command = [sys.executable, str(CLIENTS / "units.py"), str(folder.path)]
            environment = {**os.environ, "PYTHONPATH": str(ROOT)}
            moments: list[float] = []
            rng = random.Random(7)
            while name == "killed" and len(moments) < times:
                process = subprocess.Popen(command, env=environment, cwd=ROOT)
                began, seen = time.monotonic(), _lines(log)
                while process.poll() is None and _lines(log) == seen and time.monotonic() - began < 60:
                    time.sleep(0.01)
                time.sleep(rng.random() * 0.8)
                if process.poll() is not None:
                    break
                process.send_signal(signal.SIGKILL)
                process.wait()
                moments.append(time.monotonic())
            subprocess.run(command, env=environment, cwd=ROOT, check=True)
        contents.append(_content(folder))
        if name == "killed":
            _repeats(log, moments, 20)
    same = contents[0] == contents[1]
    print(f"kills: {len(moments)} kills; the content is {'the same' if same else 'ANOTHER'} as undisturbed")


def _lines(path: Path) -> int:
    return len(path.read_bytes().splitlines()) if path.exists() else 0


def _content(folder: RunFolder) -> dict[str, list[str]]:
    tables = ("trajectories", "events", "calls", "verdicts", "faults", "snapshots", "failures")
    return {table: sorted(json.dumps(row, sort_keys=True) for row in folder.rows(table)) for table in tables}


def _repeats(log: Path, moments: Sequence[float], live: int) -> None:
    """Requests that came twice: only those whose answer a kill may have caught on its way."""
    answered: dict[str, float] = {}
    repeated = needless = 0
    for line in log.read_text().splitlines():
        seed, digest, when = line.split()
        key = f"{seed} {digest}"
        if key in answered:
            repeated += 1
            needless += not any(
                answered[key] <= moment + 0.06 and answered[key] > moment - 0.2 for moment in moments
            )
        answered[key] = float(when)
    print(
        f"kills: {len(answered)} different requests, {repeated} asked again after {len(moments)} kills with {live} live "
        f"episodes (at most {live * len(moments)}), {needless} of them answered well before the kill (0)"
    )


# ---- the gym -----------------------------------------------------------------------------------------------------


def gym(data: Path, tau2: Path | None, python: str) -> None:
    """Tool calls a second through `reset` and `step`, whole episodes with a state reference after each call."""
    command = [sys.executable, str(CLIENTS / "gym.py"), str(data)]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)}
    )
    if done.returncode:
        raise RuntimeError(done.stderr[-2000:])
    ours = json.loads(done.stdout.splitlines()[-1])
    print(
        f"gym: {ours['episodes']:.0f} episodes of {ours['calls_each']:.0f} calls with reset, reward and a state reference after each "
        f"call: {ours['whole']:.0f} calls/s; within an episode {ours['within']:.0f} calls/s; 2,000 open instances "
        f"{ours['mb_each']:.2f} MB each"
    )
    if tau2 is None:
        print("gym: tau2-bench is not compared: give the path of its source by --tau2")
        return
    environment = {**os.environ, "PYTHONPATH": str(tau2 / "src"), "TAU2_DATA_DIR": str(tau2 / "data")}
    theirs_run = subprocess.run(
        [python, str(CLIENTS / "tau2_retail.py")], capture_output=True, text=True, env=environment
    )
    if theirs_run.returncode:
        print(f"gym: tau2-bench cannot be run: {theirs_run.stderr.strip()[-600:]}")
        return
    theirs = json.loads(theirs_run.stdout.splitlines()[-1])
    print(
        f"gym: tau2-bench retail, the same shape: {theirs['whole']:.0f} calls/s; within an episode {theirs['hashed']:.0f} "
        f"calls/s with the state's hash after each call, {theirs['within']:.0f} without; so whole episodes "
        f"{ours['whole'] / theirs['whole']:.0f} x, calls with the state known {ours['within'] / theirs['hashed']:.0f} x "
        f"(at least 20), calls alone {ours['within'] / theirs['within']:.2f} x"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="*", default=PARTS, choices=PARTS)
    parser.add_argument("--tau2", type=Path, help="a checkout of github.com/sierra-research/tau2-bench")
    parser.add_argument("--tau2-python", default=sys.executable, help="an interpreter with its dependencies")
    parser.add_argument("--quick", action="store_true", help="a tenth of the episodes")
    options = parser.parse_args()
    scale = 10 if options.quick else 1
    print(
        f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}, {psutil.virtual_memory().total >> 30} GB"
    )
    with tempfile.TemporaryDirectory() as place:
        data = Path(place)
        if {"teacher", "replay", "persistence"} & set(options.only):
            folder = teacher(data / "teacher", 500 // scale)
            if "replay" in options.only:
                replays(folder)
            if "persistence" in options.only:
                persistence(folder)
                asyncio.run(_other_hosts(engine_problem() is None))
        if "crowd" in options.only:
            crowd(data / "crowd", 1000 // scale)
        if "gym" in options.only:
            gym(data / "gym", options.tau2, options.tau2_python)
        if "kills" in options.only:
            kills(data / "kills", 20 // (4 if options.quick else 1))


if __name__ == "__main__":
    main()
