"""What an author of code tasks is asked for: the form of an answer, and the task that it makes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pydantic import Field

from pipeline.models.players.author.settling import Problem
from pipeline.records import CodeTask, Record

TEST_FILE = r"^tests/test_[a-z0-9_]+\.py$"


class SourceFile(Record):
    """One text file."""

    path: str = Field(
        pattern=r"^[A-Za-z0-9_][A-Za-z0-9_./-]{0,80}$", description="relative to the repository"
    )
    content: str = Field(max_length=12_000, description="the whole text of the file")


class TestFile(Record):
    """One file of tests."""

    __test__ = False
    path: str = Field(pattern=TEST_FILE, description="as in tests/test_ledger.py")
    content: str = Field(min_length=20, max_length=12_000, description="pytest functions")


class CodeDraft(Record):
    """A code task as a model writes it."""

    name: str = Field(
        pattern=r"^[a-z][a-z0-9]*(-[a-z0-9]+){0,5}$", max_length=48, description="words-with-hyphens"
    )
    statement: str = Field(
        min_length=40,
        max_length=3_000,
        description="what is asked for, complete: behavior, edge cases, names",
    )
    files: list[SourceFile] = Field(
        min_length=1, max_length=8, description="the repository before the work, without its tests"
    )
    tests: list[TestFile] = Field(min_length=1, max_length=3, description="the tests that decide")
    gold: list[SourceFile] = Field(
        min_length=1, max_length=8, description="the files that the solution changes or adds, complete"
    )


def defects(draft: CodeDraft) -> Iterator[Problem]:
    """What can be said against a draft before anything runs."""
    for part, files in (("files", draft.files), ("tests", draft.tests), ("gold", draft.gold)):
        paths = [file.path for file in files]
        for path in sorted({path for path in paths if paths.count(path) > 1}):
            yield "a file twice", f"{part} holds {path} twice"
    before = {file.path: file.content for file in draft.files}
    for test in draft.tests:
        if test.path in before:
            yield (
                "tests in the repository",
                f"{test.path} stands in files and in tests; only tests may hold it",
            )
    if all(before.get(file.path) == file.content for file in draft.gold):
        yield "gold changes nothing", "every file in gold is the same in files: the solution changes nothing"


def task_of(draft: CodeDraft, *, author: str, prompt: str, difficulty: str, timeout: float) -> CodeTask:
    """The task that a draft makes; its test ids are found at admission. `author` is `model:NAME`."""
    return CodeTask(
        name=draft.name,
        source=author,
        prompt=prompt,
        statement=draft.statement,
        files=_texts(draft.files),
        tests=_texts(draft.tests),
        gold=dict(_texts(draft.gold)),
        timeout=timeout,
        difficulty=difficulty,
    )


def _texts(files: Sequence[SourceFile | TestFile]) -> dict[str, str]:
    return {file.path: file.content if file.content.endswith("\n") else file.content + "\n" for file in files}
