"""A trajectory as checks see it: goals as segments, calls with their arguments, what was said and what was known."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from pipeline.judging.standing import Standing, standing_of
from pipeline.judging.statements import Stated, result_of, stated
from pipeline.records import Event, Json, Task, ToolCall, Trajectory
from pipeline.tasks.values import folded


@dataclass(slots=True)
class MadeCall:
    """One call with its answer. `landed`: its effect took place, also when the answer was lost."""

    index: int
    asked: int
    """The event in which the agent made it."""
    name: str
    arguments: dict[str, Json]
    ok: bool
    code: str
    landed: bool
    changed: bool
    segment: int


@dataclass(frozen=True, slots=True)
class Offered:
    """What is one for all attempts at a task: its tools by what they may do, and what its agent knows beforehand."""

    task: Task
    standing: Standing
    stated: frozenset[Stated]
    """The values of the instructions."""
    writes: frozenset[str]
    destructive: frozenset[str]


_OFFERED: dict[int, Offered] = {}
"""By identity of the task, which the value keeps alive: attempts at one task come one after the other."""


def _offered(task: Task) -> Offered:
    found = _OFFERED.get(id(task))
    if found is None:
        if len(_OFFERED) > 256:
            _OFFERED.clear()
        tools = task.agent.toolset.tools
        writes = frozenset(tool.name for tool in tools if not tool.annotations.read_only)
        destructive = frozenset(tool.name for tool in tools if tool.annotations.destructive)
        lines = task.agent.system_prompt.split("\n")  # most lines are those of other agents, too
        values = frozenset().union(*(stated(f"{line}\n") for line in lines))
        found = _OFFERED[id(task)] = Offered(task, standing_of(task), values, writes, destructive)
    return found


def _made(answer: Event, asked: int, call: ToolCall, segment: int) -> MadeCall:
    return MadeCall(
        index=answer.index,
        asked=asked,
        name=answer.name,
        arguments=call.arguments or {},
        ok=bool(answer.ok),
        code=answer.error_code,
        landed=bool(answer.ok) or bool(answer.fault and answer.fault.committed),
        changed=answer.before != answer.after,
        segment=segment,
    )


class Evidence:
    """Views of one trajectory, each computed once."""

    segments: list[int]
    """For each event the number of the goal that is being pursued: -1 before the first, past the last one when the
    user says goodbye."""
    calls: list[MadeCall]
    """All answered calls in order. An endpoint may use a call id again in a later turn."""
    unanswered: list[int]
    """Events with a call that got no answer before the agent's next turn."""
    spoken: list[Event]
    """The agent's messages with words."""
    writes: frozenset[str]
    """Names of the tools that may change something."""

    def __init__(self, task: Task, trajectory: Trajectory) -> None:
        self.task = task
        self.trajectory = trajectory
        self.events: Sequence[Event] = trajectory.events
        self._offered = offered = _offered(task)
        self.standing, self.writes, self.destructive = offered.standing, offered.writes, offered.destructive
        self._read()

    def _read(self) -> None:
        """One pass over the events, since there are many trajectories."""
        self.segments, self.calls, self.unanswered, self.spoken = [], [], [], []
        asked: dict[str, tuple[int, ToolCall]] = {}
        waiting: dict[str, int] = {}
        current = -1
        for event in self.events:
            role = event.role
            if role == "tool":
                self.segments.append(current)
                waiting.pop(event.call_id, None)
                if event.call_id in asked:
                    self.calls.append(_made(event, *asked[event.call_id], current))
                continue
            note = event.note
            if role == "user" and note in ("act:open", "act:next"):
                current += 1
            elif note == "act:close":
                current = len(self.task.goals)
            self.segments.append(current)
            if waiting:
                self.unanswered.extend(waiting.values())
                waiting = {}
            if event.calls:
                waiting = {call.id: event.index for call in event.calls}
                if role == "assistant":
                    asked = {call.id: (event.index, call) for call in event.calls}
            if role == "assistant" and event.content and not event.content.isspace():
                self.spoken.append(event)
        self.unanswered.extend(waiting.values())

    @cached_property
    def sources(self) -> list[tuple[int, frozenset[Stated]]]:
        """The values that were told, read or instructed, by the event that states them."""
        found: list[tuple[int, frozenset[Stated]]] = []
        for event in self.events:
            if event.role == "tool":
                found.append((event.index, result_of(event.content).values))
            elif event.role != "assistant":
                own = event.role == "system" and event.content == self.task.agent.system_prompt
                found.append((event.index, self._offered.stated if own else stated(event.content)))
        return found

    def strange(self, values: frozenset[Stated], before: int) -> frozenset[Stated]:
        """Those of some values that nothing before an event had stated."""
        for index, known in self.sources:
            if index >= before or not values:
                break
            values = values - known
        return values

    def known(self, before: int) -> frozenset[Stated]:
        """The values that were told, read or instructed before an event."""
        return frozenset().union(*(known for index, known in self.sources if index < before))

    @cached_property
    def background(self) -> tuple[str, list[int]]:
        """All that was told, read or instructed as one folded text, and how much of it came before each event."""
        parts: list[str] = []
        lengths: list[int] = []
        length = 0
        for event in self.events:
            lengths.append(length)
            if event.role != "assistant":
                parts.append(folded(event.content))
                length += len(parts[-1]) + 1
        return "\n".join(parts), lengths

    def heard_of(self, phrase: str, before: int) -> bool:
        """Whether a folded phrase stood in anything the agent had seen before an event."""
        text, lengths = self.background
        return text.find(phrase, 0, lengths[before]) >= 0

    def writes_in(self, segment: int) -> list[MadeCall]:
        return [call for call in self.calls if call.segment == segment and call.name in self.writes]

    def said(self, *, segment: int | None = None, before: int | None = None) -> Iterator[Event]:
        """The agent's messages with words, of one segment or before one event."""
        for event in self.spoken:
            if segment is not None and self.segments[event.index] != segment:
                continue
            if before is None or event.index < before:
                yield event

    def last_said(self, segment: int) -> Event | None:
        return next((e for e in reversed(self.spoken) if self.segments[e.index] == segment), None)
