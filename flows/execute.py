"""Runs a flow on a run folder, ad hoc: lock, chain, status. The folder says afterwards how it went."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

from flows.chain import chain, runner  # isort: skip  (sets Prefect's defaults first)

from flows.server import server
from pipeline.stages.context import Context
from pipeline.store import RunFolder

Watch = Callable[[RunFolder], AbstractContextManager[None]]
"""Shows progress while the flow runs."""


def execute(folder: RunFolder, watch: Watch) -> str:
    """Runs what is left of the folder's flow. Empty when finished, else why it is paused; the status is set.

    Raises RunError when another process holds the run, KeyboardInterrupt after a Ctrl-C, and whatever a unit raised;
    resume goes on from there.
    """
    with folder.lock():
        folder.status = "running"
        status = "failed"
        try:
            context = Context.open(folder.path)
            with _signals(folder, drain=context.asks_models), watch(folder), server():
                reason = chain.with_options(task_runner=runner(context))(str(folder.path), folder.flow)
            status = "paused" if reason else "finished"
            if reason and folder.stopping:
                raise KeyboardInterrupt
            return reason
        except BaseException as error:
            if folder.stopping or isinstance(error, KeyboardInterrupt):
                status = "interrupted"
                raise KeyboardInterrupt from error
            raise
        finally:
            folder.status = status


@contextlib.contextmanager
def _signals(folder: RunFolder, *, drain: bool) -> Iterator[None]:
    """What a Ctrl-C means while the block runs.

    Where models are asked, the first one lets the calls that are under way end, since they are paid for, and starts
    nothing more. A second one stops at once, as does the first where nothing costs anything, a hang-up or a termination:
    every event is committed already, so nothing is lost but answers that were on their way.
    """

    def stop(number: int, frame: object) -> None:
        if number == signal.SIGINT and drain and not folder.stopping:
            folder.stop()
            _say("stopping: calls that are under way are finished and saved; Ctrl-C again stops at once")
            return
        for one in _SIGNALS:
            signal.signal(one, signal.SIG_IGN)
        folder.status = "interrupted"
        for worker in multiprocessing.active_children():
            worker.kill()
        for child in _children():
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGTERM)
        _say(f"interrupted; go on with: tracemill resume {folder.name}")
        os._exit(128 + number)

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {one: signal.signal(one, stop) for one in _SIGNALS}
    try:
        yield
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)


_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def _say(text: str) -> None:
    print(f"\ntracemill: {text}", file=sys.stderr, flush=True)


def _children() -> list[int]:
    """Processes that this one has started (Linux; elsewhere they see the same Ctrl-C)."""
    found: list[int] = []
    for task in Path("/proc/self/task").glob("*/children"):
        with contextlib.suppress(OSError):
            found.extend(int(one) for one in task.read_text().split())
    return found
