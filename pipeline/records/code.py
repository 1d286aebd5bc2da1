"""Code tasks and what their tests really said."""

from __future__ import annotations

from enum import StrEnum
from functools import cached_property
from typing import Literal

from pydantic import Field

from pipeline.records.base import Record, content_id


class RunStatus(StrEnum):
    PASSED = "passed"
    FAILED = "failed"
    TIMEOUT = "timeout"
    OOM = "oom"
    INFRA_ERROR = "infra_error"
    INVALID_RESULT = "invalid_result"


class CodeTask(Record):
    """A repository state, a request, and the tests that decide.

    Texts of `files`, `tests` and `gold` are keyed by POSIX path relative to the repository root; None deletes.
    """

    name: str
    source: str = "hand"
    """`hand`, the shape of the row it was read from, or `model:NAME`."""
    prompt: str = ""
    """Name and hash of the prompts that a model wrote it with: `author/code@…`."""
    statement: str
    files: dict[str, str]
    tests: dict[str, str]
    gold: dict[str, str | None]
    fail_to_pass: tuple[str, ...] = ()
    """Test ids as pytest prints them: `tests/test_x.py::test_a`. Empty until admission has found them."""
    pass_to_pass: tuple[str, ...] = ()
    allowed: tuple[str, ...] = ()
    """Glob patterns of paths whose changes are carried into grading; empty: every path that is not a test."""
    executable: tuple[str, ...] = ()
    """Paths of `files`, `tests` and `gold` that can be executed."""
    binary: dict[str, str] = {}
    """Files that are no UTF-8 text, in base64."""
    image: str = "python"
    timeout: float = Field(default=60.0, gt=0, le=86_400)
    """Seconds for one run of the tests."""
    difficulty: str = "simple"
    license: str = ""

    @cached_property
    def id(self) -> str:
        return content_id("code", self.model_dump(mode="json"))


class TestOutcome(Record):
    __test__ = False
    id: str
    outcome: str
    """passed, failed, error, skipped or missing."""


class TestReport(Record):
    """The result of grading one solution in a fresh container."""

    __test__ = False
    task: str
    status: RunStatus
    outcomes: tuple[TestOutcome, ...] = ()
    exit_code: int | None = None
    agreed: bool = True
    """Whether the independent pieces of evidence agree."""
    reason: str = ""
    output: str = ""
    """Head and tail of what the tests printed, with a marker where it was cut."""
    refused: tuple[str, ...] = ()
    """Changed paths that were not carried over, each with the reason: `conftest.py: test configuration`."""
    flags: tuple[str, ...] = ()
    """What looks like an attempt on the tests, without being proof of one."""
    image_digest: str = ""


class Admission(Record):
    """Whether a code task may be used, with the runs that say so."""

    task: CodeTask
    """The task, with the ids of its tests filled in where its source named none."""
    verdict: Literal["admitted", "rejected", "quarantined"]
    """`quarantined`: flaky or dependent on the order of its tests; kept apart with its record."""
    reason: str = ""
    empty: TestReport | None = None
    """The run without any solution."""
    gold: tuple[TestReport, ...] = ()
    """The runs of the reference solution, each in another order."""

    @property
    def admitted(self) -> bool:
        return self.verdict == "admitted"
