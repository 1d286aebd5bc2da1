"""Which stages there are, what each needs, and how many units it has."""

from __future__ import annotations

import ctypes
import gc
import multiprocessing
import signal
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from pipeline.config import Config
from pipeline.records import ConfigError, Interrupted
from pipeline.stages.authoring import domain_units, domains_unit
from pipeline.stages.code import code_task_units, code_tasks_unit, code_unit, code_units, resumed_code_unit
from pipeline.stages.context import Context
from pipeline.stages.environment import environment_unit, environment_units
from pipeline.stages.evolve import evolve_unit, evolve_units
from pipeline.stages.live_tasks import live_tasks_unit, live_tasks_units
from pipeline.stages.mcp import mcp_unit, mcp_units
from pipeline.stages.paused import rounds
from pipeline.stages.played import played_unit, played_units
from pipeline.stages.rephrase import documents_unit, rephrase_unit, rephrase_units
from pipeline.stages.selection import selection_unit, selection_units
from pipeline.stages.tasks import task_units, tasks_unit
from pipeline.stages.trajectories import resumed_unit, trajectories_unit, trajectory_units
from pipeline.stages.worlds import worlds_unit


@dataclass(frozen=True, slots=True)
class Stage:
    """How many units a stage has, and the work on one: True (or None) when it is finished, False when paused."""

    units: Callable[[Context], int]
    work: Callable[[Context, int], Awaitable[bool | None]]


STAGES: dict[str, Stage] = {
    "worlds": Stage(lambda context: 1, worlds_unit),
    "domains": Stage(domain_units, domains_unit),
    "evolve": Stage(evolve_units, evolve_unit),
    "mcp": Stage(mcp_units, mcp_unit),
    "tasks": Stage(lambda context: len(task_units(context)), tasks_unit),
    "played": Stage(played_units, played_unit),
    "live_tasks": Stage(live_tasks_units, live_tasks_unit),
    "environment": Stage(environment_units, environment_unit),
    "trajectories": Stage(lambda context: len(trajectory_units(context)), trajectories_unit),
    "resumed": Stage(lambda context: rounds(context, "trajectories"), resumed_unit),
    "code_tasks": Stage(code_task_units, code_tasks_unit),
    "code": Stage(lambda context: len(code_units(context)), code_unit),
    "resumed_code": Stage(lambda context: rounds(context, "code"), resumed_code_unit),
    "selection": Stage(selection_units, selection_unit),
    "documents": Stage(lambda context: 1, documents_unit),
    "rephrase": Stage(rephrase_units, rephrase_unit),
}

_TOOLS = ("worlds", "domains", "evolve", "mcp")
_TASKS = (*_TOOLS, "tasks", "played", "live_tasks", "environment")
_ATTEMPTS = (*_TASKS, "trajectories", "resumed")
_CODE = ("code_tasks", "code", "resumed_code")
_REPHRASE = ("documents", "rephrase")
FLOWS: dict[str, tuple[str, ...]] = {
    "tools": _TOOLS,
    "tasks": _TASKS,
    "trajectories": (*_ATTEMPTS, "selection"),
    "code": (*_CODE, "selection"),
    "rephrase": _REPHRASE,
    "all": (*_ATTEMPTS, *_CODE, "selection", *_REPHRASE),
}
"""The products and the stages that lead to them, in order. A stage without units takes no part."""


def stages_of(flow: str, config: Config) -> tuple[str, ...]:
    """The stages of a flow under a configuration. Raises ConfigError for a flow that does not exist."""
    if flow not in FLOWS:
        raise ConfigError(f"There is no flow {flow!r}.", way_out=f"Flows: {', '.join(FLOWS)}.")
    if flow == "all" and not config.code.enabled:
        return tuple(stage for stage in FLOWS[flow] if stage not in _CODE)
    return FLOWS[flow]


async def work(run: Path, stage: str, number: int) -> bool:
    """Does one unit in this process; a unit that stands is left alone. Raises Interrupted when the run is to stop."""
    _settle()
    context = Context.open(run)
    if context.folder.shard_done(stage, number):
        return True
    if context.folder.stopping:
        raise Interrupted("The run was asked to stop.", way_out="Resume it.")
    return await STAGES[stage].work(context, number) is not False


@cache
def _settle() -> None:
    """Prepares a worker process, once: a second `freeze` would keep the garbage of the unit before for ever.

    On Linux it ends when its parent is killed, so that a resumed run meets no second writer; and the collector looks less
    often at the many small records of an episode, none of which form cycles.
    """
    if multiprocessing.parent_process() is None:
        return
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides what a Ctrl-C means
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)
