"""A simulator that repeats what was recorded: a trajectory's results, and the changes between its states."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence

from pipeline.records import Json, Scene, SimulatedCall, Snapshot, ToolSpec, Trajectory, World, canonical_json
from pipeline.worlds.cassette import Recorded
from pipeline.worlds.simulated.programs import patch_of
from pipeline.worlds.sql import RowChange, SqlWorld


class RecordedSimulator:
    """Answers each call of one trajectory as it was answered then; the engine validates it anew.

    `snapshots` are the recorded states by reference, the first one included; `cassette` holds the answers that the host
    gave, also those that a fault kept from the agent. What somebody else changed before a call is part of that call's
    patch: his own calls have no answer here, and change nothing.
    """

    name = "recorded"

    def __init__(
        self,
        world: World,
        trajectory: Trajectory,
        snapshots: Mapping[str, Snapshot],
        cassette: Sequence[Recorded] = (),
    ) -> None:
        self._known: dict[tuple[str, str, str], SimulatedCall] = {}
        live = SqlWorld(world)
        asked = {call.id: call for event in trajectory.events for call in event.calls}
        tables = live.runtime.image.tables

        def patch(before: str, after: str) -> tuple[dict[str, Json], ...]:
            start, end = _changes(live, snapshots.get(before)), _changes(live, snapshots.get(after))
            return patch_of(start, end, tables)

        try:
            for one in cassette:
                said = one.result
                if said.before in snapshots and said.after in snapshots:
                    key = (said.before, one.tool, canonical_json(one.arguments))
                    changed = patch(said.before, said.after)
                    self._known[key] = SimulatedCall(said.value, said.error, () if said.error else changed)
            for event in trajectory.events:
                call = asked.get(event.call_id)
                lost = event.fault is not None and event.fault.kind != "changed"
                if event.role != "tool" or call is None or lost or event.before not in snapshots:
                    continue
                key = (event.before, event.name, canonical_json(call.arguments or {}))
                if key not in self._known:
                    answer = _answer(event.content, bool(event.ok), patch(event.before, event.after))
                    self._known[key] = answer
        finally:
            live.close()

    async def answer(
        self,
        tool: ToolSpec,
        arguments: dict[str, Json],
        scene: Scene,
        tried: Sequence[tuple[SimulatedCall, str]] = (),
    ) -> SimulatedCall:
        """What was answered in this state; a problem where nothing was recorded."""
        key = (scene.snapshot.ref, tool.name, canonical_json(arguments))
        return self._known.get(
            key, SimulatedCall(problem="Nothing was recorded for this call in this state.")
        )


def _changes(live: SqlWorld, snapshot: Snapshot | None) -> list[RowChange]:
    if snapshot is None:
        return []
    live.restore(snapshot)
    return live.changes()


def _answer(content: str, ok: bool, patch: Iterable[dict[str, Json]]) -> SimulatedCall:
    try:
        value = json.loads(content)
    except ValueError:
        return SimulatedCall(problem="The recorded answer was cut for length.")
    if ok:
        return SimulatedCall(result=value, patch=tuple(patch))
    return SimulatedCall(error=(str(value["error"]), str(value["message"])))
