"""Admission of code tasks: what proves itself enters, the rest is rejected or quarantined with its runs."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from pipeline.records import CodeTask, RunStatus
from pipeline.sandbox import Pool, admit, load_tasks
from tests.sandbox.test_hostile import TASK
from tests.sandbox.test_sources import BUG_FIX, HUMANEVAL, MBPP, REPOSITORY, make_tar, swe_row, write_rows

pytestmark = [pytest.mark.slow, pytest.mark.docker]

FILE = "tests/test_double.py"


def with_tests(text: str, **changes: object) -> CodeTask:
    header = "import os\nfrom double import double\n\n"
    return TASK.replace(**{"tests": {FILE: header + text}, "fail_to_pass": (), "pass_to_pass": (), **changes})


ORDERED = "STATE = []\n" + "".join(
    f"def test_{name}():\n    assert double(2) == 4 and len(STATE) == {place}\n    STATE.append(1)\n\n"
    for place, name in enumerate("abcde")
)
SECOND_RUN = "def test_once():\n    assert double(2) == 4\n    open('/tmp/seen', 'x')\n"
CASES = {
    "passes without a solution": (with_tests("def test_any():\n    assert double(0) == 0\n"), "rejected", "no test fails"),
    "named test passes already": (TASK.replace(fail_to_pass=(f"{FILE}::test_zero",)), "rejected", "passes without any"),
    "gold fails": (TASK.replace(gold={"double.py": "def double(x):\n    return 3 * x\n"}), "rejected", "does not pass"),
    "one test fails with gold": (
        with_tests("def test_any():\n    assert double(2) == 4\n\n\ndef test_bad():\n    assert double(2) == 5\n"),
        "rejected",
        "1 of 2 tests fail",
    ),
    "gold in the tests": (TASK.replace(gold={"conftest.py": ""}), "rejected", "not carried"),
    "named test does not exist": (TASK.replace(fail_to_pass=(f"{FILE}::test_no",)), "rejected", "missing"),
    "pass-to-pass fails before": (
        TASK.replace(pass_to_pass=(f"{FILE}::test_small",), fail_to_pass=(f"{FILE}::test_text",)),
        "rejected",
        "before and after",
    ),
    "two of three": (with_tests(SECOND_RUN), "quarantined", "ends differently"),
    "order": (with_tests(ORDERED), "quarantined", "ends differently"),
    "hangs": (
        with_tests("def test_long():\n    import time\n    assert double(2) == 4\n    time.sleep(180)\n", timeout=3),
        "rejected",
        "within 3 seconds",
    ),
    "tests leave at import": (with_tests("os._exit(0)\n"), "rejected", "before the tests were over"),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
async def test_what_does_not_enter(pool: Pool, name: str) -> None:
    task, verdict, word = CASES[name]
    admission = await admit(pool, task)
    assert admission.verdict == verdict, admission.reason
    assert word in admission.reason
    if name != "gold in the tests":
        assert admission.empty is not None
        assert admission.gold


async def test_what_proves_itself_enters(pool: Pool) -> None:
    admission = await admit(pool, TASK)
    assert admission.admitted, admission.reason
    assert [run.status for run in admission.gold] == [RunStatus.PASSED] * 3
    assert admission.task == TASK


async def test_ids_are_found(pool: Pool) -> None:
    admission = await admit(pool, TASK.replace(fail_to_pass=(), pass_to_pass=()))
    assert admission.admitted
    assert admission.task.fail_to_pass == TASK.fail_to_pass
    assert admission.task.pass_to_pass == TASK.pass_to_pass


async def test_tasks_of_every_shape_enter(pool: Pool, tmp_path: Path) -> None:
    make_tar(tmp_path / "calc.tar.gz", REPOSITORY)
    rows = write_rows(tmp_path / "rows.jsonl", HUMANEVAL, MBPP, BUG_FIX, swe_row("calc.tar.gz"))
    for task in load_tasks(rows):
        assert isinstance(task, CodeTask)
        admission = await admit(pool, task)
        assert admission.admitted, (task.name, admission.reason)


async def test_our_own_tasks_enter(pool: Pool, tasks: dict[str, CodeTask]) -> None:
    assert len(tasks) >= 25
    for admission in await asyncio.gather(*(admit(pool, task) for task in tasks.values())):
        assert admission.admitted, (admission.task.name, admission.reason)
