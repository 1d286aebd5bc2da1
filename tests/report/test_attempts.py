"""pass@k from the attempts at each task."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.report.attempts import pass_at, pass_at_k, pass_at_k_line


def test_the_estimator_counts_draws_without_a_pass() -> None:
    assert pass_at(1, 4, 1) == 0.25
    assert pass_at(2, 4, 1) == pytest.approx(0.5)
    assert pass_at(4, 4, 1) == 1.0
    assert pass_at(3, 4, 0) == 0.0


def test_tasks_count_alike_and_only_with_enough_attempts() -> None:
    rows = pass_at_k([{"n": 4, "passed": 4}, {"n": 1, "passed": 0}, {"n": 0, "passed": 0}])
    assert rows == [
        {"k": 1, "value": 0.5, "tasks": 2},
        {"k": 2, "value": 1.0, "tasks": 1},
        {"k": 4, "value": 1.0, "tasks": 1},
    ]
    assert pass_at_k_line(rows).endswith(
        "pass@1 0.500 of 2 tasks, pass@2 1.000 of 1 tasks, pass@4 1.000 of 1 tasks"
    )
    assert pass_at_k([]) == []


@given(st.integers(1, 12), st.data())
def test_more_attempts_or_more_passes_never_lower_it(n: int, data: st.DataObject) -> None:
    passed = data.draw(st.integers(0, n))
    values = [pass_at(k, n, passed) for k in range(1, n + 1)]
    assert values == sorted(values)
    assert values[0] == pytest.approx(passed / n)
    assert passed == n or pass_at(n, n, passed) <= pass_at(n, n, passed + 1)
