"""The worlds as an environment for a trainer: `reset` and `step` over the same engine that makes the trajectories.

The engine asks its policy for the next turn; here that question is handed to whoever calls `step`. The episode is a
coroutine that this class drives by hand, so that thousands of instances live in one thread without an event loop. Where
a host or a user has to wait for something outside (a live server, a model), give the instance a loop, or await `areset`
and `astep` within your own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Generator, Mapping, Sequence
from dataclasses import dataclass
from inspect import isawaitable
from typing import Any, TypeVar

from pipeline.config.trajectories import LimitsConfig
from pipeline.records import (
    AgentTurn,
    EndReason,
    Message,
    Snapshot,
    Task,
    ToolCall,
    ToolSpec,
    Trajectory,
    User,
)
from pipeline.rollout.episode import Episode
from pipeline.rollout.intake import parse_arguments
from pipeline.worlds.host import ToolHost

T = TypeVar("T")
OpenHost = Callable[[Task], ToolHost | Awaitable[ToolHost]]
OpenUser = Callable[[Task, str], User]
"""(task, trajectory id) → the user of that episode."""
Grade = Callable[[Task, Trajectory, Snapshot], float | Awaitable[float]]
"""What an episode is worth, from 0 to 1; judging lies above this package, so it is handed in."""
Action = AgentTurn | str | Mapping[str, Any]
"""A turn, plain words, or an assistant message in the OpenAI form."""


@dataclass(frozen=True, slots=True)
class Observation:
    """What has happened since the last action: at the beginning the system prompt and the user's words, after calls their
    results, after words the user's answer. Empty at the end when the user had nothing to add."""

    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...]

    @property
    def text(self) -> str:
        """The contents, a blank line between them."""
        return "\n\n".join(message.content for message in self.messages)


class Gym:
    """One environment. Not for several threads at once; `reset` leaves an unfinished episode."""

    def __init__(
        self,
        open_host: OpenHost,
        open_user: OpenUser,
        grade: Grade,
        *,
        limits: LimitsConfig | None = None,
        loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        self._open_host = open_host
        self._open_user = open_user
        self._grade = grade
        self._limits = limits or LimitsConfig()
        self._loop = loop
        self._run: _Driven | None = None
        self._episode: Episode | None = None
        self._seen = 0
        self._reward = 0.0
        self.trajectory: Trajectory | None = None
        """The finished episode, complete with its snapshots' references, faults and seeds; None while it goes on."""

    # ---- for a trainer -----------------------------------------------------------------------------------

    def reset(self, task: Task, seed: int = 0) -> Observation:
        """Begins an episode. Equal tasks and seeds begin, and answer equal actions, alike.

        Raises WorldError when the task's initial state cannot be made, RuntimeError when something has to be waited for
        and the instance has no loop.
        """
        return self._wait(self.areset(task, seed))

    def step(self, action: Action) -> tuple[Observation, float, bool, dict[str, Any]]:
        """One turn of the agent and all that follows, up to its next turn: (observation, reward, done, info).

        The reward is 0 until the episode is done. `info` holds the state's reference and the calls made so far, and at
        the end `end_reason`, `owner` (who is responsible for an irregular end) and `note`. Raises RuntimeError when no
        episode is under way.
        """
        return self._wait(self.astep(action))

    def close(self) -> None:
        """Leaves an unfinished episode and frees its host."""
        self._wait(self.aclose())

    async def areset(self, task: Task, seed: int = 0) -> Observation:
        await self.aclose()
        self.trajectory, self._seen, self._reward = None, 0, 0.0
        self._run = _Driven(self._play(task, seed))
        await self._run
        return self._observed()

    async def astep(self, action: Action) -> tuple[Observation, float, bool, dict[str, Any]]:
        if self._run is None or self.trajectory is not None:
            raise RuntimeError("There is no episode under way: call reset first.")
        self._run.answer = as_turn(action)
        await self._run
        done = self.trajectory is not None
        return self._observed(), self._reward, done, self._info()

    async def aclose(self) -> None:
        run, self._run = self._run, None
        if run is not None and self.trajectory is None:
            run.leave = True
            await run

    # ---- the engine --------------------------------------------------------------------------------------

    async def _play(self, task: Task, seed: int) -> None:
        opened = self._open_host(task)
        host = await opened if isawaitable(opened) else opened
        try:
            episode = Episode(
                task=task,
                attempt=0,
                seed=seed,
                policy=_Seat(),
                user=None,  # type: ignore[arg-type]
                host=host,
                limits=self._limits,
            )
            episode.user = self._open_user(task, episode.id)
            self._episode = episode
            trajectory = await episode.run()
            graded = self._grade(task, trajectory, host.snapshot())
            self._reward = float(await graded if isawaitable(graded) else graded)
            self.trajectory = trajectory
        finally:
            await host.close()

    def _observed(self) -> Observation:
        assert self._episode is not None
        messages = self._episode.messages
        fresh, self._seen = messages[self._seen :], len(messages)
        news = tuple(
            message for message in fresh if message.role != "assistant"
        )  # its own are none to the agent
        return Observation(news, self._episode.task.agent.toolset.tools)

    def _info(self) -> dict[str, Any]:
        assert self._episode is not None
        last = self._episode.events[-1]
        info: dict[str, Any] = {"state": last.after, "calls": self._episode.calls_made}
        if self.trajectory is not None:
            reason: EndReason = self.trajectory.end_reason
            owner = reason.owner
            info |= {
                "end_reason": str(reason),
                "owner": str(owner) if owner else "",
                "note": self._episode.note,
            }
        return info

    @property
    def messages(self) -> Sequence[Message]:
        """The whole conversation so far, as a policy would be given it."""
        return () if self._episode is None else self._episode.messages

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        if self._loop is not None:
            return self._loop.run_until_complete(work)
        try:
            work.send(None)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]
        work.close()
        raise RuntimeError(
            "This episode has to wait for something outside. Give Gym a loop: loop=asyncio.new_event_loop()."
        )


