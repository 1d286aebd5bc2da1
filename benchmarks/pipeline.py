"""The teacher end to end without Prefect: finished and judged trajectories a second, and memory as runs grow."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import resource
import tempfile
import time
from pathlib import Path
from typing import Any

from pipeline.config import load_config
from pipeline.stages.context import Context
from pipeline.stages.units import STAGES, stages_of, work
from pipeline.store import RunFolder


def _unit(job: tuple[str, str, int]) -> int:
    run, stage, number = job
    asyncio.run(work(Path(run), stage, number))
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def play(data: Path, tasks: int, attempts: int = 2) -> RunFolder:
    """A whole teacher run in `data`, on all cores."""
    folder, _, _ = timed(data, tasks, attempts)
    return folder


def timed(
    data: Path, tasks: int, attempts: int, flags: dict[str, Any] | None = None
) -> tuple[RunFolder, dict[str, float], int]:
    """The run, seconds per stage, and the largest resident size of a worker in KiB."""
    given = {"tasks.count": tasks, "trajectories.attempts": attempts, "data": str(data), **(flags or {})}
    config = load_config(None, given, {})
    folder = RunFolder.create(
        data, f"bench-{tasks}-{attempts}", "trajectories", config.seed, config.to_yaml()
    )
    seconds, peak = {}, 0
    with multiprocessing.get_context("spawn").Pool(os.cpu_count()) as pool:
        for stage in stages_of("trajectories", config):
            started = time.perf_counter()
            jobs = [
                (str(folder.path), stage, number)
                for number in range(STAGES[stage].units(Context.open(folder.path)))
            ]
            peak = max([peak, *pool.imap_unordered(_unit, jobs)])
            seconds[stage] = time.perf_counter() - started
    return folder, seconds, peak


def main() -> None:
    """Prints the figures for 1,000 and for 10,000 trajectories, in units of eighty episodes both times."""
    for attempts, shard_tasks in ((4, 20), (40, 2)):
        with tempfile.TemporaryDirectory() as place:
            flags = {"trajectories.shard_tasks": shard_tasks}
            folder, seconds, peak = timed(Path(place), 252, attempts, flags)
            count = sum(1 for _ in folder.rows("trajectories", columns=("id",)))
            rate = count / seconds["trajectories"]
            whole = count / sum(seconds.values())
            print(
                f"{count:>6} trajectories  {rate:7.1f}/s played and judged [60]  {whole:6.1f}/s with worlds, tasks and gate  "
                f"peak worker {peak / 1024:.0f} MiB  {', '.join(f'{s} {t:.1f} s' for s, t in seconds.items())}",
                flush=True,
            )


if __name__ == "__main__":
    main()
