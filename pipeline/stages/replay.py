"""Replay: a trajectory's calls made again in its world, compared observation by observation."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from pipeline.config.models import TEACHER
from pipeline.config.trajectories import LimitsConfig
from pipeline.records import (
    CodeTask,
    EndReason,
    Event,
    RunError,
    Task,
    ToolCall,
    Trajectory,
    World,
    WorldError,
)
from pipeline.rollout.episode import refusal, render_result
from pipeline.sandbox import Pool
from pipeline.stages.context import Context
from pipeline.stages.hosts import host_parts, open_host
from pipeline.stages.versions import code_revision
from pipeline.store import Catalog, Row, snapshot_of, trajectory_of
from pipeline.worlds import mixed
from pipeline.worlds.cassette import CassetteHost, Recorded
from pipeline.worlds.container import ContainerHost
from pipeline.worlds.faults import Answer, FaultyHost
from pipeline.worlds.host import CallResult, ToolHost
from pipeline.worlds.mixed import task_world, world_ids
from pipeline.worlds.simulated import ProgramSimulator, RecordedSimulator, SimulatedHost

_UNANSWERED = {EndReason.HOST_ERROR, EndReason.AGENT_FORGED, EndReason.TOKEN_LIMIT}
"""Ends that may leave the last turn's calls without a result."""
_LIMITS = LimitsConfig()


@dataclass(frozen=True, slots=True)
class Replayed:
    """Whether all was the same, how many calls were compared, and a sentence about it."""

    same: bool
    calls: int
    text: str


