"""Rows and folders of the common public shapes, as the fields of a CodeTask.

Shapes after the public data sets' own documentation: HumanEval, MBPP, QuixBugs-like folders, Exercism tracks.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

Fields = dict[str, Any]
TEST = "tests/test_solution.py"


class BadRow(Exception):
    """A row that cannot become a task; the message says why."""


def syntax_error(text: str) -> str:
    """What is wrong with Python source, empty if nothing is."""
    try:
        ast.parse(text)
    except (SyntaxError, ValueError) as error:
        return str(error)
    return ""


def text_of(row: Fields, *names: str) -> str:
    """The first field of `names` that is there. Raises BadRow when none is, or when it is no text."""
    for name in names:
        if row.get(name) is not None:
            if not isinstance(row[name], str):
                raise BadRow(f"the field {name} is no text")
            return str(row[name])
    raise BadRow(f"the field {names[0]} is missing")


def name_of(row: Fields, *, default: str = "") -> Fields:
    """`{"name": …}` from the usual id fields, made fit for a name; nothing when there is none."""
    for key in ("task_id", "instance_id", "name", "id", "question_id"):
        if row.get(key) not in (None, ""):
            return {"name": re.sub(r"[^\w.-]+", "-", str(row[key])).strip("-")}
    return {"name": default} if default else {}


def humaneval(row: Fields) -> Fields:
    """`prompt` (signature and docstring), `canonical_solution` (the body), `test` (`check(candidate)`), `entry_point`."""
    prompt, body = text_of(row, "prompt"), text_of(row, "canonical_solution")
    test, entry = text_of(row, "test"), text_of(row, "entry_point")
    if not entry.isidentifier():
        raise BadRow(f"the entry point {entry!r} is no name")
    if not test.strip():
        raise BadRow("it has no tests")
    stub = prompt if not syntax_error(prompt) else prompt.rstrip("\n") + "\n    raise NotImplementedError\n"
    gold = prompt + body
    if error := syntax_error(gold):
        raise BadRow(f"prompt and solution together are not Python: {error}")
    call = f"\n\ndef test_{entry}():\n    check({entry})\n" if re.search(r"^def check\(", test, re.M) else ""
    if not call and "def test_" not in test:
        raise BadRow("its test defines neither check(candidate) nor tests")
    return {
        **name_of(row),
        "source": "humaneval",
        "statement": f"Complete the function `{entry}` in `solution.py` as its docstring says.",
        "files": {"solution.py": stub.rstrip("\n") + "\n"},
        "tests": {TEST: f"from solution import *\nfrom solution import {entry}\n\n{test.strip()}\n{call}"},
        "gold": {"solution.py": gold.rstrip("\n") + "\n"},
        "fail_to_pass": [f"{TEST}::test_{entry}"] if call else [],
    }


def mbpp(row: Fields) -> Fields:
    """`text` or `prompt`, `code`, `test_list` (assertions), optional `test_setup_code` or `test_imports`."""
    code, asserts = text_of(row, "code"), row["test_list"]
    if isinstance(asserts, str) or not asserts or not all(isinstance(each, str) for each in asserts):
        raise BadRow("test_list is no list of assertions")
    imports = row.get("test_imports") or []
    setup = "\n".join([*imports, str(row.get("test_setup_code") or "")]).strip()
    tests = [
        f"def test_{number}():\n" + "\n".join(f"    {line}" for line in each.strip().splitlines())
        for number, each in enumerate(asserts, 1)
    ]
    header = f"from solution import *\n{setup}".strip()
    return {
        **name_of(row),
        "source": "mbpp",
        "statement": f"{text_of(row, 'text', 'prompt').strip()}\n\nWrite it in `solution.py`. For example:\n\n"
        f"    {asserts[0].strip()}\n",
        "files": {"solution.py": '"""To be written."""\n'},
        "tests": {TEST: header + "\n\n\n" + "\n\n\n".join(tests) + "\n"},
        "gold": {"solution.py": code.replace("\r\n", "\n").rstrip("\n") + "\n"},
        "fail_to_pass": [f"{TEST}::test_{number}" for number in range(1, len(asserts) + 1)],
    }


def bug_fix(row: Fields) -> Fields:
    """`buggy` and `fixed` (one file's text), `tests` (a file's text, or path to text), optional `path`, `statement`."""
    path = str(row.get("path") or row.get("file") or "solution.py")
    tests = row.get("tests", row.get("test"))
    if not tests or not isinstance(tests, str | dict):
        raise BadRow("it has no tests")
    return {
        **name_of(row),
        "source": "bug_fix",
        "statement": row.get("statement")
        or row.get("description")
        or f"`{path}` has a bug. Find it and fix it.",
        "files": {path: text_of(row, "buggy", "buggy_code"), **(row.get("files") or {})},
        "tests": tests if isinstance(tests, dict) else {f"tests/test_{Path(path).stem}.py": tests},
        "gold": {path: text_of(row, "fixed", "fixed_code")},
    }


def bug_fix_files(folder: Path, buggy: Path) -> Fields:
    """A file of `buggy/`, its twin in `fixed/` and `tests/test_NAME.py`."""
    test = folder / "tests" / f"test_{buggy.stem}.py"
    fixed = folder / "fixed" / buggy.name
    for path in (test, fixed):
        if not path.is_file():
            raise BadRow(f"{path.relative_to(folder)} is missing")
    return bug_fix(
        {
            "name": buggy.stem,
            "path": buggy.name,
            "buggy": buggy.read_text(encoding="utf-8"),
            "fixed": fixed.read_text(encoding="utf-8"),
            "tests": {f"tests/{test.name}": test.read_text(encoding="utf-8")},
        }
    )


def exercise(folder: Path) -> Fields:
    """An exercise: `NAME.py` (stub), `.meta/example.py`, `NAME_test.py` or `test_NAME.py`, `.docs/*.md`."""
    tests = sorted([*folder.glob("*_test.py"), *folder.glob("test_*.py")])
    stubs = [path for path in sorted(folder.glob("*.py")) if path not in tests]
    if not tests or not stubs:
        raise BadRow("it has no tests" if not tests else "it has no stub")
    wanted = folder.name.replace("-", "_")
    stub = next((path for path in stubs if path.stem == wanted), stubs[0])
    docs = [
        folder / ".docs" / name for name in ("introduction.md", "instructions.md", "instructions.append.md")
    ]
    text = "\n\n".join(path.read_text(encoding="utf-8").strip() for path in docs if path.is_file())
    return {
        "name": folder.name,
        "source": "exercise",
        "statement": text or f"Complete `{stub.name}`.",
        "files": {path.name: path.read_text(encoding="utf-8") for path in stubs},
        "tests": {path.name: path.read_text(encoding="utf-8") for path in tests},
        "gold": {stub.name: (folder / ".meta" / "example.py").read_text(encoding="utf-8")},
    }
