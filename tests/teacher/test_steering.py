"""Draws that lean toward what has come too seldom."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from pipeline.assets import asset
from pipeline.config.tasks import TasksConfig
from pipeline.teacher.author import TeacherAuthor
from pipeline.teacher.steering import Steering
from pipeline.worlds.load import load_world

WEIGHTS = {1: 0.7, 2: 0.2, 3: 0.1}


def test_shares_are_met_although_some_values_seldom_fit() -> None:
    rng, steering, taken = random.Random(1), Steering(), Counter[int]()
    for _ in range(400):
        drawn = steering.draw("counts", WEIGHTS, rng)
        fits = drawn if drawn == 1 or rng.random() < 0.5 else 1
        steering.took("counts", fits)
        taken[fits] += 1
    for value, share in WEIGHTS.items():
        assert taken[value] / 400 == pytest.approx(share, abs=0.03)


def test_what_never_fits_leaves_the_others_in_proportion() -> None:
    rng, steering = random.Random(1), Steering()
    drawn = Counter[int]()
    for _ in range(400):
        value = steering.draw("counts", WEIGHTS, rng)
        drawn[value] += 1
        if value != 3:
            steering.took("counts", value)
    assert drawn[1] / drawn[2] == pytest.approx(WEIGHTS[1] / WEIGHTS[2], rel=0.3)


def test_a_share_of_nothing_is_never_drawn_and_only_the_listed_are() -> None:
    rng, steering = random.Random(1), Steering()
    assert {steering.draw("faulty", {True: 0.0, False: 1.0}, rng) for _ in range(50)} == {False}
    assert {steering.draw("counts", WEIGHTS, rng, [2]) for _ in range(50)} == {2}


@pytest.mark.parametrize("seed", [3, 4])
async def test_tasks_of_a_world_reach_the_languages_and_faults_that_were_asked(seed: int) -> None:
    config = TasksConfig(fault_rate=0.6)
    tasks = await TeacherAuthor(config).tasks(load_world(asset("tools_repo/worlds/library.yaml")), 60, seed)
    languages = Counter(task.persona.language for task in tasks)
    for language, share in config.languages.items():
        assert languages[language] / len(tasks) == pytest.approx(share, abs=0.07)
    assert sum(bool(task.faults) for task in tasks) / len(tasks) == pytest.approx(0.6, abs=0.07)
