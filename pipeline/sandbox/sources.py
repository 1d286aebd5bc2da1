"""Where code tasks come from: folders written by hand, and the common public shapes. One bad row is one message."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from pipeline.records.code import CodeTask
from pipeline.records.errors import InputError


@dataclass(frozen=True, slots=True)
class BadTask:
    """A row or folder that is no usable task: where it stands and what is wrong with it."""

    where: str
    message: str


def load_tasks(path: Path) -> Iterator[CodeTask | BadTask]:
    """All tasks below or in `path`, in order. Raises InputError when there is nothing of a known shape at all."""
    if not path.exists():
        raise InputError(f"There is nothing at {path}.", way_out="Give a folder of tasks or a JSONL file.")
    folders = (
        [path] if (path / "task.yaml").is_file() else sorted(each.parent for each in path.glob("*/task.yaml"))
    )
    if not folders:
        raise InputError(f"{path} holds no code tasks.", way_out="A task is a folder with a task.yaml.")
    yield from _without_repeats(folder_task(folder) for folder in folders)


def _without_repeats(found: Iterator[CodeTask | BadTask]) -> Iterator[CodeTask | BadTask]:
    names: set[str] = set()
    for task in found:
        if isinstance(task, CodeTask) and task.name in names:
            yield BadTask(task.name, f"a second task with the name {task.name}; the first one stands")
            continue
        if isinstance(task, CodeTask):
            names.add(task.name)
        yield task


def folder_task(folder: Path) -> CodeTask | BadTask:
    """A task written by hand: `task.yaml`, `repo/` (what the agent gets), `hidden/` (the tests), `gold/`.

    `hidden/` and `gold/` are laid over the repository; `task.yaml` may name paths that the gold deletes.
    """
    try:
        data = yaml.safe_load((folder / "task.yaml").read_text(encoding="utf-8"))
        repo, hidden, gold = (_read_tree(folder / name) for name in ("repo", "hidden", "gold"))
        deleted: list[str] = data.pop("gold_deletes", [])
        fields: dict[str, Any] = {
            "name": folder.name,
            "source": "hand",
            "license": "Apache-2.0",
            "files": _texts(repo),
            "binary": {
                path: base64.b64encode(data).decode()
                for path, (data, _) in repo.items()
                if not _is_text(data)
            },
            "tests": _texts(hidden),
            "gold": {**_texts(gold), **dict.fromkeys(deleted)},
            "executable": sorted(
                path for tree in (repo, hidden, gold) for path, (_, can) in tree.items() if can
            ),
        }
        return checked({**fields, **data}, folder.name)
    except (OSError, UnicodeDecodeError, yaml.YAMLError, AttributeError, TypeError) as error:
        return BadTask(str(folder), f"it cannot be read: {error}")


def checked(fields: dict[str, Any], where: str) -> CodeTask | BadTask:
    """The record, or what is wrong with it in one line."""
    try:
        task = CodeTask.model_validate(fields)
    except ValidationError as error:
        first = error.errors()[0]
        return BadTask(where, f"{'.'.join(map(str, first['loc']))}: {first['msg']}")
    if not task.tests:
        return BadTask(where, "it has no tests")
    if not task.gold:
        return BadTask(where, "it has no reference solution")
    for path in (*task.files, *task.tests, *task.gold, *task.binary):
        if not path or path.startswith("/") or ".." in path.split("/") or "\0" in path:
            return BadTask(where, f"the path {path!r} leads outside the repository")
    return task


def _read_tree(folder: Path) -> dict[str, tuple[bytes, bool]]:
    paths = sorted(path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {
        str(path.relative_to(folder)): (path.read_bytes(), bool(path.stat().st_mode & 0o100))
        for path in paths
    }


def _is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _texts(tree: dict[str, tuple[bytes, bool]]) -> dict[str, str]:
    return {path: data.decode() for path, (data, _) in tree.items() if _is_text(data)}