class _Question:
    """The engine asks for the agent's next turn."""

    def __await__(self) -> Generator[_Question, AgentTurn, AgentTurn]:
        turn = yield self
        return turn


class _Seat:
    """The policy of an episode that is played from outside."""

    async def act(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> AgentTurn:
        return await _Question()


@dataclass
class _Driven:
    """A coroutine that is driven from question to question."""

    work: Coroutine[Any, Any, None]
    answer: AgentTurn | None = None
    leave: bool = False

    def __await__(self) -> Generator[Any, Any, None]:
        """Up to the next question of the engine, or its end; what it waits for meanwhile is passed on to the loop."""
        send: Any = self.answer
        self.answer = None
        try:
            waits = self.work.throw(_Left()) if self.leave else self.work.send(send)
            while not isinstance(waits, _Question):
                try:
                    heard = yield waits
                except BaseException as error:  # noqa: BLE001  (belongs to the coroutine, e.g. a cancellation)
                    waits = self.work.throw(error)
                else:
                    waits = self.work.send(heard)
        except (StopIteration, _Left):
            return


class _Left(BaseException):
    """The trainer has left the episode."""


def as_turn(action: Action) -> AgentTurn:
    """An action as a turn. Arguments that are no JSON object stay text: the engine answers them as it would a model's."""
    if isinstance(action, AgentTurn):
        return action
    if isinstance(action, str):
        return AgentTurn(content=action)
    calls = []
    for number, call in enumerate(action.get("tool_calls") or ()):
        raw = str(call["function"].get("arguments") or "")
        name = str(call["function"].get("name") or "")
        calls.append(
            ToolCall(
                id=str(call.get("id") or f"call_{number}"), name=name, raw=raw, arguments=parse_arguments(raw)
            )
        )
    return AgentTurn(
        content=str(action.get("content") or ""),
        reasoning=str(action.get("reasoning_content") or ""),
        calls=tuple(calls),
    )
