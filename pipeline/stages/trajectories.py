"""The stage `trajectories`: k attempts at each task, judged; every event is committed as it happens."""

from __future__ import annotations

import asyncio
import json
import time
from dataclasses import dataclass
from typing import Any

from pipeline import __version__
from pipeline.judging.judge import judge
from pipeline.records import (
    BudgetExceeded,
    EndpointDown,
    EndReason,
    Event,
    Judgement,
    Policy,
    Snapshot,
    Task,
    Trajectory,
    User,
    Value,
    Versions,
    World,
    trajectory_id,
)
from pipeline.rollout.episode import Episode
from pipeline.stages.context import Context, Tally, call_rows
from pipeline.stages.players import Players
from pipeline.stages.worlds import read_worlds
from pipeline.store import Journal, Tables, gather, trajectory_rows
from pipeline.worlds.host import ToolHost
from pipeline.worlds.mixed import open_host, task_world, world_ids

STAGE = "trajectories"


def trajectory_units(context: Context) -> list[list[str]]:
    """Task ids per unit, in the order of the task shards."""
    rows = context.folder.rows("tasks", columns=("id", "admitted", "host"))
    ids = [row["id"] for row in rows if row["admitted"] and row["host"] != "container"]
    size = context.config.trajectories.shard_tasks
    return [ids[start : start + size] for start in range(0, len(ids), size)]


@dataclass(frozen=True, slots=True)
class Finished:
    """One attempt as the journal remembers it."""

    trajectory: Trajectory
    snapshots: list[Snapshot]
    seconds: float
    note: str = ""
    """Why it stopped, when it did not end by itself."""

    @property
    def states(self) -> dict[str, Snapshot]:
        """The recorded states by reference."""
        return {one.ref: one for one in self.snapshots}

    @property
    def last_snapshot(self) -> Snapshot | None:
        """The state in which it ended, as far as it was recorded."""
        last = next((e.after for e in reversed(self.trajectory.events) if e.after), self.snapshots[0].ref)
        return self.states.get(last)


async def trajectories_unit(context: Context, number: int) -> bool:
    """Plays and judges the attempts of a unit. False when episodes are paused: the unit stays unfinished."""
    wanted = trajectory_units(context)[number]
    tasks = _read_tasks(context, set(wanted))
    worlds = read_worlds(context, world_ids(tasks.values()))
    with context.folder.journal(STAGE, number) as journal:
        async with context.models(journal) as models:
            unit = Attempts(context, journal, Players(context.config, models, STAGE), worlds)
            jobs = [(tasks[task], k) for task in wanted for k in range(context.config.trajectories.attempts)]
            parts = await unit.run(jobs)
            if unit.paused:
                return False
            calls = call_rows(models.ledger.drain())
            unit.tally.tokens = sum(row["tokens_in"] + row["tokens_out"] for row in calls)
            unit.tally.cost = sum(row["cost"] for row in calls)
    context.folder.write_shard(STAGE, number, gather([*parts, {"model_calls": calls}, unit.tally.tables()]))
    return True


def _read_tasks(context: Context, ids: set[str]) -> dict[str, Task]:
    rows = context.folder.rows("tasks", columns=("id", "record"))
    return {row["id"]: Task.model_validate_json(row["record"]) for row in rows if row["id"] in ids}


@dataclass(frozen=True, slots=True)
class Cast:
    """Who and what takes part in one attempt."""

    host: ToolHost
    policy: Policy
    user: User
    versions: Versions


