"""The chain as a Prefect flow: a task per unit of work, never per row. The run folder decides what is finished."""

from __future__ import annotations

import asyncio
import importlib
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import flows.settings  # noqa: F401  # isort: skip  (before Prefect)
from prefect import flow, task
from prefect.cache_policies import NO_CACHE
from prefect.task_runners import ProcessPoolTaskRunner, TaskRunner, ThreadPoolTaskRunner

from pipeline.records import BudgetExceeded, ConfigError, EndpointDown
from pipeline.stages.context import Context, start_clock
from pipeline.stages.paused import paused_count
from pipeline.stages.units import STAGES, stages_of, work

TIME_IS_UP = "the deadline of the run has come (run.deadline)."


@task(name="unit", task_run_name="{stage}-{number}", cache_policy=NO_CACHE, persist_result=False)
def unit(run: str, stage: str, number: int) -> str:
    """One unit of work. Empty when it is finished, else why it is paused."""
    if Context.open(Path(run)).time_is_up:
        return TIME_IS_UP
    try:
        finished = asyncio.run(work(Path(run), stage, number))
    except (BudgetExceeded, EndpointDown) as error:
        return str(error)
    if not finished and Context.open(Path(run)).time_is_up:
        return TIME_IS_UP
    return "" if finished else f"{stage}: episodes are paused."


@flow(name="tracemill", flow_run_name="{target}", persist_result=False, validate_parameters=False)
def chain(run: str, target: str) -> str:
    """All stages up to `target`, each unit that does not stand yet. Empty when nothing is left to do, else why."""
    context = Context.open(Path(run))
    start_clock(context)
    for stage in stages_of(target, context.config):
        units = STAGES[stage].units(context)
        missing = [number for number in range(units) if not context.folder.shard_done(stage, number)]
        with _without_interrupts():
            futures = [unit.submit(run, stage, number) for number in missing]
        paused = [reason for future in futures if (reason := future.result())]
        if paused:
            return paused[0]
    waiting = paused_count(context.folder)
    return f"{waiting} episodes have reached a limit of one part." if waiting else ""


@contextmanager
def _without_interrupts() -> Iterator[None]:
    """Workers that are started here inherit that a Ctrl-C waits, until they know what to make of it."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def runner(context: Context) -> TaskRunner[Any]:
    """The task runner of the configuration. Raises ConfigError when its package is missing."""
    run = context.config.run
    workers = run.workers or os.cpu_count() or 1
    if run.runner == "process":
        return ProcessPoolTaskRunner(max_workers=workers)
    if run.runner == "thread":
        return ThreadPoolTaskRunner(
            max_workers=1
        )  # worlds are shared within a process, so one unit at a time
    package, name = {"ray": ("prefect_ray", "RayTaskRunner"), "dask": ("prefect_dask", "DaskTaskRunner")}[
        run.runner
    ]
    try:
        made: TaskRunner[Any] = getattr(importlib.import_module(package), name)()
    except ImportError as error:
        raise ConfigError(
            f"run.runner is {run.runner}, but {package} is missing.",
            way_out=f"pip install {package.replace('_', '-')}",
        ) from error
    return made
