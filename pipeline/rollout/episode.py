"""The episode loop: user, agent and host take turns; each step is committed before the next begins."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace

from pipeline.config.trajectories import LimitsConfig
from pipeline.records import (
    AgentTurn,
    EndpointDown,
    EndReason,
    Event,
    Failure,
    Message,
    ModelError,
    Policy,
    SandboxError,
    Snapshot,
    Task,
    ToolCall,
    Trajectory,
    Usage,
    User,
    UserMove,
    UserWords,
    Versions,
    WorldError,
    trajectory_id,
)
from pipeline.records.errors import HostError
from pipeline.rollout.intake import DEPTH, forged, real_text, taken
from pipeline.rollout.machine import UserMachine
from pipeline.rollout.turns import problem_with
from pipeline.worlds.faults import FaultyHost
from pipeline.worlds.host import CallResult, ToolHost

_CUT_OFF = "cut off"
"""The note of an agent's turn that reached its token limit."""
Commit = Callable[[Event, Snapshot | None], None]
"""Called with each event as it happens, and the snapshot after it when the state is new."""


@dataclass
class Episode:
    """One attempt at one task, from its first turn or from its last committed one."""

    task: Task
    attempt: int
    seed: int
    policy: Policy
    user: User
    host: ToolHost
    limits: LimitsConfig
    versions: Versions = field(default_factory=Versions)
    commit: Commit = lambda event, snapshot: None
    done_before: Sequence[Event] = ()
    """Events of an unfinished earlier run."""
    snapshots_before: dict[str, Snapshot] = field(default_factory=dict)
    """Snapshots of the earlier run, by reference."""
    deadline: float | None = None
    """By `time.monotonic()`: the moment from which on it pauses before the agent's next turn."""
    note: str = ""
    """Why it stopped, in words, when it did not end by itself."""

    def __post_init__(self) -> None:
        self.id = trajectory_id(self.task.id, self.attempt, self.seed)
        self.events: list[Event] = []
        self.messages: list[Message] = []
        self.snapshots: dict[str, Snapshot] = {}
        self.usage = Usage()
        self._machine = UserMachine(self.task, random.Random(f"user/{self.id}"))
        self._faulty = FaultyHost(self.host, self.task.faults)
        self._offered = frozenset(tool.name for tool in self.task.agent.toolset.tools)
        self._turn = 0
        self._turns_now = 0
        self._usage_before = Usage()
        self._calls = 0
        self._agent_said = 0
        self._call_ids: set[str] = set()
        self._last_call = ""
        self._equal_calls = 0
        self._started = time.monotonic()
        self._end: EndReason | None = None

    async def run(self) -> Trajectory:
        """Plays until it ends or pauses. A bad rollout is data: no exception of a role or host escapes.

        EndpointDown and BudgetExceeded do pass through: they stop the run, not the episode.
        """
        try:
            if self.done_before:
                await self._resume()
            else:
                self._remember(self.host.snapshot())
                self._add(Event(index=0, turn=0, role="system", content=self.task.agent.system_prompt))
            while self._end is None:
                await self._exchange()
        except EndpointDown:
            raise
        except ModelError as error:
            self._stop(EndReason.MODEL_ERROR, str(error))
        except (SandboxError, HostError, WorldError) as error:
            self._stop(EndReason.HOST_ERROR, str(error))
        assert self._end is not None
        return Trajectory(
            id=self.id,
            task=self.task.id,
            world=self.task.world,
            world_name=self.task.world_name,
            attempt=self.attempt,
            seed=self.seed,
            events=tuple(self.events),
            end_reason=self._end,
            versions=self.versions,
            usage=self.usage,
            planted=tuple(dict.fromkeys(e.note for e in self.events if e.note.startswith("flaw:"))),
        )

    @property
    def calls_made(self) -> int:
        """Calls so far, those that were refused included."""
        return self._calls

    def _stop(self, reason: EndReason, note: str = "") -> None:
        self._end = reason
        self.note = note

    # ---- turns ------------------------------------------------------------------------------------------

    async def _exchange(self) -> None:
        """One user message and everything the agent does until it speaks again."""
        last = self.events[-1]
        if last.role in ("user", "tool") or last.calls:
            await self._agent_turns()
            return
        move = self._machine.move(last.content if last.role == "assistant" else None)
        if move is None:
            self._stop(EndReason.AGENT_STALLED if self._machine.stalled else EndReason.USER_DONE)
            return
        words = await self._words(move)
        if words is None:
            return
        self._turn += 1
        self._add(
            self._event(
                "user",
                content=words.text,
                lookups=move.lookups,
                note=f"act:{move.act}",
                usage=words.usage,
            )
        )
        if move.act == "give_up":
            self._stop(EndReason.USER_GAVE_UP)
            return
        await self._agent_turns()
        if move.act == "close" and self._end is None:
            self._stop(EndReason.USER_DONE)

    async def _words(self, move: UserMove) -> UserWords | None:
        """The user's words for a move, with one repair; None when they are of no use, which ends the episode."""
        problem, spent = "", Usage()
        for _ in range(2):
            words = await self.user.speak(move, self.messages)
            spent = _sum(spent, words.usage)
            text = real_text(words.text)
            problem = words.problem or problem_with(text, move, self.messages, self.limits.user_chars)
            if not problem:
                return UserWords(text, spent)
        self.usage = _sum(self.usage, spent)
        self._stop(EndReason.USER_FAULT, f"The user produced {problem} twice.")
        return None

    async def _agent_turns(self) -> None:
        while self._end is None:
            await self._run_calls(self._unanswered())
            self._check_limits()
            if self._end is not None:
                return
            turn = await self._agent_turn()
            if turn is None:
                return
            self._add_agent_turn(turn)
            if not turn.calls:
                return

    def _unanswered(self) -> list[tuple[int, ToolCall]]:
        """The calls of the last agent turn that have no result yet, with their numbers in it."""
        answered = set()
        for event in reversed(self.events):
            if event.role == "tool":
                answered.add(event.call_id)
            elif event.role == "assistant":
                return [(n, call) for n, call in enumerate(event.calls) if call.id not in answered]
            else:
                break
        return []

    async def _agent_turn(self) -> AgentTurn | None:
        """The agent's next turn, asked for twice when it is empty; None when it stays empty."""
        spent = Usage()
        for _ in range(2):
            turn = await self.policy.act(self.messages, self.task.agent.toolset.tools)
            spent = _sum(spent, turn.usage)
            if turn.content.strip() or turn.calls or turn.cut_off:
                kept = taken(turn, self._call_ids, len(self.events), self.limits.argument_chars)
                return kept if spent is kept.usage else replace(kept, usage=spent)
        self.usage = _sum(self.usage, spent)
        self._stop(EndReason.AGENT_EMPTY, "The agent said nothing twice.")
        return None

    def _add_agent_turn(self, turn: AgentTurn) -> None:
        self._turns_now += 1
        event = self._event(
            "assistant",
            content=turn.content,
            reasoning=turn.reasoning,
            calls=turn.calls,
            loss=not turn.cut_off,
            usage=turn.usage,
            logprobs=turn.logprobs,
            note=_CUT_OFF if turn.cut_off else turn.note,
        )
        self._watch_words(event)
        self._add(event)

    def _watch_words(self, event: Event) -> None:
        """An agent that writes others' messages, or was cut off, ends the episode; also one that is resumed there."""
        if others := forged(event.content):
            self._stop(EndReason.AGENT_FORGED, f"The agent wrote {others} itself.")
        elif event.note == _CUT_OFF:
            self._stop(EndReason.TOKEN_LIMIT, "The agent's answer was cut off at the model's token limit.")

    async def _run_calls(self, calls: Sequence[tuple[int, ToolCall]]) -> None:
        """Runs the calls of one turn in order against one state; each gets its own result."""
        for number, call in calls:
            self._calls += 1
            self._watch_loop(call)
            if said := refusal(call, number, self._offered, self.limits):
                self._refuse(call, said)
            else:
                answer = await self._faulty.call(call.name, call.arguments or {})
                self._add_result(call, answer.result, fault=answer.fault)

    def _refuse(self, call: ToolCall, said: tuple[str, str]) -> None:
        self._faulty.recount([call.name])
        ref = self.host.snapshot().ref
        self._add_result(call, CallResult(False, None, said, ref, ref))

    def _add_result(self, call: ToolCall, result: CallResult, fault: object = None) -> None:
        snapshot = None
        if result.after != result.before and result.after not in self.snapshots:
            snapshot = self.host.snapshot()
            self._remember(snapshot)
        event = self._event(
            "tool",
            content=render_result(result, self.limits.result_chars),
            call_id=call.id,
            name=call.name,
            ok=result.ok,
            error_code=result.error[0] if result.error else "",
            fault=fault,
            before=result.before,
            after=result.after,
        )
        self._add(event, snapshot)

    def _watch_loop(self, call: ToolCall) -> None:
        self._count_equal(call)
        if self._equal_calls >= self.limits.equal_calls:
            self._stop(EndReason.AGENT_LOOP)

    def _count_equal(self, call: ToolCall) -> None:
        text = f"{call.name} {call.raw}"
        self._equal_calls = self._equal_calls + 1 if text == self._last_call else 1
        self._last_call = text

    def _check_limits(self) -> None:
        limits = self.limits
        if self._end is not None:
            return
        if self._agent_said >= limits.turns:
            self._stop(EndReason.TURN_LIMIT)
        elif self._calls >= limits.calls:
            self._stop(EndReason.CALL_LIMIT)
        elif self.usage.tokens_out + self.usage.tokens_in > limits.tokens:
            self._stop(EndReason.TOKEN_LIMIT)
        elif self.usage.cost > limits.cost:
            self._stop(EndReason.COST_LIMIT)
        elif reason := self._pause():
            self._stop(EndReason.PAUSED, reason)

    def _pause(self) -> str:
        """Why it pauses now, to be resumed later; empty when it goes on. What an earlier part used does not count."""
        limits, used, before = self.limits, self.usage, self._usage_before
        now = time.monotonic()
        if limits.pause_after_turns is not None and self._turns_now >= limits.pause_after_turns:
            return f"{self._turns_now} turns in one part"
        tokens = used.tokens_in + used.tokens_out - before.tokens_in - before.tokens_out
        if limits.pause_after_tokens is not None and tokens >= limits.pause_after_tokens:
            return f"{tokens} tokens in one part"
        if limits.pause_after_cost is not None and used.cost - before.cost >= limits.pause_after_cost:
            return f"a cost of {used.cost - before.cost:.4f} in one part"
        if now - self._started > limits.seconds:
            return f"more than {limits.seconds:g} seconds in one part"
        if self.deadline is not None and now > self.deadline:
            return "the deadline of the run"
        return ""

    # ---- events -----------------------------------------------------------------------------------------

    def _event(self, role: str, **values: object) -> Event:
        return Event(index=len(self.events), turn=self._turn, role=role, **values)

    def _remember(self, snapshot: Snapshot) -> None:
        self.snapshots.setdefault(snapshot.ref, snapshot)

    def _add(self, event: Event, snapshot: Snapshot | None = None) -> None:
        if event.role in ("user", "assistant"):
            self.usage = _sum(self.usage, event.usage)
        if event.role == "assistant":
            self._agent_said += 1
            self._call_ids.update(call.id for call in event.calls)
        self.events.append(event)
        self.messages.append(_message(event))
        self._machine.see(event)
        self.commit(event, snapshot)

    async def _resume(self) -> None:
        """Takes up an unfinished episode: the state is restored, the machine and the policy follow the record."""
        commit, self.commit = self.commit, lambda event, snapshot: None
        self._remember(self.host.snapshot())
        for event in self.done_before:
            if event.after in self.snapshots_before:
                self._remember(self.snapshots_before[event.after])
            if event.role == "user":
                previous = next((e for e in reversed(self.events) if e.role == "assistant"), None)
                self._machine.move(previous.content if previous else None)
                self._turn = event.turn
            elif event.role == "assistant":
                self._watch_words(event)
            elif event.role == "tool":
                self._calls += 1
                self._faulty.recount([event.name])
                call = next(one for e in reversed(self.events) for one in e.calls if one.id == event.call_id)
                self._count_equal(call)
            self._add(event)
        last = next((e.after for e in reversed(self.done_before) if e.after), "")
        if last and last != self.host.snapshot().ref:
            await self.host.restore(self.snapshots_before[last])
        self._usage_before = self.usage
        self.commit = commit


