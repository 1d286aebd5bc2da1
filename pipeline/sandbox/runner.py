"""Runs tests inside the container and writes a structured report; sent there as text, imports nothing of ours.

    python3 -I -B run.py PLAN

PLAN is JSON: `root`, `ids` (test ids or files), `seed` (shuffles; null keeps the order), `report` (a path) and `canary`,
a name whose tests are reported without their traceback. The report
holds one JSON line per test, `{"id", "outcome"}`, and ends with `{"done": exit code, "collected": [ids]}`.
"""

from __future__ import annotations

import json
import os
import random
import sys
from typing import Any

import pytest


class Reporter:
    """Collects outcomes. A test passes only if set-up, call and tear-down all pass."""

    def __init__(self, plan: dict[str, Any]) -> None:
        self.plan = plan
        self.file = open(plan["report"], "x")  # noqa: SIM115 - open until the process ends, however it ends
        self.collected: list[str] = []
        self.outcomes: dict[str, str] = {}

    def write(self, line: dict[str, Any]) -> None:
        self.file.write(json.dumps(line) + "\n")
        self.file.flush()

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        self.collected = [item.nodeid for item in items]
        if self.plan["seed"] is not None:
            random.Random(self.plan["seed"]).shuffle(items)

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, item: Any) -> Any:
        report = (yield).get_result()
        canary = self.plan["canary"]
        if canary and report.failed and canary in report.nodeid:
            report.longrepr = canary

    def pytest_runtest_logreport(self, report: Any) -> None:
        before = self.outcomes.get(report.nodeid, "")
        if report.failed:
            self.outcomes[report.nodeid] = "failed" if report.when == "call" else "error"
        elif report.skipped:
            self.outcomes[report.nodeid] = before or "skipped"
        elif report.when == "call":
            self.outcomes[report.nodeid] = before or "passed"
        if report.when == "teardown":
            self.write({"id": report.nodeid, "outcome": self.outcomes.get(report.nodeid, "error")})


def main() -> int:
    with open(sys.argv[1]) as file:
        plan = json.load(file)
    os.chdir(plan["root"])
    sys.path.insert(0, plan["root"])
    reporter = Reporter(plan)
    # Not captured by pytest, which would keep it in a file: the worker bounds it.
    options = ["-q", "-s", "--tb=short", "--continue-on-collection-errors", "--rootdir", plan["root"]]
    options += ["-p", "no:cacheprovider", "-p", "no:randomly", "-o", "addopts=", "--color=no"]
    code = int(pytest.main([*options, *plan["ids"]], plugins=[reporter]))
    reporter.write({"done": code, "collected": reporter.collected})
    return code


if __name__ == "__main__":
    sys.exit(main())
