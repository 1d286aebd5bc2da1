"""One unit of episodes against an endpoint, as a run plays it: `python ours.py RUN UNIT`.

Prints {"wall": …, "cpu": …, "rss_mb": …}: seconds, and resident memory at its highest beyond what the process held before
its first episode.
"""

from __future__ import annotations

import asyncio
import json
import sys
import threading
import time
from pathlib import Path

import psutil

from pipeline.stages import attempts
from pipeline.stages.context import Context
from pipeline.stages.units import STAGES

RUN, UNIT = Path(sys.argv[1]), int(sys.argv[2])


def main() -> None:
    """The clock starts with the first episode and ends with the last; judging comes on top in `whole`."""
    process, peak, over = psutil.Process(), [0], threading.Event()
    times: dict[str, float] = {}
    run = attempts.Attempts.run

    async def timed(self: attempts.Attempts, jobs: object) -> object:
        times["began"], times["cpu"] = time.perf_counter(), time.process_time()
        times["base"] = process.memory_info().rss
        done = await run(self, jobs)  # type: ignore[arg-type]
        times["ended"], times["used"] = time.perf_counter(), time.process_time()
        return done

    def watch() -> None:
        while not over.wait(0.05):
            peak[0] = max(peak[0], process.memory_info().rss)

    attempts.Attempts.run = timed  # type: ignore[assignment,method-assign]
    threading.Thread(target=watch, daemon=True).start()
    began = time.perf_counter()
    asyncio.run(STAGES["trajectories"].work(Context.open(RUN), UNIT))  # type: ignore[arg-type]
    whole = time.perf_counter() - began
    over.set()
    print(
        json.dumps(
            {
                "wall": times["ended"] - times["began"],
                "cpu": times["used"] - times["cpu"],
                "whole": whole,
                "rss_mb": (peak[0] - times["base"]) / 2**20,
            }
        )
    )


main()
