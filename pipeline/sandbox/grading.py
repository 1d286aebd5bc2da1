"""Grading in a fresh container, by independent evidence that must agree. docs/sandbox.md has the threat model.

What decides: the structured report of the run; its exit code; the ids known beforehand; a canary, tests of our own
that must fail in the same process; the test files, which must be unchanged after the run; and, on suspicion or for a
sample, each test alone in a process of its own.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from pipeline.records.code import CodeTask, RunStatus, TestOutcome, TestReport
from pipeline.records.errors import SandboxError
from pipeline.sandbox.box import BoxEnded, ExecResult, File, GuestError, Output, Sandbox
from pipeline.sandbox.carry import (
    Changes,
    carry_over,
    is_configuration,
    is_test,
    suspicions,
    task_files,
    test_files,
)
from pipeline.sandbox.pool import Pool

RUNNER = "/grade/run.py"
SCRIPT = Path(__file__).with_name("runner.py")
"""Sent into the container and never imported here: it needs pytest, which the product does not."""
SAMPLE = 16
"""One task in so many is also run test by test without any suspicion."""
ALONE = 12
"""Tests of one task that are run alone, at most."""
CANARY = """def test_equal_{name}():
    assert 1 == 2


def test_raise_{name}():
    raise ValueError("a canary has to fail")
"""


@dataclass(frozen=True, slots=True)
class TestRun:
    """One run of tests, as it was seen: not yet a verdict."""

    __test__ = False
    result: ExecResult
    outcomes: dict[str, str] = field(default_factory=dict)
    collected: tuple[str, ...] = ()
    exit_code: int | None = None
    """What the runner reported at its end; None when it did not get there."""
    broken: str = ""
    """Why the evidence cannot be believed."""


async def grade(
    pool: Pool, task: CodeTask, changes: Changes, *, seed: int = 0, alone: bool | None = None
) -> TestReport:
    """The verdict on changed files, in a fresh container with only the allowed changes carried over.

    `alone` forces or forbids the runs of single tests; by default suspicion and a sample of the tasks decide.
    An engine that keeps failing gives `infra_error`, never a score.
    """
    carried, refused = carry_over(task, changes)
    flags = suspicions(task, carried)
    files: dict[str, File | None] = {**task_files(task), **carried}

    async def once(box: Sandbox) -> TestReport:
        by_one = bool(flags) or _sampled(task) if alone is None else alone
        return (await _grade_in(box, task, files, seed, by_one)).replace(image_digest=box.image)

    try:
        report = await pool.retrying(task.image, once)
        if (
            report.status is RunStatus.FAILED
            and report.exit_code is None
            and report.reason.startswith("the container")
        ):
            report = await pool.retrying(task.image, once)  # an engine going down can look like this, once
    except SandboxError as error:
        return TestReport(
            task=task.id, status=RunStatus.INFRA_ERROR, reason=str(error), refused=refused, flags=flags
        )
    return report.replace(refused=refused, flags=flags)


def _sampled(task: CodeTask) -> bool:
    return int(task.id.rpartition("_")[2], 16) % SAMPLE == 0


async def _grade_in(
    box: Sandbox, task: CodeTask, files: Mapping[str, File | None], seed: int, alone: bool
) -> TestReport:
    run = await run_tests(box, task, files, seed=seed)
    report = judge_run(task, run)
    if report.status is not RunStatus.PASSED or not alone:
        return report
    for test in (*task.fail_to_pass, *task.pass_to_pass)[:ALONE]:
        single = await run_tests(box, task, files, ids=(test,))
        if judge_run(task, single, (test,)).status is not RunStatus.PASSED:
            reason = f"{test} passes among the others and does not when it runs alone"
            return report.replace(status=RunStatus.INVALID_RESULT, agreed=False, reason=reason)
    return report


async def run_tests(
    box: Sandbox,
    task: CodeTask,
    files: Mapping[str, File | None],
    *,
    ids: tuple[str, ...] = (),
    seed: int | None = None,
) -> TestRun:
    """Lays out the repository anew and runs `ids` (default: all test files), with the canary among them.

    Raises SandboxError when the engine failed.
    """
    name = secrets.token_hex(6)
    canary = f"test_{name}.py"
    report = f"/grade/report-{name}"
    tests = test_files(task)
    targets = list(ids) or sorted(
        path for path in tests if path.endswith(".py") and not path.endswith("conftest.py")
    )
    plan = {"root": "/work", "ids": [*targets, canary], "seed": seed, "report": report, "canary": name}
    try:
        await box.clear()
        await box.write({**files, **tests, canary: CANARY.format(name=name).encode()})
        await box.write({RUNNER: SCRIPT.read_bytes(), f"/grade/plan-{name}": json.dumps(plan).encode()})
        await box.mark()
        argv = ["python3", "-I", "-B", RUNNER, f"/grade/plan-{name}"]
        result = await box.run(argv, timeout=task.timeout, merge=True, reap=True)
        if result.ended or result.timed_out:
            return TestRun(result)
        lines = (await box.read(report, limit=4 << 20)).decode("utf-8", "replace").splitlines()
        fixed = {canary, *tests, *(path for path in task.files if is_test(path) or is_configuration(path))}
        touched = [path for path in await box.changed() if path in fixed]
    except BoxEnded:
        return TestRun(ExecResult(None, ended=True))
    except GuestError as error:
        return TestRun(ExecResult(None, ended=True), broken=f"the files cannot be laid out or read: {error}")
    return read_report(result, lines, name, touched)


def _targets(task: CodeTask) -> list[str]:
    """The test files to run: those that the task's ids name, else all its tests."""
    named = {test.partition("::")[0] for test in (*task.fail_to_pass, *task.pass_to_pass)}
    return sorted(named or (path for path in task.tests if is_test(path) and path.endswith(".py")))