class Attempts:
    """The attempts of one unit of work, so many at a time. What depends on the kind of host is in `cast` and `verdict`."""

    stage = STAGE

    def __init__(
        self, context: Context, journal: Journal, players: Players, worlds: dict[str, World]
    ) -> None:
        self.context = context
        self.journal = journal
        self.players = players
        self.worlds = worlds
        self.tally = Tally(self.stage)
        self.paused = 0
        self._unanswered: list[str] = []
        """Why episodes ended for want of an answer."""
        self._gate = asyncio.Semaphore(context.config.trajectories.concurrency)
        self._finished = journal.finished()
        self._judges = players.judges()
        self._escalation = players.escalation()

    async def run(self, jobs: list[tuple[Task, int]]) -> list[Tables]:
        """Rows of all attempts, in the order of `jobs`.

        An attempt that fails leaves the others alone: they end or stop by themselves, and are committed. Then the
        failure is raised; EndpointDown and BudgetExceeded (the run pauses) only when there is no other.
        """
        done = await asyncio.gather(
            *(self._one(task, attempt) for task, attempt in jobs), return_exceptions=True
        )
        errors = [one for one in done if isinstance(one, BaseException)]
        if errors:
            raise next(
                (one for one in errors if not isinstance(one, EndpointDown | BudgetExceeded)), errors[0]
            )
        if jobs and len(self._unanswered) == len(jobs):
            raise EndpointDown(
                f"No attempt of this unit got an answer from its model: {self._unanswered[0]}",
                way_out="Check the endpoint, then resume the run.",
            )
        return [part for part in done if isinstance(part, dict)]

    async def _one(self, task: Task, attempt: int) -> Tables | None:
        async with self._gate:
            name = trajectory_id(task.id, attempt, self.context.config.seed)
            done = self._recall(name) if name in self._finished else await self._play(task, attempt, name)
            if done is None:
                self.paused += 1
                return None
            return await self._judged(task, done)

    async def _play(self, task: Task, attempt: int, name: str) -> Finished | None:
        events, snapshots = self._recorded(name)
        started = time.monotonic()
        cast = await self.cast(task, attempt, name)

        def commit(event: Event, snapshot: Snapshot | None) -> None:
            body = {
                "event": event.model_dump(mode="json"),
                "snapshot": snapshot.model_dump(mode="json") if snapshot else None,
            }
            self.journal.append(name, event.index, json.dumps(body, ensure_ascii=False))

        try:
            episode = Episode(
                task=task,
                attempt=attempt,
                seed=self.context.config.seed,
                policy=cast.policy,
                user=cast.user,
                host=cast.host,
                limits=self.context.config.trajectories.limits,
                versions=cast.versions,
                commit=commit,
                done_before=events,
                snapshots_before=snapshots,
            )
            trajectory = await episode.run()
        finally:
            await cast.host.close()
        if trajectory.end_reason is EndReason.PAUSED:
            return None
        seconds = time.monotonic() - started
        summary = {
            "trajectory": trajectory.replace(events=()).model_dump(mode="json"),
            "first": next(iter(episode.snapshots.values())).model_dump(mode="json"),
            "seconds": seconds,
            "note": episode.note,
        }
        if trajectory.end_reason is EndReason.MODEL_ERROR:
            self._unanswered.append(episode.note)  # not finished: a resumed run asks again
        else:
            self.journal.finish(name, json.dumps(summary, ensure_ascii=False))
        return Finished(trajectory, list(episode.snapshots.values()), seconds, episode.note)

    async def cast(self, task: Task, attempt: int, name: str) -> Cast:
        """The players and a fresh host for one attempt."""
        world, players = task_world(task, self.worlds), self.players
        return Cast(
            host=open_host(world, task.initial),
            policy=players.policy(task, world, name, attempt),
            user=players.user(task, world, name, attempt),
            versions=players.versions(world, __version__),
        )

    def _recorded(self, name: str) -> tuple[list[Event], dict[str, Snapshot]]:
        bodies = [json.loads(text) for text in self.journal.events(name)]
        events = [Event.model_validate(body["event"]) for body in bodies]
        snapshots = [Snapshot.model_validate(body["snapshot"]) for body in bodies if body["snapshot"]]
        return events, {one.ref: one for one in snapshots}

    def _recall(self, name: str) -> Finished:
        summary = json.loads(self._finished[name])
        events, snapshots = self._recorded(name)
        trajectory = Trajectory.model_validate({**summary["trajectory"], "events": events})
        first = Snapshot.model_validate(summary["first"])
        return Finished(trajectory, [first, *snapshots.values()], summary["seconds"], summary.get("note", ""))

    async def _judged(self, task: Task, done: Finished) -> Tables:
        judgement, more = await self.verdict(task, done)
        tally, trajectory = self.tally, done.trajectory
        about: dict[str, Any] = {"subject": trajectory.id, "owner": str(judgement.owner or "")}
        if done.note:
            about["detail"] = {"stopped": done.note}
        if judgement.value is Value.PASS:
            tally.keep()
        elif judgement.value is Value.FAIL:
            tally.reject("judged failed", judgement.reason, **about)
        else:
            tally.fail("unscored", judgement.reason, **about)
        rows = trajectory_rows(trajectory, judgement, task, snapshots=done.snapshots, seconds=done.seconds)
        return {**rows, **more}

    async def verdict(self, task: Task, done: Finished) -> tuple[Judgement, Tables]:
        """The judgement on a finished attempt, and further rows that it gave rise to."""
        world = task_world(task, self.worlds)
        judgement = await judge(
            task, done.trajectory, done.last_snapshot, world, self._judges, self._escalation, done.states
        )
        return judgement, {}