def refusal(
    call: ToolCall, number: int, offered: Collection[str], limits: LimitsConfig
) -> tuple[str, str] | None:
    """Code and message where the engine refuses a call before any host sees it; `number` is its place in the turn."""
    if number >= limits.calls_per_turn:
        return str(Failure.LIMIT_EXCEEDED), f"At most {limits.calls_per_turn} calls in one turn."
    if call.name not in offered:
        return str(Failure.UNKNOWN_TOOL), f"There is no tool named {call.name!r}."
    if call.arguments is not None:
        return None
    if len(call.raw) > limits.argument_chars:
        return str(
            Failure.INVALID_ARGUMENTS
        ), f"The arguments are longer than {limits.argument_chars} characters."
    return str(Failure.INVALID_JSON), f"The arguments are not a JSON object (of at most {DEPTH} levels)."


def _sum(one: Usage, other: Usage) -> Usage:
    if not (other.tokens_in or other.tokens_out or other.cost):
        return one
    if not (one.tokens_in or one.tokens_out or one.cost):
        return other
    return Usage(
        tokens_in=one.tokens_in + other.tokens_in,
        tokens_out=one.tokens_out + other.tokens_out,
        cost=one.cost + other.cost,
    )


def _message(event: Event) -> Message:
    return Message(
        role=event.role,
        content=event.content,
        calls=event.calls,
        call_id=event.call_id,
        reasoning=event.reasoning,
    )


_as_json = json.JSONEncoder(ensure_ascii=False, check_circular=False, default=str).encode


def render_result(result: CallResult, limit: int) -> str:
    """What the agent sees of a result: JSON, cut with a marker when too long."""
    if result.ok:
        text = _as_json(result.value)
    else:
        code, message = result.error or ("ERROR", "")
        text = _as_json({"error": code, "message": message})
    if len(text) <= limit:
        return text
    return f"{text[:limit]} [… {len(text) - limit} more characters not shown]"
