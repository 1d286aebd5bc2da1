"""Attempts at tasks: played, committed event by event, recalled, resumed, judged."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

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
from pipeline.stages.context import Context, Tally
from pipeline.stages.hosts import HostParts, open_host
from pipeline.stages.players import Players
from pipeline.stages.versions import refuse_changed
from pipeline.store import Journal, Row, Tables, trajectory_rows
from pipeline.worlds.cassette import Recorded, Recorder
from pipeline.worlds.host import ToolHost
from pipeline.worlds.mixed import parts_of, task_world

Job = tuple[Task, int]
"""A task and the number of the attempt."""


@dataclass(frozen=True, slots=True)
class Begun:
    """What the journal holds of an attempt: its events so far, and with what they have to go on."""

    events: list[Event] = field(default_factory=list)
    snapshots: list[Snapshot] = field(default_factory=list)
    cassette: list[Recorded] = field(default_factory=list)
    versions: Versions | None = None
    """Under which it was begun."""
    job: tuple[str, int] = ("", 0)
    """The task's id and the number of the attempt."""

    @classmethod
    def of(cls, texts: Sequence[str]) -> Begun:
        bodies = [json.loads(text) for text in texts]
        return cls(
            [Event.model_validate(body["event"]) for body in bodies],
            [Snapshot.model_validate(body["snapshot"]) for body in bodies if body["snapshot"]],
            [Recorded.from_json(one) for body in bodies for one in body.get("recorded", ())],
            Versions.model_validate(bodies[0]["versions"]) if bodies else None,
            (bodies[0]["job"][0], bodies[0]["job"][1]) if bodies else ("", 0),
        )


@dataclass(frozen=True, slots=True)
class Finished:
    """One attempt as the journal remembers it."""

    trajectory: Trajectory
    snapshots: list[Snapshot]
    seconds: float
    note: str = ""
    """Why it stopped, when it did not end by itself."""
    cassette: list[Recorded] = field(default_factory=list)

    @property
    def states(self) -> dict[str, Snapshot]:
        """The recorded states by reference."""
        return {one.ref: one for one in self.snapshots}

    @property
    def last_snapshot(self) -> Snapshot | None:
        """The state in which it ended, as far as it was recorded."""
        last = next((e.after for e in reversed(self.trajectory.events) if e.after), self.snapshots[0].ref)
        return self.states.get(last)


@dataclass(frozen=True, slots=True)
class Cast:
    """Who and what takes part in one attempt."""

    host: ToolHost
    policy: Policy
    user: User
    versions: Versions


