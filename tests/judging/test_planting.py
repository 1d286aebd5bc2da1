"""Every flaw is caught, every harmless variation passes, and what is planted is really there."""

from __future__ import annotations

import random

import pytest

from pipeline.judging.calibration import calibrate
from pipeline.judging.judge import judge
from pipeline.judging.planting import FLAWS, HARMLESS, Story
from pipeline.records import Judge, PolicyCheck, ReplyCheck, Task, Trajectory, Value, Verdict


def test_the_catalogue_is_large_enough() -> None:
    assert len(FLAWS) >= 16


async def test_a_story_told_again_is_the_same(stories: list[Story]) -> None:
    for story in stories[:10]:
        told = await story.tell(story.script)
        assert told.final.state == story.final_state
        assert [e.content for e in told.trajectory.events] == [e.content for e in story.trajectory.events]


@pytest.mark.parametrize("kind", sorted(FLAWS))
async def test_planted_flaws_are_found(kind: str, stories: list[Story]) -> None:
    planted = missed = 0
    for story in stories:
        told = await FLAWS[kind].plant(story, random.Random(f"{kind}{story.trajectory.id}"))
        if told is None:
            continue
        assert told.trajectory.planted == (kind,)
        if FLAWS[kind].touches == "state":
            assert told.final.state != story.final_state
        judgement = await judge(told.task, told.trajectory, told.final, story.world)
        planted += 1
        missed += judgement.value is Value.PASS
    assert planted >= (1 if kind in ("stale_read", "hidden_terms", "policy_breach") else 3)
    assert missed <= max(1, planted // 20)


@pytest.mark.parametrize("kind", sorted(HARMLESS))
async def test_harmless_variations_pass(kind: str, stories: list[Story]) -> None:
    varied = 0
    for story in stories:
        told = await HARMLESS[kind](story, random.Random(f"{kind}{story.trajectory.id}"))
        if told is None:
            continue
        judgement = await judge(told.task, told.trajectory, told.final, story.world)
        assert judgement.value is Value.PASS, judgement.reason
        varied += 1
    assert varied or kind == "other_order"


class Fixed:
    """A judge that always says the same, with evidence."""

    def __init__(self, name: str, value: Value) -> None:
        self.name, self.value = name, value

    async def judge(
        self,
        task: Task,
        trajectory: Trajectory,
        criteria: list[ReplyCheck | PolicyCheck],
        changes: str = "",
    ) -> list[Verdict]:
        assert trajectory.planted == ()
        assert not any(event.note.startswith("flaw") for event in trajectory.events)
        return [
            Verdict(check=c.name, kind=c.kind, value=self.value, evidence=(1,), judge=self.name)
            for c in criteria
        ]


async def test_a_calibration_measures_each_judge(stories: list[Story]) -> None:
    judges: list[Judge] = [
        Fixed("kind", Value.PASS),
        Fixed("harsh", Value.FAIL),
        Fixed("shy", Value.UNSCORED),
    ]
    measured = await calibrate(stories[:12], judges=judges, per_judge=2, per_kind=3)
    figures = measured.to_json()
    assert figures["by_judge"]["kind"]["misses"]["share"] == 1
    assert figures["by_judge"]["kind"]["false_alarms"]["share"] == 0
    assert figures["by_judge"]["harsh"]["misses"]["share"] == 0
    assert figures["by_judge"]["harsh"]["false_alarms"]["share"] == 1
    assert figures["by_judge"]["shy"]["abstentions"]["share"] == 1
    assert figures["n_flawed"] == sum(kind["n"] for kind in figures["by_kind"].values())
    assert figures["n_clean"] > 0
    assert all(kind["n"] <= 3 for kind in figures["by_kind"].values())
    low, high = figures["misses_ci95"]
    assert low <= figures["misses"] <= high


async def test_equal_seeds_plant_equal_flaws(stories: list[Story]) -> None:
    first = await calibrate(stories[:6], seed=3)
    second = await calibrate(stories[:6], seed=3)
    assert first.to_json() == second.to_json()
