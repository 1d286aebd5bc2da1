"""A good trajectory as a script that can be changed and told again: every call runs anew in the world.

The user's words stay as they were recorded. What the agent says of results follows the results of the new telling,
so that a planted flaw is the only thing wrong with it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from pipeline.judging.evidence import Evidence, MadeCall
from pipeline.records import Event, Fault, Goal, Json, Snapshot, Task, ToolCall, Trajectory, World
from pipeline.rollout.episode import render_result
from pipeline.tasks.values import written
from pipeline.worlds.faults import FaultyHost
from pipeline.worlds.mixed import open_host

Script = list[Event]
"""The events without those of tools; indexes are not kept up."""
LONGEST = 20_000


@dataclass(frozen=True)
class Told:
    """A telling: what happened, and the state it left."""

    task: Task
    trajectory: Trajectory
    final: Snapshot


@dataclass(frozen=True)
class Story:
    """A good trajectory with its task and world."""

    world: World
    task: Task
    trajectory: Trajectory
    final_state: str
    """Hash of the rows that the honest attempt left."""

    @cached_property
    def evidence(self) -> Evidence:
        return Evidence(self.task, self.trajectory)

    @cached_property
    def script(self) -> Script:
        return [event for event in self.trajectory.events if event.role != "tool"]

    @cached_property
    def landed(self) -> list[MadeCall]:
        """Changes that took place."""
        names = self.evidence.writes
        return [call for call in self.evidence.calls if call.name in names and call.landed and call.changed]

    @cached_property
    def reads(self) -> list[MadeCall]:
        return [call for call in self.evidence.calls if call.name not in self.evidence.writes and call.ok]

    @property
    def english(self) -> bool:
        """Whether sentences in English can be put into it."""
        return self.task.persona.language.startswith("en")

    def goal(self, call: MadeCall) -> Goal | None:
        return self.task.goals[call.segment] if 0 <= call.segment < len(self.task.goals) else None

    def result(self, call: MadeCall) -> Json:
        """What a call answered; None when it was cut."""
        try:
            return json.loads(self.trajectory.events[call.index].content)
        except ValueError:
            return None

    def made(self, call: MadeCall) -> ToolCall:
        """The call as the agent wrote it."""
        wanted = self.trajectory.events[call.index].call_id
        return next(one for one in self.trajectory.events[call.asked].calls if one.id == wanted)

    def report(self, call: MadeCall) -> Event | None:
        """The agent's first words after a call, in the same goal."""
        return next(
            (
                e
                for e in self.evidence.spoken
                if e.index > call.index and not e.calls and self.evidence.segments[e.index] == call.segment
            ),
            None,
        )

    def question(self, call: MadeCall) -> tuple[Event, Event] | None:
        """The agent's last question before a call that the user said yes to, and the yes; in the same goal."""
        for event in reversed(self.trajectory.events[: call.asked]):
            if event.note == "act:confirm" and self.evidence.segments[event.index] == call.segment:
                return self.trajectory.events[event.index - 1], event
        return None

    def nth(self, call: MadeCall) -> int:
        """How many calls of its tool were made up to this one."""
        return sum(one.name == call.name and one.index <= call.index for one in self.evidence.calls)

    def says(self, value: str, before: int) -> bool:
        """Whether a text stands in anything the agent had seen before an event."""
        low = value.casefold()
        return any(
            low in e.content.casefold() for e in self.trajectory.events[:before] if e.role != "assistant"
        )

    async def tell(
        self, script: Sequence[Event], label: str = "", faults: Sequence[Fault] | None = None
    ) -> Told:
        """Runs a script in a fresh copy of the world. `label` marks a flawed telling; `faults` are other ones."""
        task = self.task if faults is None else self.task.replace(faults=tuple(faults))
        teller = _Teller(self, FaultyHost(open_host(self.world, task.initial), task.faults))
        try:
            for event in script:
                await teller.take(event)
            final = teller.host.host.snapshot()
        finally:
            await teller.host.host.close()
        trajectory = self.trajectory.model_copy(
            update={
                "events": tuple(teller.events),
                "planted": (label,) if label else (),
                "id": f"{self.trajectory.id}-{label}" if label else self.trajectory.id,
            }
        )
        return Told(task, trajectory, final)


