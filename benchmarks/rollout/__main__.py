"""Episodes: how fast, how many at once, and whether they replay, persist and survive being killed.

    python -m benchmarks.rollout [--only PART…] [--tau2 PATH --tau2-python PYTHON] [--quick]

Parts: teacher, replay (teacher's episodes again), persistence, crowd (1,000 at once against a loopback endpoint, beside
the bare client on the same requests), gym (beside the retail environment of tau2-bench, if the path of its source is
given; the PyPI package `tau2` is something else), kills.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import tempfile
from pathlib import Path

import psutil

from benchmarks.rollout.crowd import crowd
from benchmarks.rollout.gym import gym
from benchmarks.rollout.kills import kills
from benchmarks.rollout.persistence import other_hosts, persistence
from benchmarks.rollout.teacher import replays, teacher
from pipeline.sandbox import engine_problem

PARTS = ("teacher", "replay", "persistence", "crowd", "gym", "kills")


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
                asyncio.run(other_hosts(engine_problem() is None))
        if "crowd" in options.only:
            crowd(data / "crowd", 1000 // scale)
        if "gym" in options.only:
            gym(data / "gym", options.tau2, options.tau2_python)
        if "kills" in options.only:
            kills(data / "kills", 20 // (4 if options.quick else 1))


if __name__ == "__main__":
    main()
