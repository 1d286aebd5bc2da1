"""Runs a flow on a run folder, ad hoc: lock, chain, status. The folder says afterwards how it went."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

from flows.chain import chain, runner
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
        status = "failed"
        try:
            with watch(folder):
                context = Context.open(folder.path)
                reason = chain.with_options(task_runner=runner(context))(str(folder.path), folder.flow)
            status = "paused" if reason else "finished"
            return reason
        except KeyboardInterrupt:
            status = "interrupted"
            raise
        finally:
            folder.status = status
