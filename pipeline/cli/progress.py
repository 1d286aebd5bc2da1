"""Progress of a run on stderr: a live line on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pipeline.store import RunFolder


@contextmanager
def watching(folder: RunFolder) -> Iterator[None]:
    """Shows, until the block ends, what the finished units of the run add up to."""
    stop = threading.Event()
    thread = threading.Thread(target=_watch, args=(folder, stop), daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(timeout=5)


def _watch(folder: RunFolder, stop: threading.Event) -> None:
    live, started, shown = sys.stderr.isatty(), time.monotonic(), ""
    while not stop.wait(1.0):
        line = progress_line(folder)
        if live:
            print(
                f"\r\x1b[2K{line} · {time.monotonic() - started:.0f} s", end="", file=sys.stderr, flush=True
            )
        elif line != shown:
            print(line, file=sys.stderr, flush=True)
        shown = line
    final = progress_line(folder)
    print(f"\r\x1b[2K{final}" if live else final, file=sys.stderr, flush=True)


def progress_line(folder: RunFolder) -> str:
    """`NAME: worlds 12 kept · tasks 240 kept, 21 rejected · …`, with tokens and cost where there are any."""
    stages: dict[str, list[float]] = {}
    for row in folder.rows("funnel"):
        sums = stages.setdefault(row["stage"], [0, 0, 0, 0, 0, 0.0])
        for index, key in enumerate(("kept", "rejected", "failed", "pending", "tokens", "cost")):
            sums[index] += row[key]
    parts = []
    for stage, (kept, rejected, failed, pending, tokens, cost) in stages.items():
        text = f"{stage} {kept:.0f} kept"
        text += f", {rejected:.0f} rejected" if rejected else ""
        text += f", {failed:.0f} failed" if failed else ""
        text += f", {pending:.0f} paused" if pending else ""
        text += f", {tokens:.0f} tokens, {cost:.4f}" if tokens else ""
        parts.append(text)
    return f"{folder.name}: {' · '.join(parts) or 'starting'}"
