"""Where code tasks come from: folders written by hand, and the common public shapes. One bad row is one message."""

from __future__ import annotations

import base64
import gzip
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from pipeline.records.code import CodeTask
from pipeline.records.errors import ConfigError, InputError
from pipeline.sandbox import shapes, swe
from pipeline.sandbox.images import recipe_folder
from pipeline.sandbox.shapes import BadRow, Fields

KNOWN = (
    "Known shapes: a folder with task.yaml; rows like HumanEval (prompt, canonical_solution, test, entry_point), MBPP "
    "(code, test_list), bug fixes (buggy, fixed, tests) or SWE-bench (archive, patch, test_patch, FAIL_TO_PASS) as "
    ".jsonl, .json or .parquet; exercise folders with .meta/example.py; folders buggy/, fixed/ and tests/."
)


@dataclass(frozen=True, slots=True)
class BadTask:
    """A row or folder that is no usable task: where it stands and what is wrong with it."""

    where: str
    message: str


def load_tasks(path: Path) -> Iterator[CodeTask | BadTask]:
    """All tasks below or in `path`, in order. Raises InputError when there is nothing of a known shape at all."""
    if not path.exists():
        raise InputError(f"There is nothing at {path}.", way_out="Give a folder of tasks or a file of rows.")
    found = _from_folder(path) if path.is_dir() else _from_rows(path)
    first = next(found, None)
    if first is None:
        raise InputError(f"{path} holds no code tasks.", way_out=KNOWN)
    names: set[str] = set()
    task: CodeTask | BadTask | None = first
    while task is not None:
        if isinstance(task, CodeTask) and task.name in names:
            yield BadTask(task.name, f"a second task with the name {task.name}; the first one stands")
        else:
            names.update([task.name] if isinstance(task, CodeTask) else [])
            yield task
        task = next(found, None)


def _from_folder(path: Path) -> Iterator[CodeTask | BadTask]:
    own = (
        [path] if (path / "task.yaml").is_file() else sorted(each.parent for each in path.glob("*/task.yaml"))
    )
    for folder in own:
        yield _checked(folder.name, str(folder), lambda folder=folder: folder_task(folder))
    exercises = sorted(each.parent.parent for each in path.glob("**/.meta/example.py"))
    for folder in exercises:
        yield _checked(folder.name, str(folder), lambda folder=folder: shapes.exercise(folder))
    if (path / "buggy").is_dir() and (path / "fixed").is_dir():
        for buggy in sorted((path / "buggy").glob("*.py")):
            yield _checked(buggy.stem, str(buggy), lambda buggy=buggy: shapes.bug_fix_files(path, buggy))
    for file in sorted(each for each in path.iterdir() if each.suffix in (".jsonl", ".parquet")):
        yield from _from_rows(file)


def _from_rows(path: Path) -> Iterator[CodeTask | BadTask]:
    for number, row in rows_of(path):
        where = f"{path.name}:{number}"
        if isinstance(row, str):
            yield BadTask(where, row)
        else:
            yield _checked(f"{path.stem}-{number}", where, lambda row=row: row_fields(row, path.parent))


def rows_of(path: Path) -> Iterator[tuple[int, dict[str, Any] | str]]:
    """Rows with their numbers, from 1; a text says what is wrong with one. Raises InputError for the whole file."""
    try:
        if path.suffix == ".parquet":
            import pyarrow.parquet

            for batch in pyarrow.parquet.ParquetFile(path).iter_batches(batch_size=64):
                yield from enumerate(batch.to_pylist(), 1)
            return
        data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        if path.suffix == ".json":
            rows = json.loads(data)
            yield from enumerate(rows if isinstance(rows, list) else [rows], 1)
            return
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read: {error}.", way_out=KNOWN) from error
    for number, line in enumerate(data.split(b"\n"), 1):
        if line.strip():
            try:
                row = json.loads(line)
                yield number, row if isinstance(row, dict) else "the line is no JSON object"
            except ValueError as error:
                yield number, f"the line is no JSON: {error}"


