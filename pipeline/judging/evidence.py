"""A trajectory as checks see it: goals as segments, calls with their arguments, what was said and what was known."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from pipeline.judging.statements import Stated, result_of, stated
from pipeline.records import Event, Json, Task, ToolCall, Trajectory
from pipeline.tasks.values import folded


@dataclass(frozen=True, slots=True)
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


class Evidence:
    """Views of one trajectory, each computed once."""

    def __init__(self, task: Task, trajectory: Trajectory) -> None:
        self.task = task
        self.trajectory = trajectory
        self.events: Sequence[Event] = trajectory.events

    @cached_property
    def segments(self) -> list[int]:
        """For each event the number of the goal that is being pursued: -1 before the first, past the last one when
        the user says goodbye."""
        found, current = [], -1
        for event in self.events:
            if event.role == "user" and event.note in ("act:open", "act:next"):
                current += 1
            elif event.note == "act:close":
                current = len(self.task.goals)
            found.append(current)
        return found

    @cached_property
    def calls(self) -> list[MadeCall]:
        """All answered calls in order. An endpoint may use a call id again in a later turn."""
        found: list[MadeCall] = []
        asked: dict[str, tuple[int, ToolCall]] = {}
        for event in self.events:
            if event.role == "assistant" and event.calls:
                asked = {call.id: (event.index, call) for call in event.calls}
            elif event.role == "tool" and event.call_id in asked:
                index, call = asked[event.call_id]
                found.append(
                    MadeCall(
                        index=event.index,
                        asked=index,
                        name=event.name,
                        arguments=call.arguments or {},
                        ok=bool(event.ok),
                        code=event.error_code,
                        landed=bool(event.ok) or bool(event.fault and event.fault.committed),
                        changed=event.before != event.after,
                        segment=self.segments[event.index],
                    )
                )
        return found

    @cached_property
    def unanswered(self) -> list[int]:
        """Events with a call that got no answer before the agent's next turn."""
        found: list[int] = []
        waiting: dict[str, int] = {}
        for event in self.events:
            if event.role == "tool":
                waiting.pop(event.call_id, None)
                continue
            found.extend(waiting.values())
            waiting = {call.id: event.index for call in event.calls}
        return [*found, *waiting.values()]

    @cached_property
    def writes(self) -> frozenset[str]:
        """Names of the tools that may change something."""
        return frozenset(
            tool.name for tool in self.task.agent.toolset.tools if not tool.annotations.read_only
        )

    def writes_in(self, segment: int) -> list[MadeCall]:
        return [call for call in self.calls if call.segment == segment and call.name in self.writes]

    @cached_property
    def known(self) -> list[frozenset[Stated]]:
        """For each event the values that were told, read or instructed before it."""
        found: list[frozenset[Stated]] = []
        so_far: set[Stated] = set()
        seen: frozenset[Stated] = frozenset()
        for event in self.events:
            if len(so_far) > len(seen):
                seen = frozenset(so_far)
            found.append(seen)
            if event.role == "tool":
                so_far |= result_of(event.content).values
            elif event.role != "assistant":
                so_far |= stated(event.content)
        return found

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
        place = text.find(phrase)
        return 0 <= place < lengths[before]

    @cached_property
    def spoken(self) -> list[Event]:
        """The agent's messages with words."""
        return [event for event in self.events if event.role == "assistant" and event.content.strip()]

    def said(self, *, segment: int | None = None, before: int | None = None) -> Iterator[Event]:
        """The agent's messages with words, of one segment or before one event."""
        for event in self.spoken:
            if segment is not None and self.segments[event.index] != segment:
                continue
            if before is None or event.index < before:
                yield event

    def last_said(self, segment: int) -> Event | None:
        return next((e for e in reversed(self.spoken) if self.segments[e.index] == segment), None)
