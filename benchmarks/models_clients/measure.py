"""What each client prints: wall and CPU seconds of the run itself, and the memory of its process at its highest."""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable

WORDS = "Say something about number {n}, in a few words."


def arguments() -> tuple[str, int, int, str]:
    """Base URL, number of requests, concurrency, and a word that only some clients understand."""
    url, count, concurrency = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    return url, count, concurrency, sys.argv[4] if len(sys.argv) > 4 else ""


def prompts(count: int) -> list[str]:
    return [WORDS.format(n=n) for n in range(count)]


def _cpu() -> float:
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in used)


def report(run: Callable[[], int], more: dict[str, float] | None = None) -> None:
    """Time `run`, which returns the number of answers, and print the figures as the last line.

    `more` is filled by `run` with figures of its own.
    """
    began, cpu = time.perf_counter(), _cpu()
    answered = run()
    wall, cpu = time.perf_counter() - began, _cpu() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        json.dumps({"wall": wall, "cpu": cpu, "rss_mb": peak, "answered": answered, **(more or {})}),
        flush=True,
    )
