"""Replay names the first thing in a record that is not what happens, whatever was changed in it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pipeline.config import load_config
from pipeline.config.trajectories import LimitsConfig
from pipeline.records import Event, InjectedFault, RunError, Trajectory
from pipeline.stages.replay import Replayed, replay, replay_trajectory
from pipeline.store import RunFolder, task_row, trajectory_rows, world_row
from tests.rollout.scripts import Played, call, calls, play, tasks, world

Change = Callable[[list[Event], int], None]


def _played() -> Played:
    """An episode with at least two calls, one of which changes something."""
    for task in tasks():
        played = asyncio.run(play(task=task))
        if played.changed and len(played.results) > 1:
            return played
    raise AssertionError("no task of the sample changes anything")


def _set(**values: Any) -> Change:
    def change(events: list[Event], at: int) -> None:
        events[at] = events[at].replace(**values)

    return change


def _other_arguments(events: list[Event], at: int) -> None:
    asked = events[at - 1]
    made = asked.calls[0].replace(arguments={"nobody": 1}, raw='{"nobody": 1}')
    events[at - 1] = asked.replace(calls=(made, *asked.calls[1:]))


def _no_json(events: list[Event], at: int) -> None:
    asked = events[at - 1]
    made = asked.calls[0].replace(arguments=None, raw="{")
    events[at - 1] = asked.replace(calls=(made, *asked.calls[1:]))


def _without_result(events: list[Event], at: int) -> None:
    del events[at]
    events[at:] = [event.replace(index=event.index - 1) for event in events[at:]]


def _gone(events: list[Event], at: int) -> None:
    del events[at]


def _without_call(events: list[Event], at: int) -> None:
    events[at - 1] = events[at - 1].replace(calls=(), content="One moment.")


def _cut_short(events: list[Event], at: int) -> None:
    del events[at:]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (_set(content='{"forged": true}'), 'recorded {"forged": true} but now {'),
        (_set(before="snap_0"), "the state before was snap_0 and is snap_"),
        (_set(after="snap_0"), "the state after was snap_0 and is snap_"),
        (_set(ok=False, error_code="GONE"), "its outcome was GONE and is ok: True"),
        (_set(name="fly"), "is due"),
        (_set(call_id="nobody"), "the result of nobody (find_member) is there, where that of"),
        (_set(fault=InjectedFault(tool="t", nth=1, kind="error")), "its fault was error and is none"),
        (_other_arguments, "but now"),
        (_no_json, "INVALID_JSON"),
        (_without_call, "a result that no call has asked for"),
        (_without_result, "is due, and a message of the"),
        (_gone, "it is not there; the record goes on with event"),
        (_cut_short, "has no result"),
    ],
    ids=["content", "before", "after", "outcome", "name", "call id", "fault", "arguments", "no json",
         "call gone", "result gone", "event gone", "cut short"],
)  # fmt: skip
def test_the_first_difference_is_named(change: Change, says: str) -> None:
    played = _played()
    trajectory = played.trajectory
    assert asyncio.run(replay(trajectory, played.task, world())).same
    at = next(event.index for event in trajectory.events if event.role == "tool")
    events = list(trajectory.events)
    change(events, at)
    told = asyncio.run(replay(trajectory.replace(events=tuple(events)), played.task, world()))
    assert not told.same
    assert says in told.text
    if change is not _cut_short:
        assert f"event {at}" in told.text


def test_what_the_engine_refused_is_refused_again() -> None:
    made = [call("list_bikes", {"size": "small"}, id=f"c{n}") for n in range(4)]
    more = [
        call("fly", {}, id="f"),
        call("list_bikes", raw="{", id="j"),
        call("list_bikes", raw="x" * 2000, id="l"),
    ]
    limits = LimitsConfig(calls_per_turn=6, argument_chars=1000)
    played = asyncio.run(play(calls(*more, *made), limits=limits))
    told = asyncio.run(replay(played.trajectory, played.task, world(), limits))
    assert (told.same, told.calls) == (True, 7), told.text
    other = asyncio.run(replay(played.trajectory, played.task, world(), LimitsConfig(argument_chars=1000)))
    assert "At most 6 calls in one turn" in other.text, "the sixth call was refused, and is none to refuse"


def _stored(place: Path, change: Callable[[dict[str, list[dict[str, Any]]]], None]) -> Replayed:
    """A run with one trajectory, some of whose rows are not what they were."""
    played = _played()
    trajectory: Trajectory = played.trajectory
    config = load_config(None, {"data": str(place)}, {})
    folder = RunFolder.create(place, "r", "trajectories", config.seed, config.to_yaml())
    folder.write_shard("worlds", 0, {"worlds": [world_row(world())]})
    folder.write_shard("tasks", 0, {"tasks": [task_row(played.task, domain="a/b/c")]})
    rows = trajectory_rows(
        trajectory,
        played.judgement,
        played.task,
        snapshots=list(played.episode.snapshots.values()),
        seconds=1.0,
    )
    change(rows)
    folder.write_shard("trajectories", 0, rows)
    return asyncio.run(replay_trajectory(place, trajectory.id))


def test_a_stored_record_replays(tmp_path: Path) -> None:
    told = _stored(tmp_path, lambda rows: None)
    assert told.same, told.text


@pytest.mark.parametrize(
    ("field", "value"),
    [("content", "Said by nobody."), ("loss", True), ("reasoning", "x"), ("tokens_out", 10**6)],
)
def test_words_that_cannot_be_made_again_are_held_against_the_hash(
    tmp_path: Path, field: str, value: Any
) -> None:
    def change(rows: dict[str, list[dict[str, Any]]]) -> None:
        rows["events"][1][field] = value

    told = _stored(tmp_path, change)
    assert not told.same
    assert "the record is not the one that was written: its content was th_" in told.text


def test_a_record_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    def change(rows: dict[str, list[dict[str, Any]]]) -> None:
        next(row for row in rows["events"] if row["calls"] != "[]")["calls"] = "[{"

    with pytest.raises(RunError, match=r"The event \d+ of trajectory traj_\w+ cannot be read"):
        _stored(tmp_path, change)
