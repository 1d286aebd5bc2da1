"""The teacher as agent: it passes its own tasks, and its planted flaws show."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from pipeline.records import ArgumentSource, Fact, Fault, Goal, ReferenceCall, Value
from pipeline.teacher.flaws import plant
from pipeline.teacher.hearing import Hearing
from pipeline.teacher.policy import TeacherPolicy
from tests.rollout.scripts import play, tasks, world


@pytest.mark.parametrize("kind", ["act", "ask", "refuse", "unserved", "talk"])
@pytest.mark.parametrize("faults", [0.0, 1.0])
async def test_it_passes_its_own_tasks(kind: str, faults: float) -> None:
    found = tasks(kind, 2, faults)
    results = Counter([(await play(task=task)).judgement.value for task in found[:25]])
    assert results[Value.PASS] >= 0.95 * results.total(), results


async def test_most_planted_flaws_are_found() -> None:
    found: Counter[bool] = Counter()
    for number, task in enumerate(tasks("act", 2, 0.0)):
        flaw = plant(task, random.Random(number))
        played = await play(TeacherPolicy(task, world(), "flawed", flaw), task=task)
        if played.trajectory.planted:
            found[played.judgement.value is Value.FAIL] += 1
    assert found.total() >= 15
    assert found[True] >= 0.9 * found.total(), found


async def test_a_read_along_that_failed_is_made_again() -> None:
    """Two reads in one turn, the second meets a fault: it is repeated before what it would have shown is used."""
    seen = 0
    for task in tasks("act", 1, 0.0):
        if [call.tool for call in task.reference] != ["find_member", "list_bikes", "start_hire"]:
            continue
        faulty = task.replace(faults=(Fault(tool="list_bikes", nth=1, kind="error"),))
        for seed in range(6):
            played = await play(TeacherPolicy(faulty, world(), f"along {seed}"), task=faulty)
            together = any(len(event.calls) > 1 for event in played.trajectory.events)
            seen += together
            names = [event.name for event in played.results if event.ok]
            assert names.index("list_bikes") < names.index("start_hire")
            assert played.judgement.passed, played.judgement.reason
    assert seen


def test_a_short_value_is_known_only_once_it_was_stated_or_asked_for() -> None:
    from pipeline.records import Message

    fact = Fact(name="size", label="the size you need", value="small", spoken="small", said=("size {value}",))
    base = tasks()[0]
    reference = (
        ReferenceCall(
            goal=0, tool="list_bikes", arguments={"size": "small"},
            sources={"size": ArgumentSource(kind="told", fact="size")},
        ),
    )  # fmt: skip
    task = base.replace(facts=(fact,), reference=reference, goals=(Goal(intent="x", facts=("size",)),))
    hearing = Hearing(task)

    def known(*said: tuple[str, str]) -> bool:
        hearing.messages = [Message.model_validate({"role": role, "content": text}) for role, text in said]
        return hearing.knows(fact)

    assert not known(("user", "A small question: which bikes are free?"))
    assert known(("user", "Which bikes are free? Size small."))
    assert known(("assistant", "Could you tell me the size you need?"), ("user", "Oh, small, I think."))
    assert not known(("assistant", "Shall I go on?"), ("user", "A small moment."))
