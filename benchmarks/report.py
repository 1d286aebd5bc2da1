"""The report of 10,000 trajectories: seconds and memory to make it, its size, and how soon a browser shows it.

    python -m benchmarks.report [COUNT]

A real run of the teacher in six worlds is multiplied under new ids; making it is not timed. Copies of one task are
spread over the page, so that they do not compress each other away.
"""

from __future__ import annotations

import asyncio
import json
import resource
import subprocess
import sys
import tempfile
import time
from hashlib import blake2b
from pathlib import Path
from typing import Any

from pipeline.config import parse_config
from pipeline.stages.context import Context
from pipeline.stages.units import STAGES, stages_of, work
from pipeline.store import TABLES, RunFolder
from tests.report.browser import browser, chromium

WORLDS = [
    "skerry-air",
    "smart-home",
    "harbour-hotel",
    "credit-union-ledger",
    "robot-cell",
    "elmhurst-public-library",
]
TASKS = 120
IDS = {
    "tasks": ("id",),
    "trajectories": ("id", "task"),
    "events": ("trajectory",),
    "verdicts": ("trajectory",),
    "calls": ("trajectory",),
    "faults": ("trajectory",),
}


def make(data: Path, count: int) -> RunFolder:
    """A run of at least `count` trajectories."""
    config = parse_config(
        {"data": str(data), "tasks": {"count": TASKS}, "worlds": {"only": WORLDS}}, where="bench"
    )
    folder = RunFolder.create(data, "bench", "trajectories", config.seed, config.to_yaml())
    context = Context(folder, config)
    for stage in stages_of("trajectories", config):
        for number in range(STAGES[stage].units(context)):
            asyncio.run(work(folder.path, stage, number))
    rows = {table: [_parsed(table, row) for row in folder.rows(table)] for table in IDS}
    for copy in range(1, -(-count // len(rows["trajectories"]))):
        folder.write_shard(
            "copies", copy, {table: _renamed(rows[table], ids, copy) for table, ids in IDS.items()}
        )
    return folder


def _parsed(table: str, row: dict[str, Any]) -> dict[str, Any]:
    columns = TABLES[table].json_columns
    return {key: json.loads(value) if key in columns and value else value for key, value in row.items()}


def _renamed(rows: list[dict[str, Any]], ids: tuple[str, ...], copy: int) -> list[dict[str, Any]]:
    def renamed(id: str) -> str:
        return f"{id.partition('_')[0]}_{blake2b(f'{id} {copy}'.encode(), digest_size=8).hexdigest()}"

    return [{**row, **{column: renamed(row[column]) for column in ids}} for row in rows]


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    with tempfile.TemporaryDirectory(prefix="tracemill-report-") as folder:
        place = Path(folder)
        made = make(place / "data", count)
        total = sum(1 for _ in made.rows("trajectories", columns=("id",)))
        out = place / "report.html"
        code = f"from pathlib import Path; from pipeline.report.page import write_report; write_report(Path({str(place / 'data')!r}), 'bench', Path({str(out)!r}))"
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True)
        seconds = time.perf_counter() - start
        memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
        print(f"report of {total} trajectories: {seconds:.1f} s (goal 20), {memory:.0f} MB of memory")
        print(f"size: {out.stat().st_size / 1e6:.1f} MB (goal 30)")
        if chromium() is None:
            print("Chromium is not installed: the page was not opened")
            return
        _open(out, place / "profile")


def _open(page: Path, profile: Path) -> None:
    with browser(profile) as tab:
        tab.screen(1280, 860)
        tab.open(page)
        paint = tab.run("performance.getEntriesByName('first-contentful-paint')[0].startTime")
        print(f"first paint: {paint / 1000:.2f} s (goal 2)")
        steps = {
            "list of all": (
                "location.hash = '#/trajectories'",
                "document.querySelectorAll('.item').length > 3",
            ),
            "one trajectory": (
                "document.querySelectorAll('.item')[2].click()",
                "document.querySelector('.event')",
            ),
            "filter": (
                "location.hash = '#/trajectories?value=fail&world=smart-home'",
                "document.getElementById('count').textContent && document.body.dataset.shown.endsWith('smart-home')",
            ),
            "search of everything said": (
                "location.hash = '#/trajectories?q=zzz-nowhere&whole=1'",
                "document.getElementById('count').textContent.startsWith('0 of')",
            ),
        }
        for name, (act, seen) in steps.items():
            start = time.perf_counter()
            tab.run(act)
            tab.wait(seen)
            print(f"{name}: {time.perf_counter() - start:.2f} s")
        assert tab.problems == [], tab.problems


if __name__ == "__main__":
    main()
