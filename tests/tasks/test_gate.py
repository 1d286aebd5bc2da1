"""The gate on real tasks: the reference passes, trivial agents fail, mutated references are noticed."""

from __future__ import annotations

import random

import pytest

from pipeline.records import Policy, PolicyCheck, Rubric, Task
from pipeline.tasks.gate import GateReport, Outcome, gate
from pipeline.tasks.mutations import changed_value, mutations
from pipeline.tasks.trivial import rightly_passes, trivial_agents
from pipeline.teacher.policy import TeacherPolicy
from pipeline.teacher.user import TeacherUser
from tests.rollout.scripts import play, tasks, world


async def _attempt(task: Task, policy: Policy, number: int) -> Outcome:
    user = TeacherUser(task, world(), f"gate/{task.id}/{number}")
    played = await play(policy, task=task, user=user)
    last = next((e.after for e in reversed(played.trajectory.events) if e.after), "")
    state = played.episode.snapshots[last].state if last else "seed"
    return Outcome(played.judgement, played.trajectory, state)


def _reference(task: Task, number: int) -> Policy:
    return TeacherPolicy(task, world(), f"gate/{number}")


async def _gate(task: Task) -> GateReport:
    return await gate(task, _attempt, _reference, 7, 0.2)


@pytest.mark.parametrize(
    ("kind", "share"), [("act", 0.75), ("ask", 0.75), ("refuse", 0.3), ("unserved", 0.75)]
)
async def test_tasks_are_admitted_with_evidence(kind: str, share: float) -> None:
    """Of refusals fewer: often another row would be refused as well, so that a mutation is no mistake."""
    reports = [await _gate(task) for task in tasks(kind, 1, 0.0)[:8]]
    admitted = [report for report in reports if report.admitted]
    assert len(admitted) >= share * len(reports), [report.reason for report in reports]
    for report in admitted:
        assert report.reference == ["pass", "pass"]
        assert report.killed + report.equivalent + len(report.survivors) == report.mutations
    if kind == "act":
        assert sum(report.killed for report in admitted) > 0


async def test_a_question_is_a_task_only_if_its_answer_can_be_checked() -> None:
    for task in tasks("talk", 1, 0.0)[:6]:
        report = await _gate(task)
        checked = any(check.name.startswith("tells the result") for check in task.rubric.checks)
        assert report.admitted is checked, report.reason


async def test_an_empty_rubric_is_a_reason() -> None:
    report = await _gate(tasks()[0].replace(rubric=Rubric(checks=())))
    assert "no mandatory check" in report.reason


async def test_a_rubric_that_lets_everything_through_is_a_reason() -> None:
    """A check that any talk passes: a trivial agent passes, too."""
    check = PolicyCheck(name="nothing repeated", rule="", form="no_repeat", tool="start_hire")
    report = await _gate(tasks()[0].replace(rubric=Rubric(checks=(check,))))
    assert report.reason.startswith("a trivial agent passes")


async def test_a_reference_that_does_not_work_is_a_reason() -> None:
    task = next(one for one in tasks() if one.reference[-1].tool == "cancel_hire")
    broken = task.replace(reference=task.reference[:-1])
    report = await _gate(broken)
    assert report.reason.startswith("the reference does not pass")


async def test_refusing_is_right_where_no_tool_serves() -> None:
    for task in tasks("unserved", 1, 0.0)[:3]:
        assert rightly_passes(task, "refuses")
        assert not rightly_passes(task, "says done")
        for name, agent in trivial_agents(task).items():
            outcome = await _attempt(task, agent, 0)
            assert not outcome.passed or name == "refuses"


def test_mutations_drop_change_and_swap() -> None:
    task = next(one for one in tasks() if len(one.reference) >= 3)
    names = [one.name for one in mutations(task, random.Random(1))]
    assert any("without" in name for name in names)
    assert any("changed" in name for name in names)
    assert any("swapped" in name for name in names)
    assert mutations(task, random.Random(1)) == mutations(task, random.Random(1))


@pytest.mark.parametrize(
    ("value", "schema"),
    [("B012", {"type": "string"}), ("small", {"type": "string", "enum": ["small", "large"]}), (3, {"type": "integer"}),
     (2.5, {"type": "number"}), (True, {"type": "boolean"}), ("words", {"type": "string"})],
)  # fmt: skip
def test_a_changed_value_differs_and_keeps_its_type(value: object, schema: dict[str, object]) -> None:
    other = changed_value(value, schema, random.Random(3))
    assert other != value
    assert type(other) is type(value)
