"""Small scripted players for episodes in the bike world."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from pipeline.config.tasks import TasksConfig
from pipeline.config.trajectories import LimitsConfig
from pipeline.judging.judge import judge
from pipeline.records import (
    AgentTurn,
    Event,
    Json,
    Judgement,
    Message,
    Policy,
    Snapshot,
    Task,
    ToolCall,
    ToolSpec,
    Trajectory,
    Usage,
    User,
    UserMove,
    UserWords,
    World,
)
from pipeline.rollout.episode import Episode
from pipeline.teacher.author import TeacherAuthor
from pipeline.teacher.policy import TeacherPolicy
from pipeline.teacher.user import TeacherUser
from pipeline.worlds.sql import SqlHost
from tests.worlds.families import bikes


@lru_cache(maxsize=1)
def world() -> World:
    return bikes()


@lru_cache(maxsize=8)
def tasks(kind: str = "act", goals: int = 1, faults: float = 0.0) -> tuple[Task, ...]:
    config = TasksConfig(goal_kinds={kind: 1.0}, goal_counts={goals: 1.0}, fault_rate=faults, change_rate=0.0)
    with ThreadPoolExecutor(1) as thread:  # a loop may be running in this one
        return tuple(thread.submit(asyncio.run, TeacherAuthor(config).tasks(world(), 40, 3)).result())


def call(name: str, arguments: Json = None, *, raw: str | None = None, id: str = "call_x") -> ToolCall:
    """A call as an endpoint would hand it over; `raw` alone is text that is no JSON object."""
    text = raw if raw is not None else json.dumps(arguments)
    given = arguments if isinstance(arguments, dict) else None
    return ToolCall(id=id, name=name, raw=text, arguments=given)


Turn = AgentTurn | Callable[[Sequence[Message]], AgentTurn]


@dataclass
class Scripted:
    """A policy that plays its turns one after the other, the last one for ever."""

    turns: Sequence[Turn]
    asked: int = 0
    heard: list[Sequence[Message]] = field(default_factory=list)

    async def act(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> AgentTurn:
        turn = self.turns[min(self.asked, len(self.turns) - 1)]
        self.asked += 1
        self.heard.append(list(messages))
        return turn(messages) if callable(turn) else turn


def says(*texts: str) -> Scripted:
    return Scripted([AgentTurn(content=text, usage=Usage(tokens_out=10)) for text in texts])


def calls(*made: ToolCall, then: str = "That's done.") -> Scripted:
    return Scripted([AgentTurn(calls=made), AgentTurn(content=then)])


@dataclass
class ScriptedUser:
    """A user that answers every move with what a function makes of it."""

    words: Callable[[UserMove, int], str]
    asked: int = 0

    async def speak(self, move: UserMove, messages: Sequence[Message]) -> UserWords:
        self.asked += 1
        return UserWords(self.words(move, self.asked), Usage(tokens_out=7))


@dataclass
class Played:
    """An episode with everything about it."""

    task: Task
    trajectory: Trajectory
    judgement: Judgement
    episode: Episode
    changed: bool

    @property
    def results(self) -> list[Event]:
        return [event for event in self.trajectory.events if event.role == "tool"]

    @property
    def codes(self) -> list[str]:
        return [event.error_code for event in self.results]


async def play(
    policy: Policy | None = None,
    *,
    task: Task | None = None,
    user: User | None = None,
    limits: LimitsConfig | None = None,
    **more: Any,
) -> Played:
    """Plays and judges one episode; the teacher plays whoever is not given."""
    task = task or tasks()[0]
    host = SqlHost(world(), task.initial)
    try:
        episode = Episode(
            task=task,
            attempt=0,
            seed=1,
            policy=policy or TeacherPolicy(task, world(), "test"),
            user=user or TeacherUser(task, world(), "test"),
            host=host,
            limits=limits or LimitsConfig(),
            **more,
        )
        trajectory = await episode.run()
        final = host.snapshot()
        changed = bool(host.live.changes())
    finally:
        await host.close()
    return Played(task, trajectory, await judge(task, trajectory, final, world()), episode, changed)


@dataclass
class Journal:
    """What an interrupted run has committed; it breaks off after so many events."""

    limit: int
    events: list[Event] = field(default_factory=list)
    snapshots: dict[str, Snapshot] = field(default_factory=dict)

    class Killed(Exception):
        """Stands for a kill -9."""

    def commit(self, event: Event, snapshot: Snapshot | None) -> None:
        self.events.append(Event.model_validate_json(event.model_dump_json()))
        if snapshot:
            self.snapshots[snapshot.ref] = Snapshot.model_validate_json(snapshot.model_dump_json())
        if len(self.events) >= self.limit:
            raise Journal.Killed
