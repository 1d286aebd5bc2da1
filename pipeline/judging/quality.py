"""What attempts say of a task: how hard it is, and whether it is the task that is faulty."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pipeline.config.judging import QualityConfig
from pipeline.judging.intervals import Share
from pipeline.records import Owner, Value

Standing = Literal["good", "hopeless", "trivial", "faulty", "unknown"]
BLAMELESS = frozenset({Owner.USER, Owner.TOOL, Owner.JUDGE})
"""Owners of failures that speak against the task. What infra did says nothing about either."""


@dataclass(frozen=True, slots=True)
class AttemptOutcome:
    """How one attempt was judged. `honest`: no flaw was planted, so that it speaks for the task."""

    trajectory: str
    task: str
    value: Value
    owner: Owner | None
    reason: str = ""
    honest: bool = True


@dataclass(frozen=True, slots=True)
class TaskQuality:
    """A task as its attempts show it.

    good: used; hopeless or trivial: set aside by the configured bounds; faulty: quarantined, most failures are owned
    by user, tool or judge; unknown: too few attempts say anything.
    """

    task: str
    standing: Standing
    passed: Share
    blamed: dict[str, int]
    """Failures and unscored attempts by owner."""
    evidence: tuple[str, ...]
    """Up to five attempts with their reasons."""

    @property
    def difficulty(self) -> float | None:
        """1 - pass rate."""
        return None if self.passed.value is None else 1 - self.passed.value

    def row(self) -> dict[str, Any]:
        """As a row of `measures`."""
        return {
            "stage": "selection",
            "name": "task_pass_rate",
            "part": self.task,
            "value": self.passed.value,
            "n": self.passed.of,
            "detail": {
                "standing": self.standing,
                "ci95": self.passed.ci95,
                "blamed": self.blamed,
                "evidence": self.evidence,
            },
        }


def task_quality(outcomes: Iterable[AttemptOutcome], config: QualityConfig) -> list[TaskQuality]:
    """One entry per task, in the order of their first attempts. Attempts with planted flaws are left out."""
    by_task: dict[str, list[AttemptOutcome]] = defaultdict(list)
    for outcome in outcomes:
        if outcome.honest:
            by_task[outcome.task].append(outcome)
    return [_quality(task, attempts, config) for task, attempts in by_task.items()]


def _quality(task: str, attempts: Sequence[AttemptOutcome], config: QualityConfig) -> TaskQuality:
    failures = [one for one in attempts if one.value is not Value.PASS]
    blamed = Counter(str(one.owner or Owner.AGENT) for one in failures)
    scored = [one for one in attempts if one.value is not Value.UNSCORED]
    passed = Share(sum(one.value is Value.PASS for one in scored), len(scored))
    foreign = sum(one.owner in BLAMELESS for one in failures)
    told = len(failures) - blamed[str(Owner.INFRA)]
    if foreign and foreign > config.max_foreign_share * told:
        standing: Standing = "faulty"
    elif passed.value is None or passed.of < config.min_attempts:
        standing = "unknown"
    elif passed.value < config.min_pass_rate or (passed.value == 0 and config.drop_never_passed):
        standing = "hopeless"
    elif passed.value > config.max_pass_rate:
        standing = "trivial"
    else:
        standing = "good"
    evidence = tuple(
        f"{one.trajectory}: {one.owner or Owner.AGENT}: {one.reason}"[:300] for one in failures[:5]
    )
    return TaskQuality(task, standing, passed, dict(sorted(blamed.items())), evidence)