class _Teller:
    """Executes a script, event by event."""

    def __init__(self, story: Story, host: FaultyHost) -> None:
        self.host = host
        self.events: list[Event] = []
        self._year = int(story.world.clock[:4])
        self._recorded = {
            call.id: answer.content for call, answer in _pairs(story.trajectory.events) if answer.ok
        }
        self._forms: tuple[Callable[[Json], str], ...] = (
            lambda value: written(value, money=True, year=self._year),
            lambda value: written(value, year=self._year),
            str,
        )
        self._texts: dict[str, str] = {}
        """Values of the record as text, and what they have become."""

    async def take(self, event: Event) -> None:
        if event.role != "assistant":
            self._add(event)
            return
        calls = tuple(self._renewed(call) for call in event.calls)
        self._add(event.model_copy(update={"content": self._reworded(event.content), "calls": calls}))
        for call in calls:
            answer = await self.host.call(call.name, call.arguments or {})
            result = answer.result
            content = render_result(result, LONGEST)
            self._compare(call.id, content if result.ok else None)
            self._add(
                Event(
                    index=0,
                    turn=event.turn,
                    role="tool",
                    content=content,
                    call_id=call.id,
                    name=call.name,
                    ok=result.ok,
                    error_code=result.error[0] if result.error else "",
                    fault=answer.fault,
                    before=result.before,
                    after=result.after,
                )
            )

    def _add(self, event: Event) -> None:
        self.events.append(event.model_copy(update={"index": len(self.events)}))

    def _renewed(self, call: ToolCall) -> ToolCall:
        """A call with the values of this telling in place of those of the record."""
        if not self._texts or not call.arguments:
            return call
        arguments = {
            name: self._texts.get(value, value) if isinstance(value, str) else value
            for name, value in call.arguments.items()
        }
        if arguments == call.arguments:
            return call
        raw = json.dumps(arguments, ensure_ascii=False)
        return call.model_copy(update={"arguments": arguments, "raw": raw})

    def _reworded(self, text: str) -> str:
        for old, new in self._texts.items():
            text = text.replace(old, new)
        return text

    def _compare(self, call_id: str, content: str | None) -> None:
        """Notes which values of a result have become others."""
        before = self._recorded.get(call_id)
        if before is None or content is None or before == content:
            return
        old, new = _rows(before), _rows(content)
        if len(old) != len(new):
            return
        for was, now in zip(old, new, strict=True):
            for column in was.keys() & now.keys():
                if was[column] == now[column] or isinstance(was[column], bool | list | dict | None):
                    continue
                for form in self._forms:
                    first, second = form(was[column]), form(now[column])
                    if first != second and len(first) > 1:
                        self._texts[first] = second


def _rows(content: str) -> list[dict[str, Json]]:
    try:
        value = json.loads(content)
    except ValueError:
        return []
    return [row for row in (value if isinstance(value, list) else [value]) if isinstance(row, dict)]


def _pairs(events: Sequence[Event]) -> list[tuple[ToolCall, Event]]:
    """Calls with their answers."""
    found: list[tuple[ToolCall, Event]] = []
    waiting: dict[str, ToolCall] = {}
    for event in events:
        if event.role == "assistant":
            waiting = {call.id: call for call in event.calls}
        elif event.role == "tool" and event.call_id in waiting:
            found.append((waiting[event.call_id], event))
    return found


# ---- changes of a script ------------------------------------------------------------------------------------


def without_call(script: Script, call: ToolCall, asked: Event) -> Script:
    """The script without one call, and without the event when nothing else is in it."""
    changed: Script = []
    for event in script:
        if event is not asked:
            changed.append(event)
            continue
        calls = tuple(one for one in event.calls if one is not call)
        if calls or (event.content.strip() and not event.calls):
            changed.append(event.model_copy(update={"calls": calls}))
    return changed


def with_call(script: Script, call: ToolCall, asked: Event, **changes: Json) -> Script:
    """The script with other arguments in one call."""
    arguments = {**(call.arguments or {}), **changes}
    other = call.model_copy(update={"arguments": arguments, "raw": json.dumps(arguments, ensure_ascii=False)})
    calls = tuple(other if one is call else one for one in asked.calls)
    return replaced(script, asked, asked.model_copy(update={"calls": calls}))


def replaced(script: Script, old: Event, *new: Event) -> Script:
    """The script with other events in place of one."""
    return [one for event in script for one in (new if event is old else (event,))]


def inserted(script: Script, after: Event, *new: Event) -> Script:
    return replaced(script, after, after, *new)


def without(script: Script, *gone: Event) -> Script:
    return [event for event in script if not any(event is one for one in gone)]


def says(text: str, turn: int, calls: tuple[ToolCall, ...] = ()) -> Event:
    """A message of the agent."""
    return Event(index=0, turn=turn, role="assistant", content=text, calls=calls, loss=True)


def calling(name: str, arguments: dict[str, Json], id: str, turn: int) -> Event:
    """A turn of the agent with one call."""
    raw = json.dumps(arguments, ensure_ascii=False)
    return says("", turn, (ToolCall(id=id, name=name, raw=raw, arguments=arguments),))
