"""A run killed at random moments, beside the same run left alone."""

from __future__ import annotations

import json
import random
import re
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from benchmarks.rollout.endpoint import CLIENTS, ENVIRONMENT, ROOT, endpoint, prepared
from pipeline.store import RunFolder

LATENCY = 0.2
"""Seconds an answer takes: long enough for a kill to meet most episodes with a request on its way."""
LIVE = 20
TABLES = ("trajectories", "events", "calls", "verdicts", "faults", "snapshots", "failures")
SETTINGS = {
    "trajectories.shard_tasks": 10,
    "trajectories.concurrency": LIVE,
    "trajectories.attempts": 2,
    "worlds.only": ["harbour-hotel"],
}


@dataclass(frozen=True)
class Kill:
    """What was known right after a kill."""

    asked: int
    """Lines of the endpoint's log, those included that were on their way."""
    kept: frozenset[str]
    """Requests whose answers the journal holds."""


def kills(data: Path, times: int) -> None:
    """One run is played undisturbed; an equal one is killed `times` times, at moments spread over the whole of it."""
    contents: list[dict[str, list[str]]] = []
    logs: list[list[tuple[str, str, float]]] = []
    found: list[Kill] = []
    for name in ("calm", "killed"):
        log, plans = data / f"{name}.log", data / f"{name}.plans"
        with endpoint(LATENCY, log, plans) as url:
            folder = prepared(data / name, "run", url, plans, 60, **SETTINGS)
            if name == "killed":
                longest = 2 * _seconds(logs[0]) / (times + 4)
                found = _killed(folder, log, times, longest)
            subprocess.run(_command(folder), env=ENVIRONMENT, cwd=ROOT, check=True)
        contents.append(_content(folder))
        logs.append(_lines(log))
    same = [table for table in TABLES if contents[0][table] == contents[1][table]]
    rows = sum(map(len, contents[0].values()))
    print(
        f"kills: {len(found)} kills -9 across one run of {len(contents[0]['trajectories'])} episodes, {LIVE} of them live; "
        f"{'equal to' if len(same) == len(TABLES) else 'NOT equal to'} the undisturbed run in {len(same)} of {len(TABLES)} "
        f"tables ({rows} rows)"
    )
    _repeats(logs[1], found)


def _killed(folder: RunFolder, log: Path, times: int, longest: float) -> list[Kill]:
    """Kills it `times` times, each up to `longest` seconds after it has begun to ask; fewer when it ends before."""
    rng, found = random.Random(7), list[Kill]()
    while len(found) < times:
        process = subprocess.Popen(_command(folder), env=ENVIRONMENT, cwd=ROOT)
        seen, waited = len(_lines(log)), time.monotonic() + 60
        while process.poll() is None and len(_lines(log)) == seen and time.monotonic() < waited:
            time.sleep(0.01)
        time.sleep(rng.random() * longest)
        if process.poll() is not None:
            break
        process.send_signal(signal.SIGKILL)
        process.wait()
        kept = _kept(folder)
        time.sleep(2 * LATENCY)  # what was on its way is logged as answered, though nobody heard it
        found.append(Kill(len(_lines(log)), kept))
    return found


def _command(folder: RunFolder) -> list[str]:
    return [sys.executable, str(CLIENTS / "units.py"), str(folder.path)]


def _lines(log: Path) -> list[tuple[str, str, float]]:
    """(episode, request, moment) of what the endpoint has answered."""
    if not log.exists():
        return []
    found = (line.split() for line in log.read_text().splitlines())
    return [(seed, digest, float(moment)) for seed, digest, moment in found]


def _seconds(lines: Sequence[tuple[str, str, float]]) -> float:
    return lines[-1][2] - lines[0][2]


def _kept(folder: RunFolder) -> frozenset[str]:
    """Requests, by the name that the endpoint gave its answer, of all answers in the journals of unfinished units."""
    found: set[str] = set()
    for path in (folder.path / "journal").glob("trajectories-*.db"):
        with sqlite3.connect(path) as journal:
            for (answer,) in journal.execute("select answer from answers"):
                found.update(re.findall(r'"id":\s*"answer-(\w+)"', answer))
        journal.close()
    return frozenset(found)


def _content(folder: RunFolder) -> dict[str, list[str]]:
    return {table: sorted(json.dumps(row, sort_keys=True) for row in folder.rows(table)) for table in TABLES}


def _repeats(lines: Sequence[tuple[str, str, float]], found: Sequence[Kill]) -> None:
    """How often a request came again, and whether any came whose answer was in the journal when the run was killed."""
    seen: set[str] = set()
    again = most = needless = 0
    parts = [0, *(kill.asked for kill in found), len(lines)]
    for number, (start, end) in enumerate(pairwise(parts)):
        asked = lines[start:end]
        repeated = Counter(seed for seed, digest, _ in asked if digest in seen)
        again += repeated.total()
        most = max([most, *repeated.values()])
        kept = frozenset().union(*(kill.kept for kill in found[:number]))
        needless += sum(digest in kept for _, digest, _ in asked)
        seen.update(digest for _, digest, _ in asked)
    held = len(frozenset().union(*(kill.kept for kill in found)))
    print(
        f"kills: {len(seen)} requests; {again} asked again, at most {most} by one episode after one kill (at most 1); "
        f"{held} answers stood in the journal at a kill, {needless} of them were asked for again (0)"
    )
