"""Episodes that were killed or paused go on from their last committed event, as if nothing had happened."""

from __future__ import annotations

import random
from typing import Any

import pytest

from pipeline.config.trajectories import LimitsConfig
from pipeline.records import AgentTurn, EndReason, Fault, Task
from pipeline.teacher.flaws import plant
from pipeline.teacher.policy import TeacherPolicy
from tests.rollout.scripts import Journal, Scripted, call, play, tasks, world


async def _killed(task: Task, limit: int, make: Any) -> Journal:
    journal = Journal(limit)
    with pytest.raises(Journal.Killed):
        await play(make(), task=task, commit=journal.commit)
    return journal


@pytest.mark.parametrize("number", range(6))
async def test_killed_after_any_event_it_ends_the_same(number: int) -> None:
    task = tasks("act", 2, 1.0)[number]
    flaw_seed = random.Random(number)

    def make() -> TeacherPolicy:
        flaw = plant(task, random.Random(number)) if number % 2 else None
        return TeacherPolicy(task, world(), "resume", flaw)

    whole = await play(make(), task=task)
    events = whole.trajectory.events
    for limit in sorted({1, 2, len(events) - 1, *flaw_seed.sample(range(1, len(events)), 6)}):
        journal = await _killed(task, limit, make)
        resumed = await play(
            make(), task=task, done_before=journal.events, snapshots_before=journal.snapshots
        )
        assert resumed.trajectory == whole.trajectory
        assert resumed.judgement == whole.judgement
        assert resumed.changed == whole.changed


async def test_killed_between_parallel_calls_the_rest_are_made() -> None:
    made = tuple(call("list_bikes", {"size": size}, id=size) for size in ("small", "medium", "large"))
    turns = [AgentTurn(calls=made), AgentTurn(content="Sorry, I can't do that.")]

    def make() -> Scripted:
        return Scripted(turns)

    task = tasks()[0]
    whole = await play(make(), task=task)
    position = next(e.index for e in whole.trajectory.events if e.role == "tool")
    for limit in (position, position + 1, position + 2):
        journal = await _killed(task, limit, make)
        rest = Scripted(turns[1:])
        resumed = await play(rest, task=task, done_before=journal.events, snapshots_before=journal.snapshots)
        assert resumed.trajectory.events == whole.trajectory.events
        assert [event.call_id for event in resumed.results] == ["small", "medium", "large"]


async def test_faults_are_counted_over_a_pause_also_for_refused_calls() -> None:
    """The third call of a tool meets its fault, though the first was refused before it reached the host."""
    task = tasks()[0].replace(faults=(Fault(tool="find_member", nth=3, kind="error"),))
    turns = [
        AgentTurn(calls=(call("find_member", raw="{", id="a"),)),
        AgentTurn(calls=(call("find_member", {"phone": "1"}, id="b"),)),
        AgentTurn(calls=(call("find_member", {"phone": "2"}, id="c"),)),
        AgentTurn(content="Sorry, I can't do that."),
    ]
    whole = await play(Scripted(turns), task=task)
    assert whole.codes == ["INVALID_JSON", "NOT_FOUND", "UNAVAILABLE"]
    for limit in range(3, 8):
        journal = await _killed(task, limit, lambda: Scripted(turns))
        done = sum(1 for event in journal.events if event.role == "assistant")
        resumed = await play(
            Scripted(turns[done:]), task=task, done_before=journal.events, snapshots_before=journal.snapshots
        )
        assert resumed.codes == whole.codes


async def test_a_loop_over_a_pause_is_one() -> None:
    task = tasks()[0]
    turn = AgentTurn(calls=(call("find_member", {"phone": "1"}),))
    journal = await _killed(task, 6, lambda: Scripted([turn]))
    resumed = await play(
        Scripted([turn]), task=task, done_before=journal.events, snapshots_before=journal.snapshots
    )
    assert resumed.trajectory.end_reason is EndReason.AGENT_LOOP
    assert len(resumed.results) == 5


@pytest.mark.parametrize("number", range(3))
async def test_paused_again_and_again_it_ends_the_same(number: int) -> None:
    task = tasks("act", 2, 1.0)[number]
    whole = await play(TeacherPolicy(task, world(), "pause"), task=task)
    journal = Journal(10_000)
    more: dict[str, Any] = {}
    for _ in range(100):
        part = await play(
            TeacherPolicy(task, world(), "pause"),
            task=task,
            limits=LimitsConfig(pause_after_turns=1),
            commit=journal.commit,
            **more,
        )
        if part.trajectory.end_reason is not EndReason.PAUSED:
            break
        more = {"done_before": list(journal.events), "snapshots_before": journal.snapshots}
    assert part.trajectory.end_reason is whole.trajectory.end_reason
    assert part.trajectory.events == whole.trajectory.events
    assert journal.events == list(whole.trajectory.events)