async def replay_trajectory(data: Path, id: str, *, live: bool = False) -> Replayed:
    """Replays a stored trajectory in a fresh host of its kind. Where its answers were recorded, since they came from
    elsewhere, the recording answers, or with `live` the servers themselves. What cannot be made again, such as words
    and masks, is held against the hash that the content had when it was written.

    Raises RunError when it, its task or its world is not there or cannot be read, HostError when a server is lost.
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
    told = await _replayed(catalog, data, row, trajectory, live)
    if not told.same or row["content"] == trajectory.content_hash:
        return told
    written = trajectory.versions.code
    older = "" if written == code_revision() else f" (it was written by {written or 'another version'})"
    return Replayed(
        False,
        told.calls,
        f"{id}: {told.calls} calls replayed alike, but the record is not the one that was written: its content was"
        f" {row['content']} and is {trajectory.content_hash}{older}",
    )


async def _replayed(catalog: Catalog, data: Path, row: Row, trajectory: Trajectory, live: bool) -> Replayed:
    """The calls of a trajectory, in a host of its kind."""
    run, safe = row["run"].replace("'", "''"), trajectory.id.replace("'", "''")
    tasks = catalog.query(f"select record from tasks where run = '{run}' and id = '{trajectory.task}'").rows()
    if not tasks:
        raise RunError(f"The task of {trajectory.id} is not in run {row['run']}.")
    task = Task.model_validate_json(tasks[0][0])
    config = Context.open(data / "runs" / row["run"]).config
    limits = config.trajectories.limits
    if row["host"] == "container":
        code = catalog.query(
            f"select record from code_tasks where run = '{run}' and id = '{trajectory.world}'"
        ).rows()
        if not code:
            raise RunError(f"The code task of {trajectory.id} is not in run {row['run']}.")
        sandbox = config.sandbox.model_copy(update={"ahead": 0})
        async with Pool(sandbox, run="replay", build=True) as pool:
            host = await ContainerHost.open(pool, CodeTask.model_validate_json(code[0][0]))
            return await replay_on(host, trajectory, task, limits)
    kept = catalog.query(
        f"select * from cassettes where run = '{run}' and trajectory = '{safe}' order by position"
    ).dicts()
    if live and task.host == "live":
        async with host_parts(config, [task]) as parts:
            return await replay_on(await open_host(task, None, parts), trajectory, task, limits)
    recorded = [Recorded.from_row(one) for one in kept]
    if task.host == "live":
        first = next((event.before for event in trajectory.events if event.before), "")
        recording = CassetteHost(task.agent.toolset.tools, recorded, first)
        return await replay_on(recording, trajectory, task, limits)
    ids = ", ".join(f"'{one}'" for one in sorted(world_ids([task])))
    records = catalog.query(
        f"select record from worlds where run = '{run}' and id in ({ids or 'null'})"
    ).rows()
    worlds = {world.id: world for world in (World.model_validate_json(one) for (one,) in records)}
    if world_ids([task]) - set(worlds):
        raise RunError(f"A world of {trajectory.id} is not in run {row['run']}.")
    if not worlds:
        raise RunError(f"{trajectory.id} has neither a world nor a recording to replay it with.")
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
        return await replay_on(played, trajectory, task, limits)
    return await replay(trajectory, task, world, limits)


async def replay(
    trajectory: Trajectory, task: Task, world: World, limits: LimitsConfig = _LIMITS
) -> Replayed:
    """Makes every call of a trajectory again under the same faults; stops at the first difference."""
    return await replay_on(mixed.open_host(world, task.initial), trajectory, task, limits)


async def replay_on(
    host: ToolHost, trajectory: Trajectory, task: Task, limits: LimitsConfig = _LIMITS
) -> Replayed:
    """The same on a given fresh host, which is closed at the end."""
    replaying = _Replaying(
        host, FaultyHost(host, task.faults), {tool.name for tool in task.agent.toolset.tools}, limits
    )
    compared = 0
    try:
        for position, event in enumerate(trajectory.events):
            difference = await replaying.see(position, event)
            if difference:
                return Replayed(False, compared, f"{trajectory.id}: event {position}{difference}")
            compared += event.role == "tool"
    finally:
        await host.close()
    if replaying.due and trajectory.end_reason not in _UNANSWERED:
        _, call = replaying.due[0]
        after = f"{trajectory.id}: after its last event: the call {call.id} of {call.name} has no result"
        return Replayed(False, compared, after)
    return Replayed(
        True, compared, f"{trajectory.id}: {compared} calls replayed, all observations and states equal"
    )


@dataclass
class _Replaying:
    """A record followed event by event: each call that an agent has made is due, in order, to be answered as it was."""

    host: ToolHost
    faulty: FaultyHost
    offered: set[str]
    limits: LimitsConfig
    due: list[tuple[int, ToolCall]] = field(default_factory=list)

    async def see(self, position: int, event: Event) -> str:
        """What is different about an event, or nothing."""
        if event.index != position:
            return f": it is not there; the record goes on with event {event.index}"
        if event.role != "tool":
            if self.due:
                call = self.due[0][1]
                return f": the result of the call {call.id} of {call.name} is due, and a message of the {event.role} is there"
            self.due = list(enumerate(event.calls))
            return ""
        if not self.due:
            return f", {event.name}: a result that no call has asked for"
        number, call = self.due.pop(0)
        if (event.call_id, event.name) != (call.id, call.name):
            return f": the result of {event.call_id} ({event.name}) is there, where that of {call.id} ({call.name}) is due"
        try:
            answer = await self._answer(number, call)
        except WorldError as error:
            return f": {error}"
        difference = _difference(event, answer, render_result(answer.result, self.limits.result_chars))
        return f", {call.name}: {difference}" if difference else ""

    async def _answer(self, number: int, call: ToolCall) -> Answer:
        said = refusal(call, number, self.offered, self.limits)
        if said is None:
            return await self.faulty.call(call.name, call.arguments or {})
        self.faulty.recount([call.name])
        ref = self.host.snapshot().ref
        return Answer(CallResult(False, None, said, ref, ref))


def _difference(event: Event, answer: Answer, seen: str) -> str:
    result = answer.result
    code = result.error[0] if result.error else ""
    if event.content != seen:
        return f"recorded {event.content[:200]} but now {seen[:200]}"
    if (event.ok, event.error_code) != (result.ok, code):
        was, now = event.error_code or f"ok: {event.ok}", code or f"ok: {result.ok}"
        return f"its outcome was {was} and is {now}"
    if event.before != result.before:
        return f"the state before was {event.before} and is {result.before}"
    if event.after != result.after:
        return f"the state after was {event.after} and is {result.after}"
    if event.fault != answer.fault:
        kinds = [one.kind if one else "none" for one in (event.fault, answer.fault)]
        return f"its fault was {kinds[0]} and is {kinds[1]}"
    return ""
