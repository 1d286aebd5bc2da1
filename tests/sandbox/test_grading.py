"""Grades by real tests in real containers."""

from __future__ import annotations

import pytest

from pipeline.records import CodeTask, RunStatus
from pipeline.sandbox import Pool, gold_changes, grade

pytestmark = [pytest.mark.slow, pytest.mark.docker]


async def test_the_reference_passes_and_nothing_fails(pool: Pool, tasks: dict[str, CodeTask]) -> None:
    task = tasks["merge-intervals"]
    gold = await grade(pool, task, gold_changes(task))
    assert gold.status is RunStatus.PASSED, gold.reason
    assert gold.image_digest.startswith("sha256:")
    empty = await grade(pool, task, {})
    assert empty.status is RunStatus.FAILED
    assert {each.id for each in empty.outcomes if each.outcome != "passed"} == set(task.fail_to_pass)