class Attempts:
    """The attempts of one unit of work, so many at a time. What depends on the kind of host is in `cast`, `versions` and
    `verdict`."""

    stage = "trajectories"

    def __init__(
        self,
        context: Context,
        journal: Journal,
        players: Players,
        worlds: dict[str, World],
        parts: HostParts | None = None,
    ) -> None:
        self.context = context
        self.journal = journal
        self.players = players
        self.worlds = worlds
        self.parts = parts or HostParts()
        self.tally = Tally(self.stage)
        self.paused: list[str] = []
        """Attempts that stopped at a limit of one part, to be taken up later."""
        self.owed = 0
        """Attempts that the deadline of the run has stopped or kept from beginning."""
        self._unanswered: list[str] = []
        """Why episodes ended for want of an answer."""
        self._gate = asyncio.Semaphore(context.config.trajectories.concurrency)
        self._finished = journal.finished()
        self._judges = players.judges()
        self._escalation = players.escalation()
        self._deadline = context.deadline

    async def run(self, jobs: Sequence[Job]) -> list[Tables]:
        """Rows of all attempts that ended, in the order of `jobs`.

        An attempt that fails leaves the others alone: they end or stop by themselves, and are committed. Then the
        failure is raised; EndpointDown and BudgetExceeded (the run pauses) only when there is no other. Raises
        RunError before anything is played when an attempt was begun under other versions.
        """
        if not self.context.config.run.accept_changes:
            self._compare_versions(jobs)
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

    def account(self, calls: Sequence[Row], before: int) -> None:
        """Completes the tally: what models took, and what has paused; `before` attempts have entered the funnel when
        they first paused, and were pending."""
        tally = self.tally
        tally.tokens = sum(row["tokens_in"] + row["tokens_out"] for row in calls)
        tally.cost = sum(row["cost"] for row in calls)
        tally.pending = len(self.paused) - before
        tally.entered += len(self.paused) - before

    def name(self, job: Job) -> str:
        return trajectory_id(job[0].id, job[1], self.context.config.seed)

    def _compare_versions(self, jobs: Sequence[Job]) -> None:
        streams = set(self.journal.streams()) - set(self._finished)
        begun = {}
        for job in jobs:
            if (name := self.name(job)) in streams:
                before = Begun.of(self.journal.events(name)[:1]).versions
                begun[name] = (before or Versions(), self.versions(job[0]))
        refuse_changed(begun)

    async def _one(self, task: Task, attempt: int) -> Tables | None:
        async with self._gate:
            name = self.name((task, attempt))
            done = self._recall(name) if name in self._finished else await self._play(task, attempt, name)
            return None if done is None else await self._judged(task, done)

    async def _play(self, task: Task, attempt: int, name: str) -> Finished | None:
        """None when it has paused, or the run's time is up."""
        if self._deadline is not None and time.monotonic() > self._deadline:
            self.owed += 1
            return None
        begun = Begun.of(self.journal.events(name))
        started = time.monotonic()
        cast = await self.cast(task, attempt, name)
        cassette = list(begun.cassette)

        def commit(event: Event, snapshot: Snapshot | None) -> None:
            fresh = cast.host.take() if isinstance(cast.host, Recorder) else []
            cassette.extend(fresh)
            self.journal.append(
                name, event.index, _body(event, snapshot, fresh, cast.versions, (task.id, attempt))
            )

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
                done_before=begun.events,
                snapshots_before={one.ref: one for one in begun.snapshots},
                deadline=self._deadline,
            )
            trajectory = await episode.run()
        finally:
            await cast.host.close()
        if trajectory.end_reason is EndReason.PAUSED:
            if self._deadline is not None and time.monotonic() > self._deadline:
                self.owed += 1
            else:
                self.paused.append(name)
            return None
        done = Finished(
            trajectory,
            list(episode.snapshots.values()),
            time.monotonic() - started,
            episode.note,
            cassette,
        )
        if trajectory.end_reason is EndReason.MODEL_ERROR:
            self._unanswered.append(episode.note)  # not finished: a resumed run asks again
        else:
            self._finish(name, done)
        return done

    def _finish(self, name: str, done: Finished) -> None:
        summary = {
            "trajectory": done.trajectory.replace(events=()).model_dump(mode="json"),
            "first": done.snapshots[0].model_dump(mode="json"),
            "seconds": done.seconds,
            "note": done.note,
        }
        self.journal.finish(name, json.dumps(summary, ensure_ascii=False))

    def versions(self, task: Task) -> Versions:
        """What would shape an attempt at a task now."""
        return self.players.versions(task)

    async def cast(self, task: Task, attempt: int, name: str) -> Cast:
        """The players and a fresh host for one attempt."""
        world, players = self.world(task), self.players
        return Cast(
            host=await open_host(task, world, self.parts),
            policy=players.policy(task, world, name, attempt),
            user=players.user(task, world, name, attempt),
            versions=self.versions(task),
        )

    def world(self, task: Task) -> World | None:
        return task_world(task, self.worlds) if task.world else None

    def _recall(self, name: str) -> Finished:
        summary = json.loads(self._finished[name])
        begun = Begun.of(self.journal.events(name))
        trajectory = Trajectory.model_validate({**summary["trajectory"], "events": begun.events})
        first = Snapshot.model_validate(summary["first"])
        others = {one.ref: one for one in begun.snapshots}.values()
        return Finished(trajectory, [first, *others], summary["seconds"], summary["note"], begun.cassette)

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
        if done.cassette:
            rows["cassettes"] = [one.row(trajectory.id, number) for number, one in enumerate(done.cassette)]
        return {**rows, **more}

    async def verdict(self, task: Task, done: Finished) -> tuple[Judgement, Tables]:
        """The judgement on a finished attempt, and further rows that it gave rise to."""
        world, final = self.world(task), done.last_snapshot
        if final is None or world is None or final.world not in {part.id for part in parts_of(world)}:
            final = None  # the host keeps no state that a query could read
        judgement = await judge(
            task, done.trajectory, final, world, self._judges, self._escalation, done.states
        )
        return judgement, {}


def _body(
    event: Event,
    snapshot: Snapshot | None,
    recorded: Sequence[Recorded],
    versions: Versions,
    job: tuple[str, int],
) -> str:
    """An event as the journal keeps it; the first one says under which versions the attempt was begun."""
    parts = [
        f'"event":{event.model_dump_json()}',
        f'"snapshot":{snapshot.model_dump_json() if snapshot else "null"}',
    ]
    if recorded:
        parts.append(f'"recorded":{json.dumps([one.to_json() for one in recorded], ensure_ascii=False)}')
    if event.index == 0:
        parts.append(f'"versions":{versions.model_dump_json()},"job":{json.dumps(job)}')
    return "{" + ",".join(parts) + "}"
