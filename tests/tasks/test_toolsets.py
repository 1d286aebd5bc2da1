"""Toolsets of several worlds: names, states apart, distractors that must be left alone, goals in two worlds."""

from __future__ import annotations

import random
from collections.abc import Collection

from pipeline.config.tasks import TasksConfig
from pipeline.config.trajectories import LimitsConfig
from pipeline.judging.judge import judge
from pipeline.records import AgentTurn, Judgement, Policy, Task, ToolSpec, Value, World
from pipeline.rollout.episode import Episode
from pipeline.stages.replay import replay_on
from pipeline.tasks.toolsets import Surroundings
from pipeline.teacher.author import TeacherAuthor
from pipeline.teacher.policy import TeacherPolicy
from pipeline.teacher.user import TeacherUser
from pipeline.worlds.mixed import MixedHost, MixedWorld, compose, open_host, shown_names, task_world
from tests.rollout.scripts import call
from tests.worlds.families import bikes, transfers

WORLDS: dict[str, World] = {world.id: world for world in (bikes(), transfers())}


def _similar(tool: ToolSpec, count: int, beside: Collection[ToolSpec]) -> list[ToolSpec]:
    """All tools of the other world: the order does not matter here."""
    own = next(world for world in WORLDS.values() if tool.name in world.tool_by_name)
    return [one for world in WORLDS.values() if world.id != own.id for one in world.tools][:count]


async def _tasks(kind: str, count: int = 12, **more: object) -> list[Task]:
    config = TasksConfig.model_validate(
        {
            "toolsets": {kind: 1.0},
            "distractors": {3: 1.0},
            "goal_kinds": {"act": 1.0},
            "fault_rate": 0.0,
            **more,
        }
    )
    author = TeacherAuthor(config, Surroundings(list(WORLDS.values()), _similar))
    return await author.tasks(bikes(), count, 5)


async def _play(task: Task, policy: Policy | None = None) -> tuple[Judgement, Episode]:
    world = task_world(task, WORLDS)
    host = open_host(world)
    try:
        episode = Episode(
            task, 0, 1, policy or TeacherPolicy(task, world, "x"), TeacherUser(task, world, "x"), host, LimitsConfig()
        )  # fmt: skip
        trajectory = await episode.run()
        final = host.snapshot()
    finally:
        await host.close()
    again = await replay_on(open_host(world), trajectory, task)
    assert again.same, again.text
    return await judge(task, trajectory, final, world), episode


async def test_distractors_are_offered_and_left_alone() -> None:
    tasks = [task for task in await _tasks("mixed") if len(task.agent.toolset.worlds) == 2]
    assert tasks
    for task in tasks[:6]:
        assert task.axes["distractors"] == len(task.agent.toolset.tools) - len(bikes().tools)
        judgement, _ = await _play(task)
        assert judgement.passed, judgement.reason


async def test_a_change_in_a_world_that_only_lends_tools_fails() -> None:
    task = next(t for t in await _tasks("mixed") if "settle" in {tool.name for tool in t.agent.toolset.tools})
    world = task_world(task, WORLDS)
    honest = TeacherPolicy(task, world, "x")
    meddling = AgentTurn(calls=(call("settle", {"order_ref": "OR-101"}),))

    class Meddler:
        """The teacher, with one change too many at the beginning."""

        async def act(self, messages, tools):  # type: ignore[no-untyped-def]
            kept = [m for m in messages if not any(one.name == "settle" for one in m.calls)]
            kept = [m for m in kept if not (m.role == "tool" and "OR-101" in m.content)]
            return meddling if len(kept) == len(messages) == 2 else await honest.act(kept, tools)

    judgement, episode = await _play(task, Meddler())
    assert judgement.value is Value.FAIL
    failed = {one.check for one in judgement.verdicts if one.value is Value.FAIL}
    assert any(name.startswith("nothing changes in") for name in failed), failed
    assert episode.snapshots


async def test_goals_in_two_worlds() -> None:
    tasks = await _tasks("two", 6, goal_counts={2: 1.0})
    both = [task for task in tasks if task.axes["worlds"] == 2]
    for task in both:
        assert any(check.kind == "state" and check.world for check in task.rubric.checks)
        judgement, _ = await _play(task)
        assert judgement.passed, judgement.reason


def test_names_are_a_function_of_the_worlds_in_order() -> None:
    twice = [bikes(), transfers(), bikes()]
    names = shown_names(twice)
    assert len(names) == sum(len(world.tools) for world in twice)
    assert names["find_member"] == (0, "find_member")
    assert names["bike-hire_find_member"] == (2, "find_member")
    assert set(shown_names(twice[:2])) < set(names)


async def test_a_mixed_host_returns_to_any_of_its_states() -> None:
    world = compose([bikes(), transfers()])
    assert isinstance(world, MixedWorld)
    host = MixedHost(world)
    start = host.snapshot()
    assert start.parts == ()
    first = await host.call("settle", {"order_ref": "OR-101"})
    settled = host.snapshot()
    assert first.after == settled.ref != start.ref
    assert [part.world for part in settled.parts] == [transfers().id]
    host.advance(60)
    await host.call("settle", {"order_ref": "OR-202"})
    await host.restore(settled)
    assert (host.ref, host.snapshot()) == (settled.ref, settled)
    await host.restore(start)
    assert host.ref == start.ref
    assert (await host.call("settle", {"order_ref": "OR-101"})).after == settled.ref
    assert (await host.call("nothing", {})).error
    await host.close()


def test_a_single_world_stays_itself() -> None:
    assert compose([bikes()]) is not None
    assert compose([bikes()]).id == bikes().id
    assert Surroundings().distractors([bikes()], ["find_member"], 5, random.Random(1)) == []
