"""Real servers, live: installs, starts and lists those of `data/mcp_servers.tsv`, and counts how many tools arrive.

`python benchmarks/mcp_live.py [--all] [--parallel N] [--only WORD]`; TRACEMILL_SHARED names the folder. Without
`--all` only servers that need nothing but an install. Downloads gigabytes on the first run.
"""

from __future__ import annotations

import argparse
import asyncio
import csv
import os
import re
import time
from pathlib import Path

from pipeline.config.tools import IngestConfig
from pipeline.tools.harvest import Harvest
from pipeline.tools.ingest import ingest
from pipeline.worlds.servers import ServerEntry


def entry(row: dict[str, str]) -> ServerEntry:
    """A row as a `uvx` or `npx` entry; what the note demands becomes flags, each wanted variable a dummy value."""
    package, version = row["package"], row["version"]
    command, *args = re.sub(r"<tmp>/|<tmp>", "./", row["command"].replace("<dir>", ".")).split()
    env = {name: dummy(name) for name in filter(None, row["env"].split(","))}
    if row["registry"] == "npm":
        if command == "node":
            args = args[1:]
        return ServerEntry(package, "npx", ("-y", f"{package}@{version}", *args), env)
    flags: tuple[str, ...] = ("--from", f"{package}=={version}")
    if row["note"].startswith("pin:"):
        flags += ("--with", row["note"].removeprefix("pin:"))
    if row["note"].startswith("py3"):
        flags += ("--python", row["note"].removeprefix("py"))
    return ServerEntry(package, "uvx", (*flags, command, *args), env)


def dummy(name: str) -> str:
    return "http://127.0.0.1:9" if name.endswith(("URL", "HOST", "ENDPOINT")) else "dummy-value-1"


def report(rows: list[dict[str, str]], harvest: Harvest, seconds: float) -> None:
    arrived: dict[str, int] = {item.server: item.tools for item in harvest.servers}
    expected = sum(int(row["tools"]) for row in rows)
    came = sum(min(arrived.get(row["package"], 0), int(row["tools"])) for row in rows)
    for row in rows:
        if arrived.get(row["package"], 0) < int(row["tools"]):
            print(f"  {row['package']} {arrived.get(row['package'], 0)} of {row['tools']} ({row['note']})")
    for failure in harvest.failures:
        print(
            f"  {failure.server}: {failure.step}, {failure.kind}: {failure.message[:300]} | {failure.stderr[-300:]}"
        )
    print(
        f"live: {len(arrived)} of {len(rows)} servers, {came} of {expected} tools arrived again "
        f"({came / expected:.1%}, 90 %), {len(harvest.tools)} in all, {len(harvest.rejections)} rejected, {seconds:.0f} s"
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--parallel", type=int, default=2)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    shared = os.environ.get("TRACEMILL_SHARED")
    if not shared:
        print("TRACEMILL_SHARED is not set: nothing to start")
        return
    with (Path(shared) / "data/mcp_servers.tsv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file, delimiter="\t") if options.only in row["package"]]
    if not options.all:
        rows = [row for row in rows if not row["env"]]

    def done(name: str, part: Harvest) -> None:
        print(f"{time.strftime('%H:%M:%S')} {name}: {len(part.tools)}", flush=True)

    started = time.perf_counter()
    config = IngestConfig(parallel=options.parallel)
    harvest = asyncio.run(ingest({row["package"]: entry(row) for row in rows}, config, done))
    report(rows, harvest, time.perf_counter() - started)


if __name__ == "__main__":
    main()
