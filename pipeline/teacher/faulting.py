"""Which faults a task gets: drawn by configured weights from those that a careful agent can get through, or has to
stop at."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch

from pipeline.config.tasks import TasksConfig
from pipeline.records import Call, Fault, Json, ReferenceCall
from pipeline.tasks.lives import Lives
from pipeline.teacher.meeting import Caller
from pipeline.teacher.sketch import REFUSES, Sketch
from pipeline.teacher.steering import Steering
from pipeline.worlds.tongues import tongue_of

_WAITS = (2.0, 5.0, 10.0, 30.0)


@dataclass(frozen=True)
class Planned:
    """A fault at a reference call, and the reference calls as they are under it."""

    kind: str
    position: int
    fault: Fault
    calls: list[ReferenceCall]
    weight: float
    final: bool
    """The calls end with it."""

    def beside(self, other: Planned) -> bool:
        """Whether both can be met: at different calls, before what ends the calls. After a list that was cut without
        a word, looking again would show a change where there is none."""
        first, last = sorted((self, other), key=lambda one: one.position)
        cut = {self.kind, other.kind}
        return (
            first.position < last.position
            and not first.final
            and not ("truncated" in cut and any(kind.startswith("timeout") for kind in cut))
        )


def plan_faults(
    config: TasksConfig, sketch: Sketch, rng: random.Random, steering: Steering
) -> tuple[Fault, ...]:
    """Faults at some of the calls, put into the sketch: where one lasts, the calls end with it and their goal is
    blocked."""
    rate = config.fault_rate
    if not sketch.calls or not steering.draw("faulty", {True: rate, False: 1 - rate}, rng):
        return ()
    wanted = steering.draw("fault counts", config.fault_counts, rng)
    open_, chosen = list(_possible(config, sketch, rng)), list[Planned]()
    while open_ and len(chosen) < wanted:
        # First the kind by its configured weight, then the place: a rare place does not make a kind rare.
        kinds = list(dict.fromkeys(one.kind for one in open_))
        kind = steering.draw("faults", config.faults, rng, kinds)
        places = [one for one in open_ if one.kind == kind]
        taken = rng.choices(places, [one.weight for one in places])[0]
        chosen.append(taken)
        open_ = [one for one in open_ if one.beside(taken)]
    for end in (one for one in chosen if one.final):
        goal = end.calls[-1].goal
        sketch.calls = end.calls
        sketch.goals[goal] = sketch.goals[goal].replace(kind="blocked")
        sketch.told[goal] = ()
    return _numbered(sketch, {one.position: one.fault for one in chosen})


def drawn_as(fault: Fault) -> str:
    """The configured kind of a planned fault: some kinds are variants of one."""
    if fault.kind == "error" and fault.permanent:
        return "outage"
    return "truncated" if fault.kind == "partial" and not fault.explicit else fault.kind


def _numbered(sketch: Sketch, at: Mapping[int, Fault]) -> tuple[Fault, ...]:
    """The faults with the numbers that their calls have when earlier faults have made some calls necessary twice."""
    caller = Caller(sketch.lives.reads)
    numbered = []
    for position, call in enumerate(sketch.calls):
        if position in at:
            numbered.append(caller.add(at[position]))
        if not call.withdrawn:
            caller.make(call)
    return tuple(numbered)


def _possible(config: TasksConfig, sketch: Sketch, rng: random.Random) -> Iterator[Planned]:
    """Every fault of a kind that is wanted, at every call where it can be met."""
    answers = _answers(sketch)
    # Refusals come in the words of the tool: in another language they would have to be translated.
    silent = () if tongue_of(sketch.lives.world) == "en" else ("changed",)
    for position, call in enumerate(sketch.calls):
        if call.withdrawn:
            continue
        tool_weight = _weight(config, call.tool)
        for kind, make in _MAKERS.items():
            if not config.faults.get(kind) or not tool_weight or kind in silent:
                continue
            made = make(sketch, position, Fault(tool=call.tool, nth=1, kind="error"), answers, rng)
            if made is not None:
                fault, calls = made
                yield Planned(kind, position, fault, calls, tool_weight, calls is not sketch.calls)


def _weight(config: TasksConfig, tool: str) -> float:
    return next((weight for pattern, weight in config.fault_tools.items() if fnmatch(tool, pattern)), 1.0)


def _answers(sketch: Sketch) -> list[Json]:
    """What each reference call returns without faults; None for refusals."""
    sketch.lives.reset()
    values: list[Json] = []
    for call in sketch.calls:
        result = None if call.withdrawn else sketch.lives.call(call.tool, call.arguments)
        values.append(result.value if result is not None and result.ok else None)
    return values


Made = tuple[Fault, list[ReferenceCall]] | None


def _reads(sketch: Sketch, position: int) -> bool:
    return sketch.lives.world.tool_by_name[sketch.calls[position].tool].annotations.read_only


def _error(sketch: Sketch, position: int, fault: Fault, answers: list[Json], rng: random.Random) -> Made:
    return fault, sketch.calls


def _rate_limit(sketch: Sketch, position: int, fault: Fault, answers: list[Json], rng: random.Random) -> Made:
    return fault.replace(kind="rate_limit", wait=rng.choice(_WAITS)), sketch.calls


def _timeout_before(
    sketch: Sketch, position: int, fault: Fault, answers: list[Json], rng: random.Random
) -> Made:
    if not _reads(sketch, position) and not _visible(sketch.lives, sketch.calls, position):
        return None
    return fault.replace(kind="timeout_before"), sketch.calls


def _timeout_after(
    sketch: Sketch, position: int, fault: Fault, answers: list[Json], rng: random.Random
) -> Made:
    if _reads(sketch, position) or not _visible(sketch.lives, sketch.calls, position):
        return None
    return fault.replace(kind="timeout_after"), sketch.calls


def _partial(sketch: Sketch, position: int, fault: Fault, answers: list[Json], rng: random.Random) -> Made:
    rows = answers[position]
    if not _reads(sketch, position) or not isinstance(rows, list) or len(rows) < 2:
        return None
    return fault.replace(kind="partial"), sketch.calls


def _truncated(sketch: Sketch, position: int, fault: Fault, answers: list[Json], rng: random.Random) -> Made:
    """Cut without a word: only where what is needed is in the part that is left, and the list is not told."""
    rows = answers[position]
    call = sketch.calls[position]
    last = [one for one in sketch.calls if one.goal == call.goal][-1]
    if not _reads(sketch, position) or not isinstance(rows, list) or len(rows) < 4 or last is call:
        return None
    kept = rows[: len(rows) // 2]
    for one in sketch.calls:
        for name, source in one.sources.items():
            if source.kind == "read" and source.step == position:
                value = one.arguments[name]
                if not any(isinstance(row, dict) and row.get(source.column) == value for row in kept):
                    return None
    return fault.replace(kind="partial", explicit=False), sketch.calls


def _stale(sketch: Sketch, position: int, fault: Fault, answers: list[Json], rng: random.Random) -> Made:
    """An answer from the beginning: only where an earlier goal has changed what is read."""
    call = sketch.calls[position]
    if not _reads(sketch, position) or answers[position] is None:
        return None
    sketch.lives.reset()
    first = sketch.lives.call(call.tool, call.arguments)
    if not first.ok or first.value == answers[position]:
        return None
    return fault.replace(kind="stale"), sketch.calls


def _lasts(sketch: Sketch, position: int) -> bool:
    """Whether a fault at a call may last: the call belongs to the last goal, and is not made with a wrong value first."""
    call = sketch.calls[position]
    if any(sketch.facts[one.fact].disclosure == "corrected" for one in call.sources.values() if one.fact):
        return False
    kind = sketch.goals[call.goal].kind
    return call.goal == len(sketch.goals) - 1 and kind in ("act", "ask") and call.error is None


def _lasting(kind: str) -> Callable[[Sketch, int, Fault, list[Json], random.Random], Made]:
    def make(sketch: Sketch, position: int, fault: Fault, answers: list[Json], rng: random.Random) -> Made:
        if not _lasts(sketch, position):
            return None
        # With the same tool called before in the same goal, calls made side by side could meet it in another order.
        if any(one.tool == fault.tool for one in sketch.calls[position + 1 :]):
            return None
        stopped = sketch.calls[position].replace(error=REFUSES[kind], fact=None)
        lasting = fault.replace(kind=kind, permanent=True)
        return lasting, [*sketch.calls[:position], stopped]

    return make


def _changed(sketch: Sketch, position: int, fault: Fault, answers: list[Json], rng: random.Random) -> Made:
    """Somebody else does the same thing first, after which it is refused with a declared error."""
    call = sketch.calls[position]
    if _reads(sketch, position) or not _lasts(sketch, position):
        return None
    sketch.lives.reset()
    for one in sketch.calls[: position + 1]:
        if not one.withdrawn:
            sketch.lives.call(one.tool, one.arguments)
    again = sketch.lives.call(call.tool, call.arguments)
    declared = {error.code for error in sketch.lives.world.tool_by_name[call.tool].errors}
    if again.ok or again.error is None or again.error[0] not in declared:
        return None
    meddled = fault.replace(kind="changed", by=(Call(tool=call.tool, arguments=call.arguments),))
    return meddled, [*sketch.calls[:position], call.replace(error=again.error[0])]


_MAKERS: dict[str, Callable[[Sketch, int, Fault, list[Json], random.Random], Made]] = {
    "error": _error,
    "rate_limit": _rate_limit,
    "timeout_before": _timeout_before,
    "timeout_after": _timeout_after,
    "partial": _partial,
    "truncated": _truncated,
    "stale": _stale,
    "denied": _lasting("denied"),
    "outage": _lasting("error"),
    "changed": _changed,
}


def _visible(lives: Lives, calls: Sequence[ReferenceCall], position: int) -> bool:
    """Whether reading again shows if a write took place: the last lookup before it answers as it did until the write,
    and something else after it."""
    lives.reset()
    last: tuple[ReferenceCall, Json] | None = None
    for call in calls[:position]:
        if call.withdrawn:
            continue
        result = lives.call(call.tool, call.arguments)
        if result.ok and lives.world.tool_by_name[call.tool].annotations.read_only:
            last = call, result.value
    if last is None:
        return False
    before = lives.call(last[0].tool, last[0].arguments).value
    write = lives.call(calls[position].tool, calls[position].arguments)
    after = lives.call(last[0].tool, last[0].arguments)
    return write.ok and bool(before == last[1]) and after.ok and bool(after.value != before)


def unanswered(sketch: Sketch, faults: Sequence[Fault]) -> set[int]:
    """Goals whose result is lost on the way, so that nobody can be asked to tell it."""
    caller = Caller(sketch.lives.reads, faults)
    for call in sketch.calls:
        if not call.withdrawn:
            caller.make(call)
    return caller.lost