def row_fields(row: dict[str, Any], folder: Path) -> Fields:
    """The fields of a CodeTask from a row of any known shape. Raises BadRow."""
    if "/" in str(row.get("image", "")):
        raise BadRow(f"image is {row['image']!r}; a row may name a recipe of sandboxes/ and no folder")
    common = {key: row[key] for key in ("timeout", "image", "difficulty", "license") if row.get(key)}
    return {**_shape(row, folder), **common}


def _shape(row: dict[str, Any], folder: Path) -> Fields:
    keys = set(row)
    if {"statement", "files", "gold"} <= keys:
        return row
    if {"patch", "test_patch"} & keys:
        return swe.fields(row, folder)
    if "canonical_solution" in keys or "entry_point" in keys:
        return shapes.humaneval(row)
    if "test_list" in keys:
        return shapes.mbpp(row)
    if {"buggy", "buggy_code"} & keys:
        return shapes.bug_fix(row)
    raise BadRow(f"the row has no known shape; its fields are {', '.join(sorted(keys))[:200]}")


def folder_task(folder: Path) -> Fields:
    """A task written by hand: `task.yaml`, `repo/` (what the agent gets), `hidden/` (the tests), `gold/`.

    `hidden/` and `gold/` are laid over the repository; `gold_deletes` in `task.yaml` names paths that the gold removes.
    """
    data = yaml.safe_load((folder / "task.yaml").read_text(encoding="utf-8"))
    if not isinstance(data, dict):
        raise BadRow("task.yaml is no mapping")
    repo, hidden, gold = (swe.read_tree(folder / name) for name in ("repo", "hidden", "gold"))
    deleted: list[str] = data.pop("gold_deletes", [])
    return {
        "name": folder.name,
        "source": "hand",
        "license": "Apache-2.0",
        "files": swe.texts(repo),
        "binary": {path: base64.b64encode(data).decode() for path, data in swe.binaries(repo).items()},
        "tests": swe.texts(hidden),
        "gold": {**swe.texts(gold), **dict.fromkeys(deleted)},
        "executable": sorted(
            path for tree in (repo, hidden, gold) for path, file in tree.items() if file.executable
        ),
        **data,
    }


def _checked(name: str, where: str, make: Any) -> CodeTask | BadTask:
    """The record, or what is wrong with it in one line."""
    try:
        task = CodeTask.model_validate({"name": name, **make()})
    except ValidationError as error:
        first = error.errors()[0]
        return BadTask(where, f"{'.'.join(map(str, first['loc']))}: {first['msg']}")
    except KeyError as error:
        return BadTask(where, f"the field {error.args[0]} is missing")
    except (
        BadRow,
        OSError,
        UnicodeDecodeError,
        yaml.YAMLError,
        ValueError,
        TypeError,
        AttributeError,
    ) as error:
        return BadTask(where, f"it cannot be used: {error}")
    return BadTask(where, problem) if (problem := task_problem(task)) else task


def task_problem(task: CodeTask) -> str:
    """What makes a task unusable before anything of it runs; empty when nothing does."""
    texts = (task.name, task.statement, *task.files, *task.files.values(), *task.tests, *task.tests.values(),
             *task.gold, *(text or "" for text in task.gold.values()))  # fmt: skip
    if any(re.search(r"[\ud800-\udfff]", text) for text in texts):
        return "it holds half a character (a lone surrogate), which no file can hold"
    try:
        recipe_folder(task.image)
    except ConfigError as unknown:
        return str(unknown)
    if not any(text.strip() for text in task.tests.values()):
        return "it has no tests"
    if not task.gold:
        return "it has no reference solution"
    for path in (*task.files, *task.tests, *task.gold, *task.binary):
        if not path or path.startswith("/") or ".." in path.split("/") or "\0" in path:
            return f"the path {path!r} leads outside the repository"
        if ".git" in path.split("/"):
            return f"the path {path!r} belongs to git, whose history is made anew"
    for path, text in task.tests.items():
        if path.endswith(".py") and (error := shapes.syntax_error(text)):
            return f"its tests are not Python: {path}, {error}"
    return ""
