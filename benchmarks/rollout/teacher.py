"""A whole run of the teacher, and every episode of it again."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path

from benchmarks.pipeline import timed
from pipeline.stages.context import Context
from pipeline.stages.replay import replay
from pipeline.stages.stored import stored
from pipeline.store import RunFolder


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
    for one in stored(Context.open(folder.path)):
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
