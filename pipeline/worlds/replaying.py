"""Recorded calls of real servers made again, on the server or on a played host: which are answered alike."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pipeline.records import Failure, Json, ToolSpec, canonical_json
from pipeline.worlds.host import ToolHost
from pipeline.worlds.live import LiveHost
from pipeline.worlds.server_pool import Servers
from pipeline.worlds.simulated.fidelity import alike
from pipeline.worlds.simulated.results import complaints

_TIME = re.compile(r"\d{1,4}[-:.]\d{1,2}[-:.]\d{1,4}|\b\d{9,}\b|T\d\d:|\bP[T\d]")


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """A call with the answer that was seen: its value, or the code of a refusal."""

    tool: ToolSpec
    arguments: dict[str, Json]
    ok: bool
    value: Json
    code: str = ""
    index: int = 0


@dataclass(frozen=True, slots=True)
class AnsweredAgain:
    """One recorded call and what is said now. `fits` is None without an output schema.

    A server's state shows in what is read after something was written: `state` is whether such a reading call is
    answered alike, and None for all others.
    """

    call: RecordedCall
    outcome: bool
    fits: bool | None
    values: bool
    got: str
    why: str = ""
    """Where the answers differ: `outcome`, `time` (only in dates, times and durations), `order`, or `values`."""
    state: bool | None = None

    @property
    def alike(self) -> bool:
        return self.outcome and self.values


async def replay_session(calls: Sequence[RecordedCall], servers: Servers) -> list[AnsweredAgain]:
    """The calls of one trajectory, in order, on servers of its own. Raises HostError when one is lost."""
    tools = {call.tool.name: call.tool for call in calls}
    host = await LiveHost.open(list(tools.values()), servers)
    try:
        return await answered_again(calls, host)
    finally:
        await host.close()


async def answered_again(calls: Sequence[RecordedCall], host: ToolHost) -> list[AnsweredAgain]:
    """The calls, in order, on a fresh host."""
    found: list[AnsweredAgain] = []
    written = False
    for call in calls:
        now = await host.call(call.tool.name, call.arguments)
        code = (now.error or ("",))[0]
        outcome = now.ok == call.ok and code != Failure.SIMULATOR_DEFECT
        values = outcome and (alike(call.value, now.value) if now.ok else True)
        fits = None
        if call.tool.output_schema and now.ok and call.ok:
            fits = not complaints(call.tool.output_schema, now.value)
        why = "" if outcome and values else "outcome" if not outcome else _why(call.value, now.value)
        reads = call.tool.annotations.read_only
        state = outcome and values if reads and written else None
        written = written or not reads
        found.append(AnsweredAgain(call, outcome, fits, values, "ok" if now.ok else code, why, state))
    return found


def _why(left: Json, right: Json) -> str:
    differences = list(_differences(left, right))
    if differences and all(_TIME.search(text) for pair in differences for text in pair):
        return "time"
    return "order" if sorted(_leaves(left)) == sorted(_leaves(right)) else "values"


def _differences(left: Json, right: Json) -> Iterator[tuple[str, str]]:
    if isinstance(left, dict) and isinstance(right, dict):
        for key in sorted(left.keys() | right.keys()):
            yield from _differences(left.get(key), right.get(key))
    elif isinstance(left, list) and isinstance(right, list) and len(left) == len(right):
        for one, other in zip(left, right, strict=True):
            yield from _differences(one, other)
    elif left != right:
        if isinstance(left, str) and isinstance(right, str):
            lines = zip(left.splitlines(), right.splitlines(), strict=False)
            changed = [(one, other) for one, other in lines if one != other]
            if len(left.splitlines()) == len(right.splitlines()) and changed:
                yield from changed
                return
        yield canonical_json(left), canonical_json(right)


def _leaves(value: Json) -> Iterator[str]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from (f"{key}={leaf}" for leaf in _leaves(item))
    elif isinstance(value, list):
        for item in value:
            yield from _leaves(item)
    elif isinstance(value, str):
        yield from value.splitlines()
    else:
        yield canonical_json(value)
