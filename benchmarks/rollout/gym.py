"""The gym surface, beside the retail environment of tau2-bench."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

from benchmarks.rollout.endpoint import CLIENTS, client


def gym(data: Path, tau2: Path | None, python: str) -> None:
    """Tool calls a second through `reset` and `step`, and of the host alone, a state reference after each call."""
    ours = client("gym", str(data))
    print(
        f"gym: {ours['episodes']:.0f} episodes of {ours['calls_each']:.0f} calls with reset, reward and a state reference after "
        f"each call: {ours['whole']:.0f} calls/s; {ours['within']:.0f} steps/s within an episode; the host alone "
        f"{ours['alone']:.0f} calls/s; 2,000 open instances {ours['mb_each']:.2f} MB each"
    )
    if tau2 is None:
        print("gym: tau2-bench is not compared: give the path of its source by --tau2")
        return
    environment = {**os.environ, "PYTHONPATH": str(tau2 / "src"), "TAU2_DATA_DIR": str(tau2 / "data")}
    command = [python, str(CLIENTS / "tau2_retail.py")]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode:
        print(f"gym: tau2-bench cannot be run: {done.stderr.strip()[-600:]}")
        return
    theirs = json.loads(done.stdout.splitlines()[-1])
    print("gym: tau2-bench retail in the same shape, and how often ours is faster (at least 20):")
    for mine, its, what in (
        ("whole", "whole", "episodes with the state known after each call"),
        ("within", "hashed", "calls with the state known, ours a step with everything that it records"),
        ("within", "steps", "steps of the gym surface, state or not"),
        ("alone", "within", "bare calls, where it neither checks, hashes nor rolls back (no goal)"),
        ("within", "within", "our steps against its bare calls (no goal)"),
    ):
        if its in theirs:
            print(f"  {ours[mine] / theirs[its]:6.1f} x  {ours[mine]:.0f} against {theirs[its]:.0f}  {what}")
        else:
            print(f"     not measured  {what}: {done.stderr.strip()[-300:]}")
