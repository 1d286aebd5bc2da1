"""The gym surface, beside the retail environment of tau2-bench."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

from benchmarks.rollout.endpoint import CLIENTS, client


def gym(data: Path, tau2: Path | None, python: str) -> None:
    """Tool calls a second through `reset` and `step`, whole episodes with a state reference after each call."""
    ours = client("gym", str(data))
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
