"""Task sources: every known shape, and bad rows that cost one message each."""

from __future__ import annotations

import io
import json
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest

from pipeline.records import CodeTask, InputError
from pipeline.sandbox import BadTask, load_tasks

HUMANEVAL = {
    "task_id": "Own/0",
    "prompt": 'def add(a, b):\n    """The sum."""\n',
    "canonical_solution": "    return a + b\n",
    "test": "def check(candidate):\n    assert candidate(1, 2) == 3\n",
    "entry_point": "add",
}
MBPP = {
    "task_id": 7,
    "text": "Write a function to square a number.",
    "code": "def square(x):\r\n    return x * x",
    "test_list": ["assert square(2) == 4", "assert square(-3) == 9"],
}
BUG_FIX = {
    "name": "last",
    "path": "pkg/last.py",
    "buggy": "def last(x):\n    return x[1]\n",
    "fixed": "def last(x):\n    return x[-1]\n",
    "tests": "from pkg.last import last\n\ndef test_last():\n    assert last([1, 2, 3]) == 3\n",
}


def write_rows(path: Path, *rows: Any) -> Path:
    path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))
    return path


def good(path: Path) -> list[CodeTask]:
    found = list(load_tasks(path))
    assert not [each for each in found if isinstance(each, BadTask)], found
    return [each for each in found if isinstance(each, CodeTask)]


def messages(path: Path) -> list[str]:
    return [f"{each.where}: {each.message}" for each in load_tasks(path) if isinstance(each, BadTask)]


def test_humaneval_rows(tmp_path: Path) -> None:
    (task,) = good(write_rows(tmp_path / "rows.jsonl", HUMANEVAL))
    assert task.name == "Own-0"
    assert task.gold["solution.py"] == 'def add(a, b):\n    """The sum."""\n    return a + b\n'
    assert task.fail_to_pass == ("tests/test_solution.py::test_add",)
    assert "check(add)" in task.tests["tests/test_solution.py"]


def test_mbpp_rows(tmp_path: Path) -> None:
    (task,) = good(write_rows(tmp_path / "rows.jsonl", MBPP))
    assert task.name == "7"
    assert "assert square(2) == 4" in task.statement
    assert "square(-3)" not in task.statement
    assert len(task.fail_to_pass) == 2


def test_bug_fix_rows_and_folders(tmp_path: Path) -> None:
    (task,) = good(write_rows(tmp_path / "rows.jsonl", BUG_FIX))
    assert set(task.files) == {"pkg/last.py"} == set(task.gold)
    folder = tmp_path / "pairs"
    for name, text in {"buggy": BUG_FIX["buggy"], "fixed": BUG_FIX["fixed"]}.items():
        (folder / name).mkdir(parents=True)
        (folder / name / "last.py").write_text(text)
    (folder / "tests").mkdir()
    (folder / "tests" / "test_last.py").write_text(BUG_FIX["tests"])
    (task,) = good(folder)
    assert task.gold == {"last.py": BUG_FIX["fixed"]}


def test_exercise_folders(tmp_path: Path) -> None:
    folder = tmp_path / "practice" / "two-fer"
    (folder / ".meta").mkdir(parents=True)
    (folder / ".docs").mkdir()
    (folder / ".meta" / "example.py").write_text("def two_fer(name='you'):\n    return name\n")
    (folder / ".docs" / "instructions.md").write_text("Share it.\n")
    (folder / "two_fer.py").write_text("def two_fer(name):\n    pass\n")
    (folder / "two_fer_test.py").write_text(
        "from two_fer import two_fer\n\ndef test_it():\n    assert two_fer() == 'you'\n"
    )
    (task,) = good(tmp_path)
    assert task.statement == "Share it."
    assert set(task.gold) == {"two_fer.py"}
    assert set(task.tests) == {"two_fer_test.py"}


PATCH = """--- a/calc/core.py
+++ b/calc/core.py
@@ -1,2 +1,2 @@
 def half(x):
-    return x // 2
+    return x / 2
"""
TEST_PATCH = """--- /dev/null
+++ b/tests/test_half.py
@@ -0,0 +1,4 @@
+from calc.core import half
+
+def test_half():
+    assert half(3) == 1.5
"""


def make_tar(path: Path, files: dict[str, bytes], *, links: dict[str, str] | None = None) -> None:
    with tarfile.open(path, "w:gz") as tar:
        for name, data in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(data), 0o755 if name.endswith(".sh") else 0o644
            tar.addfile(entry, io.BytesIO(data))
        for name, target in (links or {}).items():
            entry = tarfile.TarInfo(name)
            entry.type, entry.linkname = tarfile.SYMTYPE, target
            tar.addfile(entry)


def swe_row(archive: str, **changes: Any) -> dict[str, Any]:
    row = {
        "instance_id": "calc__calc-1",
        "archive": archive,
        "base_commit": "abc",
        "problem_statement": "Halves are wrong.",
        "patch": PATCH,
        "test_patch": TEST_PATCH,
        "FAIL_TO_PASS": '["tests/test_half.py::test_half"]',
        "PASS_TO_PASS": [],
    }
    return row | changes