def read_report(result: ExecResult, lines: list[str], name: str, touched: list[str]) -> TestRun:
    """Takes the report apart; `broken` says what in it cannot be."""
    outcomes: dict[str, str] = {}
    canaries: list[str] = []
    end: dict[str, object] = {}
    try:
        for line in map(json.loads, lines):
            if end:
                return TestRun(result, broken="the report goes on after its end")
            if "done" in line:
                end = line
            elif name in line["id"]:
                canaries.append(line["outcome"])
            elif line["id"] in outcomes:
                return TestRun(result, broken=f"{line['id']} is reported twice")
            else:
                outcomes[line["id"]] = line["outcome"]
    except (ValueError, TypeError, KeyError):
        return TestRun(result, broken="the report is not what the runner writes")
    collected = end.get("collected", [])
    ids = (
        tuple(str(test) for test in collected if name not in str(test)) if isinstance(collected, list) else ()
    )
    code = end.get("done")
    broken = ""
    if touched:
        broken = f"{touched[0]} was changed while the tests ran"
    elif end and canaries != ["failed", "failed"]:
        broken = "a test that has to fail did not"
    elif end and (code != 1 or result.exit_code != 1):
        broken = f"the run ended with {result.exit_code}, which does not fit its report"
    return TestRun(_told(result, name), outcomes, ids, code if isinstance(code, int) else None, broken)


def _told(result: ExecResult, name: str) -> ExecResult:
    """The result with an output that says nothing of the canary, and nothing that differs from run to run."""
    lines = [line for line in result.stdout.text.splitlines(keepends=True) if name not in line]
    text = re.sub(r"\bin \d+\.\d+s\b|\b0x[0-9a-f]{6,16}\b", "…", "".join(lines))
    return replace(result, stdout=Output(text.encode()))


def judge_run(task: CodeTask, run: TestRun, ids: tuple[str, ...] = ()) -> TestReport:
    """The verdict that the evidence of one run allows; `ids` default to all that the task names."""
    wanted = ids or (*task.fail_to_pass, *task.pass_to_pass)
    outcomes = tuple(TestOutcome(id=test, outcome=run.outcomes.get(test, "missing")) for test in wanted)
    bad = [f"{each.id} {each.outcome}" for each in outcomes if each.outcome != "passed"]
    result, agreed = run.result, True
    if result.timed_out:
        status, reason = RunStatus.TIMEOUT, f"the tests did not end within {task.timeout:g} seconds"
    elif result.oom and (bad or run.exit_code is None):
        status, reason = RunStatus.OOM, "the memory of the container was used up"
    elif result.ended:
        status, reason = RunStatus.FAILED, run.broken or "the container did not survive the tests"
    elif run.broken:
        status, reason, agreed = RunStatus.INVALID_RESULT, run.broken, False
    elif run.exit_code is None and result.exit_code in (0, 1):
        status, agreed = RunStatus.INVALID_RESULT, False
        reason = f"the test process left with {result.exit_code} before the tests were over"
    elif run.exit_code is None:
        how = f"signal {result.signal}" if result.signal else f"exit code {result.exit_code}"
        status, reason = RunStatus.FAILED, f"the test process ended early with {how}"
    elif bad:
        status, reason = RunStatus.FAILED, f"{len(bad)} of {len(outcomes)} tests: {'; '.join(bad[:3])}"
    else:
        status, reason = RunStatus.PASSED, ""
    return TestReport(
        task=task.id,
        status=status,
        outcomes=outcomes,
        exit_code=result.exit_code,
        agreed=agreed,
        reason=reason,
        output=result.stdout.text,
    )
