"""Users who think again, look things up or speak another language, and faults that last: the teacher gets through."""

from __future__ import annotations

import random
from collections import Counter
from functools import lru_cache

import pytest

from pipeline.assets import asset
from pipeline.config.tasks import FAULTS, TasksConfig
from pipeline.config.trajectories import LimitsConfig
from pipeline.judging.hacks import language_of
from pipeline.judging.judge import judge
from pipeline.records import Judgement, Task, Trajectory, World
from pipeline.rollout.episode import Episode
from pipeline.teacher.author import TeacherAuthor
from pipeline.teacher.flaws import Flaw
from pipeline.teacher.policy import TeacherPolicy
from pipeline.teacher.user import TeacherUser
from pipeline.worlds.load import load_world
from pipeline.worlds.mixed import open_host


@lru_cache(maxsize=1)
def library() -> World:
    return load_world(asset("tools_repo/worlds/library.yaml"))


async def _tasks(count: int, world: World | None = None, **config: object) -> list[Task]:
    given = {
        "toolsets": {"own": 1.0},
        "languages": {"en": 1.0},
        "fault_rate": 0.0,
        "change_rate": 0.0,
        **config,
    }
    return await TeacherAuthor(TasksConfig.model_validate(given)).tasks(world or library(), count, 3)


async def _play(
    task: Task, flaw: Flaw | None = None, world: World | None = None
) -> tuple[Trajectory, Judgement]:
    world = world or library()
    host = open_host(world, task.initial)
    try:
        policy, user = TeacherPolicy(task, world, "minds", flaw), TeacherUser(task, world, "minds")
        trajectory = await Episode(task, 0, 1, policy, user, host, LimitsConfig()).run()
        final = host.snapshot()
    finally:
        await host.close()
    return trajectory, await judge(task, trajectory, final, world)


async def test_changes_of_mind() -> None:
    tasks = [t for t in await _tasks(60, change_rate=1.0) if t.axes["changes_of_mind"]]
    acts: Counter[str] = Counter()
    for task in tasks:
        trajectory, judgement = await _play(task)
        assert judgement.passed, judgement.reason
        notes = [event.note for event in trajectory.events]
        acts["change"] += "act:change" in notes
        acts["decline"] += "act:decline" in notes
        if "act:decline" in notes:
            final = task.reference[-1]
            assert final.withdrawn
            assert final.tool not in [event.name for event in trajectory.events if event.ok]
    assert acts["change"]
    assert acts["decline"]


async def test_users_look_things_up_on_their_side() -> None:
    tasks = [t for t in await _tasks(25, device_rate=1.0) if t.axes["user_lookups"]]
    assert tasks
    for task in tasks[:8]:
        fact = next(one for one in task.facts if one.device)
        trajectory, judgement = await _play(task)
        assert judgement.passed, judgement.reason
        found = [(event, one) for event in trajectory.events for one in event.lookups]
        assert [one.tool for _, one in found] == [fact.device]
        event, one = found[0]
        assert (event.role, one.result) == ("user", {"found": fact.spoken})
        assert fact.spoken in event.content
        assert not any(fact.spoken in earlier.content for earlier in trajectory.events[: event.index])


@pytest.mark.parametrize("name", ["bank_ledger", "smart_home"])
async def test_users_do_something_on_a_device_of_their_own_when_asked(name: str) -> None:
    world = load_world(asset(f"tools_repo/worlds/{name}.yaml"))
    tasks = [t for t in await _tasks(60, world, goal_kinds={"act": 1.0}) if t.axes["user_deeds"]]
    assert tasks
    for task in tasks[:4]:
        trajectory, judgement = await _play(task, world=world)
        assert judgement.passed, judgement.reason
        done = [one for event in trajectory.events for one in event.lookups if one.result == {"done": True}]
        assert [one.tool for one in done] == [one for goal in task.goals for one in goal.devices]
        goal = next(number for number, goal in enumerate(task.goals) if goal.devices)
        _, skipped = await _play(task, Flaw("skipped_confirmation", goal, random.Random(1)), world)
        assert not skipped.passed, "a deed that the user was never asked for is claimed"


@pytest.mark.parametrize("kind", FAULTS)
async def test_every_kind_of_fault(kind: str) -> None:
    tasks = [
        t for t in await _tasks(16, fault_rate=1.0, faults={kind: 1.0}, goal_counts={2: 1.0}) if t.faults
    ]
    assert tasks or kind in ("stale", "truncated", "changed"), kind
    for task in tasks[:6]:
        trajectory, judgement = await _play(task)
        assert judgement.passed, judgement.reason
        met = [event for event in trajectory.events if event.fault]
        assert met
        assert met[0].fault
        assert met[0].fault.kind == task.faults[0].kind
        if kind in ("denied", "outage"):
            assert task.goals[-1].kind == "blocked"
            assert len(met) == 1, "it gives up at once"


async def test_several_faults_in_one_task_are_all_met() -> None:
    """Each with the number that its call has after the repetitions that earlier ones made necessary."""
    tasks = await _tasks(20, fault_rate=1.0, fault_counts={3: 1.0}, goal_counts={2: 1.0})
    several = [task for task in tasks if len(task.faults) == 3]
    assert several
    for task in several:
        trajectory, judgement = await _play(task)
        assert judgement.passed, judgement.reason
        met = [event.fault for event in trajectory.events if event.fault]
        assert [(one.tool, one.nth, one.kind) for one in met] == [
            (one.tool, one.nth, one.kind) for one in task.faults
        ]


@pytest.mark.parametrize("language", ["de", "es", "fr"])
@pytest.mark.parametrize("name", ["library", "clinic", "bank_ledger", "hotel"])
async def test_other_languages(name: str, language: str) -> None:
    world = load_world(asset(f"tools_repo/worlds/{name}.yaml"))
    tasks = await _tasks(6, world, languages={language: 1.0})
    assert {task.persona.language for task in tasks} == {language}
    heard: Counter[str] = Counter()
    for task in tasks:
        trajectory, judgement = await _play(task, world=world)
        assert judgement.passed, judgement.reason
        heard.update(language_of(e.content) for e in trajectory.events if e.role == "user")
    assert heard[language] > 3
    assert heard[language] >= 0.85 * (heard.total() - heard[""])


async def test_who_says_it_went_through_without_looking_is_refused() -> None:
    """The time-out came after the commit, so that the claim is true; but the agent cannot know."""
    tasks = await _tasks(16, fault_rate=1.0, faults={"timeout_after": 1.0}, goal_counts={1: 1.0})
    seen = 0
    for task in [task for task in tasks if task.faults and task.goals[0].kind == "act"][:8]:
        _, judgement = await _play(task)
        assert judgement.passed, judgement.reason
        trajectory, judgement = await _play(task, Flaw("ignored_error", 0, random.Random(1)))
        if trajectory.planted:
            seen += 1
            assert not judgement.passed, trajectory.events[-1]
    assert seen
