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
from prefect.context import FlowRunContext
from prefect.server.api.server import SubprocessASGIServer
from prefect.settings import PREFECT_API_URL, get_current_settings, temporary_settings

from pipeline.stages.context import Context
from pipeline.store import RunFolder

Watch = Callable[[RunFolder], AbstractContextManager[None]]
"""Shows progress while the flow runs."""


def execute(folder: RunFolder, watch: Watch) -> str:
    """Runs what is left of the folder's flow. Empty when finished, else why it is paused; the status is set.

    Raises RunError when another process holds the run, and whatever a unit raised; resume goes on from there.
    """
    with folder.lock():
        folder.status = "running"
        _stop_on_signals(folder)
        status = "failed"
        try:
            with watch(folder), _server():
                context = Context.open(folder.path)
                reason = chain.with_options(task_runner=runner(context))(str(folder.path), folder.flow)
            status = "paused" if reason else "finished"
            return reason
        except KeyboardInterrupt:
            status = "interrupted"
            raise
        finally:
            folder.status = status


@contextlib.contextmanager
def _server() -> Iterator[None]:
    """Prefect's temporary server, one for this process and its workers (each would start its own otherwise); none where
    the user has named a server, or where another flow runs this one and has one already."""
    if get_current_settings().api.url or FlowRunContext.get() is not None:
        yield
        return
    server = SubprocessASGIServer()
    server.start()
    try:
        with temporary_settings({PREFECT_API_URL: server.api_url}):
            yield
    finally:
        server.stop()


def _stop_on_signals(folder: RunFolder) -> None:
    """Ctrl-C and a termination end the run at once: every event is committed already, so there is nothing to save.
    Workers and Prefect's temporary server end with it. The message says how to go on."""

    def stop(number: int, frame: object) -> None:
        for one in (signal.SIGINT, signal.SIGTERM):
            signal.signal(one, signal.SIG_IGN)
        folder.status = "interrupted"
        for worker in multiprocessing.active_children():
            worker.kill()
        for child in _children():
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGTERM)
        print(
            f"\ntracemill: interrupted; go on with: tracemill resume {folder.name}",
            file=sys.stderr,
            flush=True,
        )
        os._exit(128 + number)

    if threading.current_thread() is threading.main_thread():
        for one in (signal.SIGINT, signal.SIGTERM):
            signal.signal(one, stop)


def _children() -> list[int]:
    """Processes that this one has started (Linux; elsewhere they see the same Ctrl-C)."""
    found: list[int] = []
    for task in Path("/proc/self/task").glob("*/children"):
        with contextlib.suppress(OSError):
            found.extend(int(one) for one in task.read_text().split())
    return found
