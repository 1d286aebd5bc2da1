"""What lies in a data folder and is of no use any more: listed first, removed on request."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pipeline.store.catalog import BUILDING
from pipeline.store.folder import RunFolder, names

_QUIET = 3600.0
"""Seconds without a change after which something nobody locks counts as abandoned."""


@dataclass(frozen=True)
class Garbage:
    """A file or folder that nothing refers to."""

    path: Path
    bytes: int
    why: str


def garbage(data_dir: Path, *, quiet: float = _QUIET) -> list[Garbage]:
    """What can go: half-made run folders, interrupted writes, journals of units that stand, half-made catalogs.

    Runs that a process holds are left alone, and so is whatever changed in the last `quiet` seconds. Finished rows,
    unfinished journals and whole runs are never garbage.
    """
    data_dir = Path(data_dir)
    found = [
        Garbage(path, _size(path), why)
        for path, why in _candidates(data_dir)
        if time.time() - _changed(path) >= quiet
    ]
    return sorted(found, key=lambda each: str(each.path))


def remove(found: Sequence[Garbage]) -> int:
    """Removes what was listed; returns the bytes freed. What vanished meanwhile is fine."""
    for each in found:
        if each.path.is_dir():
            shutil.rmtree(each.path, ignore_errors=True)
        else:
            each.path.unlink(missing_ok=True)
    return sum(each.bytes for each in found)


def _candidates(data_dir: Path) -> Iterator[tuple[Path, str]]:
    for path in (data_dir / "runs").glob(".new-*"):
        yield path, "a run folder that was never finished being made"
    for path in data_dir.glob(f"{BUILDING}*"):
        yield path, "a catalog that was never finished"
    for name in names(data_dir):
        run = data_dir / "runs" / name
        if not (run / "shards").is_dir() or _held(run):
            continue
        for path in (run / "partial").glob("*"):
            yield path, f"an interrupted write of the run {name}"
        for path in (run / "journal").glob("*.db*"):
            unit = path.name.split(".db")[0]
            if (run / "shards" / unit).is_dir():
                yield path, f"the journal of a unit of the run {name} that stands"


def _held(run: Path) -> bool:
    facts = {"flow": "", "seed": 0, "started": "", "version": ""}
    return bool(RunFolder(run, facts).holder())


def _size(path: Path) -> int:
    if path.is_dir():
        return sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
    return path.stat().st_size


def _changed(path: Path) -> float:
    times = [each.stat().st_mtime for each in (path, *path.rglob("*"))]
    return max(times)