REPOSITORY = {
    "calc-1/calc/__init__.py": b"",
    "calc-1/calc/core.py": b"def half(x):\n    return x // 2\n",
    "calc-1/run.sh": b"#!/bin/sh\n",
    "calc-1/logo.png": b"\x89PNG\0\xff",
    "calc-1/.git/HEAD": b"ref: refs/heads/future\n",
}


def test_repository_rows(tmp_path: Path) -> None:
    make_tar(tmp_path / "calc.tar.gz", REPOSITORY, links={"calc-1/core.py": "calc/core.py"})
    (task,) = good(write_rows(tmp_path / "rows.jsonl", swe_row("calc.tar.gz")))
    assert set(task.files) == {"calc/__init__.py", "calc/core.py", "run.sh", "core.py"}
    assert set(task.binary) == {"logo.png"}
    assert task.executable == ("run.sh",)
    assert task.gold == {"calc/core.py": "def half(x):\n    return x / 2\n"}
    assert task.fail_to_pass == ("tests/test_half.py::test_half",)


def test_repository_rows_from_a_zip(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "calc.zip", "w") as archive:
        for name, data in REPOSITORY.items():
            archive.writestr(name, data)
    (task,) = good(write_rows(tmp_path / "rows.jsonl", swe_row("calc.zip")))
    assert "calc/core.py" in task.files


@pytest.mark.parametrize(
    ("files", "links", "message"),
    [
        ({"../evil.py": b""}, {}, "leads outside"),
        ({"/etc/evil.py": b""}, {}, "leads outside"),
        ({"a/b.py": b""}, {"a/link": "../../etc/passwd"}, "leads outside"),
        ({"a/b.py": b""}, {"a/link": "/etc/passwd"}, "leads outside"),
        ({"calc/core.py": b"something else\n"}, {}, "does not fit"),
    ],
)
def test_archives_that_lead_outside(
    tmp_path: Path, files: dict[str, bytes], links: dict[str, str], message: str
) -> None:
    make_tar(tmp_path / "bad.tar.gz", files, links=links)
    make_tar(tmp_path / "calc.tar.gz", REPOSITORY)
    rows = write_rows(tmp_path / "rows.jsonl", swe_row("bad.tar.gz"), swe_row("calc.tar.gz"))
    (bad,) = messages(rows)
    assert message in bad
    assert [each.name for each in load_tasks(rows) if isinstance(each, CodeTask)] == ["calc__calc-1"]


def test_bad_rows_cost_one_message_each(tmp_path: Path) -> None:
    rows = write_rows(
        tmp_path / "rows.jsonl",
        "{not json",
        "[1, 2]",
        {"question": "?"},
        {key: value for key, value in HUMANEVAL.items() if key != "test"},
        HUMANEVAL | {"task_id": "Own/1", "test": ""},
        HUMANEVAL | {"task_id": "Own/2", "canonical_solution": "    return (\n"},
        HUMANEVAL | {"task_id": "Own/3", "test": "def check(candidate):\n  function() { return 1 }\n"},
        MBPP | {"test_list": "assert 1"},
        BUG_FIX | {"tests": {}},
        BUG_FIX | {"tests": {"../test_x.py": "def test(): pass"}},
        BUG_FIX | {"timeout": "long"},
        swe_row("missing.tar.gz"),
        HUMANEVAL,
        HUMANEVAL,
    )
    found = messages(rows)
    assert [each.split(":")[1] for each in found[:4]] == ["1", "2", "3", "4"]
    assert [each for each in found if "second task" in each] == [found[-1]]
    assert len(found) == 13, found
    assert len([each for each in load_tasks(rows) if isinstance(each, CodeTask)]) == 1


def test_nothing_of_a_known_shape(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no code tasks"):
        list(load_tasks(tmp_path))
    with pytest.raises(InputError, match="There is nothing"):
        list(load_tasks(tmp_path / "nowhere"))


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"image": "/tmp/recipe"}, "no folder"),
        ({"image": "nope"}, "no image recipe"),
        ({"statement": "half \ud800"}, "half a character"),
        ({"files": {".git/config": "x"}}, "belongs to git"),
        ({"timeout": 1e300}, "timeout"),
    ],
)
def test_a_row_cannot_reach_beyond_its_task(tmp_path: Path, changes: dict[str, object], word: str) -> None:
    row = {
        "name": "t",
        "statement": "s",
        "files": {},
        "tests": {"tests/test_a.py": "def test_a(): pass"},
        "gold": {"a.py": ""},
    }
    (found,) = load_tasks(write_rows(tmp_path / "rows.jsonl", {**row, **changes}))
    assert isinstance(found, BadTask)
    assert word in found.message


def test_an_archive_lies_beside_its_rows(tmp_path: Path) -> None:
    (found,) = load_tasks(write_rows(tmp_path / "rows.jsonl", swe_row("../calc.tar.gz")))
    assert isinstance(found, BadTask)
    assert "leads outside" in found.message
