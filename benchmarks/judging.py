"""Judging against planted flaws, and its speed, in the shipped and in evolved worlds.

`python -m benchmarks.judging [TASKS] [EVOLVED]`: tasks per world (default 120, which gives at least 300 flawed
trajectories of nearly every kind and more than 5,000 clean ones) and tools to evolve (default 160, some 16 worlds).
Prints misses per kind, false alarms per variation and trajectories a second of one core, each beside the figure to
reach. Time is CPU time of this process, with the collector set as in a worker; worlds are opened before.

The checks were written while looking at misses in the first set of worlds, so its figures flatter them. The held-out set
has other evolved worlds and, in all worlds, tasks of a seed that was not looked at. Where they differ, trust the second.
"""

from __future__ import annotations

import asyncio
import gc
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from pipeline.assets import asset
from pipeline.config import parse_config
from pipeline.config.tasks import TasksConfig
from pipeline.config.trajectories import LimitsConfig
from pipeline.judging.calibration import Calibration, calibrate
from pipeline.judging.judge import judge
from pipeline.judging.planting import FLAWS, Story
from pipeline.records import Snapshot, Task, Trajectory, World
from pipeline.rollout.episode import Episode
from pipeline.stages.context import Context
from pipeline.stages.evolve import STAGE, evolve_unit, evolve_units
from pipeline.store import RunFolder
from pipeline.teacher.author import TeacherAuthor
from pipeline.teacher.policy import TeacherPolicy
from pipeline.teacher.user import TeacherUser
from pipeline.worlds.load import load_world
from pipeline.worlds.sql import SqlHost

SEED, HELD_OUT = 11, 4051
ATTEMPTS = 2
Attempt = tuple[World, Task, Trajectory, Snapshot]


def shipped() -> Iterator[World]:
    for path in sorted(asset("tools_repo/worlds").glob("*.yaml")):
        yield load_world(path)


async def evolved(tools: int) -> list[World]:
    if not tools:
        return []
    with tempfile.TemporaryDirectory() as folder:
        config = parse_config({"evolve": {"tools": tools}}, where="benchmark")
        run = RunFolder.create(Path(folder), "evolve", "tools", SEED, config.to_yaml())
        context = Context.open(run.path)
        for number in range(evolve_units(context)):
            await evolve_unit(context, number)
        rows = run.rows("worlds", stage=STAGE, columns=("record",))
        return [World.model_validate_json(row["record"]) for row in rows]


async def play(world: World, task: Task, attempt: int) -> Attempt:
    """One honest attempt of the teacher."""
    name = f"{task.id}/{attempt}"
    host = SqlHost(world)
    try:
        policy, user = TeacherPolicy(task, world, name), TeacherUser(task, world, name)
        trajectory = await Episode(task, attempt, SEED, policy, user, host, LimitsConfig()).run()
        return world, task, trajectory, host.snapshot()
    finally:
        await host.close()


async def attempts(world: World, tasks: int, seed: int = SEED) -> list[Attempt]:
    made = await TeacherAuthor(TasksConfig()).tasks(world, tasks, seed)
    return [await play(world, task, attempt) for task in made for attempt in range(ATTEMPTS)]


async def good(made: Sequence[Attempt]) -> list[Story]:
    """The attempts that pass, as stories to plant flaws in; says how many do not."""
    stories, reasons = [], []
    for world, task, trajectory, final in made:
        judgement = await judge(task, trajectory, final, world)
        if judgement.passed:
            stories.append(Story(world, task, trajectory, final.state))
        else:
            reasons.append(f"{world.name}: {judgement.value}: {judgement.reason}")
    share = len(reasons) / len(made)
    print(
        f"honest attempts: {len(made)}, of which {len(reasons)} do not pass, false alarms or a teacher at fault: {share:.2%}"
    )
    for reason in reasons[:12]:
        print(f"    {reason[:200]}")
    return stories


async def speed(made: Sequence[Attempt]) -> None:
    """Trajectories a second: first as a run judges them (each once, new to the process), then again."""
    for label in ("judged for the first time", "judged again"):
        started = time.process_time()
        for world, task, trajectory, final in made:
            await judge(task, trajectory, final, world)
        seconds = time.process_time() - started
        print(f"{label}: {len(made) / seconds:,.0f} trajectories a second of CPU time (2,000)")


def show(measured: Calibration) -> None:
    figures = measured.to_json()
    print(f"\n{'kind':26}{'touches':>9}{'n':>7}{'missed':>8}{'share':>8}   95 %")
    for kind, about in figures["by_kind"].items():
        misses = about["misses"]
        if misses["n"]:
            low, high = misses["ci95"]
            print(
                f"{kind:26}{about['touches']:>9}{misses['n']:>7}{misses['count']:>8}{misses['share']:>8.2%}"
                f"   {low:.2%} - {high:.2%}"
            )
    for kind, about in figures["by_variation"].items():
        alarms = about["false_alarms"]
        print(f"clean: {kind:19}{'':>9}{alarms['n']:>7}{alarms['count']:>8}{alarms['share'] or 0:>8.2%}")
    certain = figures["misses_certain"]
    print(f"\nmisses on state, calls and facts: {certain['share']:.2%} of {certain['n']} (2 %)")
    print(f"misses on all {len(FLAWS)} kinds: {figures['misses']:.2%} of {figures['n_flawed']}")
    print(f"false alarms: {figures['false_alarms']:.2%} of {figures['n_clean']} clean ones (0.5 %)")
    for name, id, reason in measured.alarmed[:10]:
        print(f"    {name} {id}: {reason[:160]}")


async def measure(name: str, made: Sequence[Attempt], seed: int) -> None:
    print(f"\n==== {name}: {len({one[0].id for one in made})} worlds, seed {seed}")
    await speed(made)
    stories = await good(made)
    started = time.process_time()
    measured = await calibrate(stories, seed=seed)
    show(measured)
    judged = measured.rules.misses().of + measured.rules.false_alarms().of
    print(f"planting, telling again and judging: {judged / (time.process_time() - started):,.0f} a second")


async def main(tasks: int, tools: int) -> None:
    grown = await evolved(2 * tools)
    known = len(await evolved(tools))
    worlds = [*shipped(), *grown[:known]]
    others = [*shipped(), *grown[known:]]
    looked_at = [one for world in worlds for one in await attempts(world, tasks)]
    held_out = [one for world in others for one in await attempts(world, tasks, HELD_OUT)]
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)
    await measure("looked at while the checks were written", looked_at, SEED)
    await measure("held out", held_out, HELD_OUT)


if __name__ == "__main__":
    given = [int(text) for text in sys.argv[1:3]]
    asyncio.run(main(*given, *(120, 160)[len(given) :]))
