"""The gate: a task is admitted when the trivial fail, the reference passes twice alike, and its mutations fail."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from pipeline.records import Judgement, Policy, Task, Trajectory, Value
from pipeline.tasks.mutations import mutations
from pipeline.tasks.trivial import rightly_passes, trivial_agents

SECOND = 1
"""The number of the attempt in which the reference has to come to the same again."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """One attempt inside the gate: how it was judged, and the state it left (empty where the host has none)."""

    judgement: Judgement
    trajectory: Trajectory
    state: str

    @property
    def passed(self) -> bool:
        return self.judgement.passed

    def results(self) -> Counter[str]:
        """What the successful calls returned, order aside."""
        return Counter(f"{event.name} {event.content}" for event in self.trajectory.events if event.ok)


Attempt = Callable[[Task, Policy, int], Awaitable[Outcome]]
"""Plays a policy on a task (the number varies the user's words) and judges it."""
Reference = Callable[[Task, int], Policy]
"""A policy that follows the reference of the task it is given."""


@dataclass
class GateReport:
    """What the gate saw of one task."""

    task: str
    trivial_passes: list[str] = field(default_factory=list)
    reference: list[str] = field(default_factory=list)
    reference_reason: str = ""
    mutations: int = 0
    killed: int = 0
    equivalent: int = 0
    undecided: int = 0
    """Mutations that no check could decide; they prove nothing."""
    survivors: list[str] = field(default_factory=list)
    reason: str = ""

    @property
    def admitted(self) -> bool:
        return not self.reason

    def evidence(self) -> dict[str, Any]:
        """The report as a JSON value for the task's row."""
        return {
            "trivial_passes": self.trivial_passes,
            "reference": self.reference,
            "mutations": self.mutations,
            "killed": self.killed,
            "equivalent": self.equivalent,
            "undecided": self.undecided,
            "survivors": self.survivors,
        }


async def gate(
    task: Task, attempt: Attempt, reference: Reference, seed: int, max_passing: float
) -> GateReport:
    """Runs all of it; `report.reason` says why a task is rejected. An empty rubric is a reason, too."""
    report = GateReport(task.id)
    if task.rubric.faults:
        report.reason = f"the rubric is broken: {'; '.join(task.rubric.faults)}"
        return report
    first = await attempt(task, reference(task, 0), 0)
    second = await attempt(task, reference(task, SECOND), SECOND)
    report.reference = [first.judgement.value.value, second.judgement.value.value]
    if not (first.passed and second.passed):
        bad = second if first.passed else first
        report.reference_reason = bad.judgement.reason
        report.reason = f"the reference does not pass: {bad.judgement.reason}"
        return report
    if task.proof != "none" and first.state != second.state:
        report.reason = "the reference leaves two different states"
        return report
    for name, agent in trivial_agents(task).items():
        outcome = await attempt(task, agent, 2)
        if outcome.passed and not rightly_passes(task, name):
            report.trivial_passes.append(name)
    if report.trivial_passes:
        report.reason = f"a trivial agent passes: {', '.join(report.trivial_passes)}"
        return report
    await _mutate(task, attempt, reference, seed, first, report)
    counted = report.mutations - report.equivalent - report.undecided
    if report.undecided and not counted:
        report.reason = "no mutation could be decided"
    if counted and len(report.survivors) > max_passing * counted:
        report.reason = f"mutations pass: {len(report.survivors)} of {counted}, as {report.survivors[0]}"
    return report


async def _mutate(
    task: Task, attempt: Attempt, reference: Reference, seed: int, proven: Outcome, report: GateReport
) -> None:
    for mutation in mutations(task, random.Random(f"{task.id}/{seed}")):
        mutant = task.replace(reference=mutation.reference)
        outcome = await attempt(task, reference(mutant, 0), 0)
        report.mutations += 1
        if outcome.judgement.value is Value.UNSCORED:
            report.undecided += 1
        elif outcome.judgement.value is Value.FAIL:
            report.killed += 1
        elif outcome.state == proven.state and _alike(outcome, proven):
            report.equivalent += 1
        else:
            report.survivors.append(mutation.name)


def _alike(left: Outcome, right: Outcome) -> bool:
    """Equivalent by result: the same answers were read, in whatever order."""
    return left.results() == right.results()
