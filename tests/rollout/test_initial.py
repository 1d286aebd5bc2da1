"""A task's initial state: applied when its host opens, the ground of `changes`, kept over a pause."""

from __future__ import annotations

import pytest

from pipeline.judging.states import state_verdicts
from pipeline.records import StateCheck, Value, WorldError
from pipeline.teacher.policy import TeacherPolicy
from pipeline.worlds.sql import SqlHost
from tests.rollout.scripts import Journal, call, calls, play, tasks, world

WITHOUT = ("update bikes set status = 'repair' where size = 'small'",)


async def test_the_agent_meets_the_initial_state() -> None:
    look = [call("list_bikes", {"size": "small"})]
    seed = await play(calls(*look))
    assert seed.results[0].content != "[]"
    task = tasks()[0].replace(initial=WITHOUT)
    played = await play(calls(*look), task=task)
    assert played.results[0].content == "[]"
    first = next(iter(played.episode.snapshots.values()))
    assert first.rows, "the first snapshot holds the difference to the seed"
    checks = [
        StateCheck(name="none", sql="select count(*) = 0 from changes"),
        StateCheck(
            name="away", sql="select count(*) = 0 from bikes where size = 'small' and status <> 'repair'"
        ),
    ]
    assert [one.value for one in state_verdicts(checks, world(), first, WITHOUT)] == [Value.PASS, Value.PASS]
    assert state_verdicts(checks, world(), first)[0].value is Value.FAIL, "the seed is another ground"


async def test_a_killed_episode_goes_on_in_its_own_state() -> None:
    task = tasks("act", 2)[1].replace(initial=("update members set name = name || ' jr'",))
    whole = await play(TeacherPolicy(task, world(), "i"), task=task)
    for limit in (2, 5, len(whole.trajectory.events) - 1):
        journal = Journal(limit)
        with pytest.raises(Journal.Killed):
            await play(TeacherPolicy(task, world(), "i"), task=task, commit=journal.commit)
        resumed = await play(
            TeacherPolicy(task, world(), "i"),
            task=task,
            done_before=journal.events,
            snapshots_before=journal.snapshots,
        )
        assert resumed.trajectory == whole.trajectory


def test_a_broken_statement_is_named() -> None:
    with pytest.raises(WorldError, match="initial statement fails"):
        SqlHost(world(), ("update nothing set x = 1",))
