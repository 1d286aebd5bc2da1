"""A trajectory as checks see it: goals as segments, calls with their arguments, what was said."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from pipeline.records import Event, Json, Task, Trajectory


@dataclass(frozen=True, slots=True)
class MadeCall:
    """One call with its answer. `landed`: its effect took place, also when the answer was lost."""

    index: int
    name: str
    arguments: dict[str, Json]
    ok: bool
    code: str
    landed: bool
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
        asked = {call.id: call for event in self.events for call in event.calls}
        return [
            MadeCall(
                index=event.index,
                name=event.name,
                arguments=asked[event.call_id].arguments or {},
                ok=bool(event.ok),
                code=event.error_code,
                landed=bool(event.ok) or bool(event.fault and event.fault.committed),
                segment=self.segments[event.index],
            )
            for event in self.events
            if event.role == "tool" and event.call_id in asked
        ]

    def said(self, *, segment: int | None = None, before: int | None = None) -> Iterator[Event]:
        """The agent's messages with words."""
        for event in self.events:
            if event.role == "assistant" and event.content.strip():
                if segment is not None and self.segments[event.index] != segment:
                    continue
                if before is None or event.index < before:
                    yield event

    def last_said(self, segment: int) -> Event | None:
        return next(reversed(list(self.said(segment=segment))), None)
