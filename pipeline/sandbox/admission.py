"""Nothing enters without proof: the empty solution fails, the reference passes, several times in shuffled order."""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.records.code import Admission, CodeTask, RunStatus, TestReport
from pipeline.sandbox.box import Sandbox
from pipeline.sandbox.carry import carry_over, gold_changes, task_files
from pipeline.sandbox.grading import TestRun, judge_run, run_tests
from pipeline.sandbox.pool import Pool

GOLD_RUNS = 3


async def admit(pool: Pool, task: CodeTask) -> Admission:
    """Runs the tests without a solution and three times with the reference, in two fresh containers.

    Test ids that the task does not name are found here: what passes with the reference and not without is
    fail-to-pass, what passes with and without is pass-to-pass, and no test may fail with the reference. Raises SandboxError when the engine keeps failing.
    """
    carried, refused = carry_over(task, gold_changes(task))
    if refused:
        return _no(task, f"its reference solution changes what is not carried into grading: {refused[0]}")
    before, after = task_files(task), {**task_files(task), **carried}

    async def without(box: Sandbox) -> TestRun:
        return await run_tests(box, task, before)

    async def with_gold(box: Sandbox) -> list[TestRun]:
        runs: list[TestRun] = []
        for seed in range(GOLD_RUNS):
            runs.append(await run_tests(box, task, after, seed=seed))
            if runs[-1].result.ended or runs[-1].result.timed_out:
                return runs
        return runs

    empty = await pool.retrying(task.image, without)
    gold = await pool.retrying(task.image, with_gold)
    if task.fail_to_pass:
        return decide(task, empty, gold)
    admission = decide(with_ids(task, empty, gold), empty, gold)
    failing = [test for test in gold[0].collected if gold[0].outcomes.get(test) in ("failed", "error")]
    if not gold[0].collected and gold[0].exit_code is not None:
        told = [line[1:].strip() for line in gold[0].result.stdout.text.splitlines() if line[:2] == "E "]
        why = f": {told[-1][:200]}" if told else ""
        return admission.replace(
            verdict="rejected", reason=f"no test is found with its reference solution{why}"
        )
    if failing and admission.verdict != "quarantined" and gold[0].exit_code is not None:
        count = f"{len(failing)} of {len(gold[0].collected)} tests fail with its reference solution"
        return admission.replace(verdict="rejected", reason=f"{count}: {', '.join(failing[:3])}")
    return admission


def with_ids(task: CodeTask, empty: TestRun, gold: Sequence[TestRun]) -> CodeTask:
    """The task with its test ids as the runs show them, in the order of the test files."""
    always = set.intersection(*(_passed(run) for run in gold))
    known = [test for test in gold[0].collected if test in always]
    before = _passed(empty)
    return task.replace(
        fail_to_pass=tuple(test for test in known if test not in before),
        pass_to_pass=tuple(test for test in known if test in before),
    )


def _passed(run: TestRun) -> set[str]:
    return {test for test, outcome in run.outcomes.items() if outcome == "passed"}


def decide(task: CodeTask, empty: TestRun, gold: Sequence[TestRun]) -> Admission:
    """The verdict on a task from its runs."""
    without = judge_run(task, empty)
    with_gold = tuple(judge_run(task, run) for run in gold)
    admission = Admission(task=task, verdict="admitted", empty=without, gold=with_gold)
    verdict, reason = _objection(task, empty, gold, with_gold)
    return admission.replace(verdict=verdict, reason=reason) if reason else admission


def _objection(
    task: CodeTask, empty: TestRun, gold: Sequence[TestRun], reports: tuple[TestReport, ...]
) -> tuple[str, str]:
    bad = [report for report in reports if report.status is not RunStatus.PASSED]
    varied = [test for test in gold[0].collected if len({run.outcomes.get(test) for run in gold}) > 1]
    if varied:
        return "quarantined", f"{varied[0]} ends differently by the order of the tests, or by chance"
    if bad and len(bad) < len(reports):
        return "quarantined", f"its reference solution does not pass every time: {bad[0].reason}"
    if bad:
        return "rejected", f"its reference solution does not pass: {bad[0].reason}"
    if not task.fail_to_pass:
        return "rejected", "no test fails without a solution"
    already = [test for test in task.fail_to_pass if empty.outcomes.get(test) == "passed"]
    if already:
        return "rejected", f"{already[0]} passes without any solution"
    if empty.broken:
        return "rejected", f"the run without a solution cannot be believed: {empty.broken}"
    lost = [test for test in task.pass_to_pass if empty.outcomes.get(test) != "passed"]
    if lost:
        return "rejected", f"{lost[0]} should pass before and after, and does not pass before"
    return "admitted", ""


def _no(task: CodeTask, reason: str) -> Admission:
    return Admission(task=task, verdict="rejected", reason=reason)
