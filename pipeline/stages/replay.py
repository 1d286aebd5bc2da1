"""Replay: a trajectory's calls made again in its world, compared observation by observation."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pipeline.config.models import TEACHER
from pipeline.config.sandbox import SandboxSection
from pipeline.records import CodeTask, Event, Failure, RunError, Task, ToolCall, Trajectory, World, WorldError
from pipeline.rollout.episode import render_result
from pipeline.sandbox import Pool
from pipeline.stages.context import Context
from pipeline.stages.hosts import host_parts, open_host
from pipeline.store import Catalog, snapshot_of, trajectory_of
from pipeline.worlds import mixed
from pipeline.worlds.cassette import CassetteHost, Recorded
from pipeline.worlds.container import ContainerHost
from pipeline.worlds.faults import FaultyHost
from pipeline.worlds.host import ToolHost
from pipeline.worlds.mixed import task_world, world_ids
from pipeline.worlds.simulated import ProgramSimulator, RecordedSimulator, SimulatedHost


@dataclass(frozen=True, slots=True)
class Replayed:
    """Whether all was the same, how many calls were compared, and a sentence about it."""

    same: bool
    calls: int
    text: str


async def replay_trajectory(data: Path, id: str, *, live: bool = False) -> Replayed:
    """Replays a stored trajectory in a fresh host of its kind. Where its answers were recorded, since they came from
    elsewhere, the recording answers, or with `live` the servers themselves.

    Raises RunError when it, its task or its world is not there, HostError when a server is lost.
    """
    catalog = Catalog(data)
    safe = id.replace("'", "''")
    found = catalog.query(f"select * from trajectories where id = '{safe}' limit 1").dicts()
    if not found:
        raise RunError(
            f"There is no trajectory {id!r}.",
            way_out='`tracemill sql "select id from trajectories"` lists them. ' + catalog.left_out(),
        )
    row = found[0]
    run = row["run"].replace("'", "''")
    events = catalog.query(f"select * from events where run = '{run}' and trajectory = '{safe}'").dicts()
    trajectory = trajectory_of(row, events)
    tasks = catalog.query(f"select record from tasks where run = '{run}' and id = '{trajectory.task}'").rows()
    if tasks and row["host"] == "container":
        code = catalog.query(
            f"select record from code_tasks where run = '{run}' and id = '{trajectory.world}'"
        ).rows()
        if code:
            config = Context.open(data / "runs" / row["run"]).config
            return await replay_code(
                trajectory, Task.model_validate_json(tasks[0][0]), code[0][0], config.sandbox
            )
    if not tasks:
        raise RunError(f"The task of {id} is not in run {row['run']}.")
    task = Task.model_validate_json(tasks[0][0])
    config = Context.open(data / "runs" / row["run"]).config
    limit = config.trajectories.limits.result_chars
    kept = catalog.query(
        f"select * from cassettes where run = '{run}' and trajectory = '{safe}' order by position"
    ).dicts()
    if live and task.host == "live":
        async with host_parts(config, [task]) as parts:
            return await replay_on(await open_host(task, None, parts), trajectory, task, limit)
    recorded = [Recorded.from_row(one) for one in kept]
    if recorded and task.host == "live":
        recording = CassetteHost(task.agent.toolset.tools, recorded)
        return await replay_on(recording, trajectory, task, limit)
    ids = ", ".join(f"'{one}'" for one in sorted(world_ids([task])))
    records = catalog.query(
        f"select record from worlds where run = '{run}' and id in ({ids or 'null'})"
    ).rows()
    worlds = {world.id: world for world in (World.model_validate_json(one) for (one,) in records)}
    if world_ids([task]) - set(worlds):
        raise RunError(f"A world of {id} is not in run {row['run']}.")
    if not worlds:
        raise RunError(f"{id} has neither a world nor a recording to replay it with.")
    world = task_world(task, worlds)
    if task.host == "simulated":
        rows = catalog.query(
            f"select * from snapshots where run = '{run}' and world_id = '{world.id}'"
        ).dicts()
        states = {one.ref: one for one in map(snapshot_of, rows)}
        by_rules = trajectory.versions.simulator == TEACHER
        player = (
            ProgramSimulator(world) if by_rules else RecordedSimulator(world, trajectory, states, recorded)
        )
        played = SimulatedHost(world, player, task.initial, repairs=0)
        return await replay_on(played, trajectory, task, limit)
    return await replay(trajectory, task, world, limit)


async def replay_code(trajectory: Trajectory, task: Task, record: str, limits: SandboxSection) -> Replayed:
    """Replays an episode of a code task, whose record is given, in a fresh container."""
    async with Pool(limits.model_copy(update={"ahead": 0}), run="replay", build=True) as pool:
        host = await ContainerHost.open(pool, CodeTask.model_validate_json(record))
        return await replay_on(host, trajectory, task)


async def replay(trajectory: Trajectory, task: Task, world: World, limit: int = 20_000) -> Replayed:
    """Makes every call of a trajectory again under the same faults; stops at the first difference."""
    return await replay_on(mixed.open_host(world, task.initial), trajectory, task, limit)


async def replay_on(host: ToolHost, trajectory: Trajectory, task: Task, limit: int = 20_000) -> Replayed:
    """The same on a given fresh host, which is closed at the end."""
    faulty = FaultyHost(host, task.faults)
    asked = {call.id: call for event in trajectory.events for call in event.calls}
    offered = {tool.name for tool in task.agent.toolset.tools}
    compared = 0
    try:
        for event in trajectory.events:
            if event.role != "tool":
                continue
            call = asked[event.call_id]
            if _refused(event, call, offered):
                faulty.recount([call.name])
                continue
            try:
                answer = (await faulty.call(call.name, call.arguments or {})).result
            except WorldError as error:
                return Replayed(False, compared, f"{trajectory.id}: event {event.index}: {error}")
            seen = render_result(answer, limit)
            difference = _difference(event, seen, answer.before, answer.after)
            if difference:
                return Replayed(
                    False, compared, f"{trajectory.id}: event {event.index}, {call.name}: {difference}"
                )
            compared += 1
    finally:
        await host.close()
    return Replayed(
        True, compared, f"{trajectory.id}: {compared} calls replayed, all observations and states equal"
    )


def _refused(event: Event, call: ToolCall, offered: set[str]) -> bool:
    """Whether the engine refused a call before it reached the host; it counted for the faults all the same."""
    too_many = event.error_code == Failure.LIMIT_EXCEEDED and "calls in one turn" in event.content
    return call.arguments is None or call.name not in offered or too_many


def _difference(event: Event, seen: str, before: str, after: str) -> str:
    if event.content != seen:
        return f"recorded {event.content[:200]} but now {seen[:200]}"
    if event.before != before:
        return f"the state before was {event.before} and is {before}"
    if event.after != after:
        return f"the state after was {event.after} and is {after}"
    return ""
