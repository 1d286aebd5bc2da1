"""Episodes set aside: paused at a limit of one part, kept with all they need, taken up in rounds.

`paused/STAGE-NNNNN.db` in the run folder is a journal with the episodes that paused in that unit. Round 0 takes up what
paused in the units of `trajectories`, round n + 1 what paused again in round n. A file counts once its unit stands;
round n is the unit n of the stage `resumed`.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from pipeline.stages.attempts import Begun
from pipeline.store import Journal, RunFolder

FIRST = "trajectories"
STAGE = "resumed"


def _file(folder: RunFolder, stage: str, number: int) -> Path:
    return folder.path / "paused" / f"{stage}-{number:05d}.db"


def set_aside(folder: RunFolder, stage: str, number: int, journal: Journal, names: Sequence[str]) -> None:
    """Keeps the episodes that paused in a unit, before the unit stands and its journal goes."""
    path = _file(folder, stage, number)
    Journal.remove(path)  # what a killed process may have left
    if not names:
        return
    path.parent.mkdir(exist_ok=True)
    with Journal(path) as kept:
        for name in names:
            for index, event in enumerate(journal.events(name)):
                kept.append(name, index, event)


def _files(folder: RunFolder, number: int) -> list[Path]:
    """What round `number` takes up."""
    if number:
        path = _file(folder, STAGE, number - 1)
        return [path] if path.exists() and folder.shard_done(STAGE, number - 1) else []
    units = [unit for _, unit in folder.units(FIRST)]
    return [path for unit in units if (path := _file(folder, FIRST, unit)).exists()]


def rounds(folder: RunFolder) -> int:
    """Rounds that stand or could be played now."""
    number = 0
    while _files(folder, number):
        number += 1
    return number


def paused_count(folder: RunFolder) -> int:
    """Episodes that wait for `--resume-paused`."""
    number = rounds(folder)
    if number == 0 or folder.shard_done(STAGE, number - 1):
        return 0
    return len(PausedJobs(folder, number - 1).jobs)


class PausedJobs:
    """The episodes that a round takes up."""

    def __init__(self, folder: RunFolder, number: int) -> None:
        self._files = _files(folder, number)
        self.jobs: list[tuple[str, int]] = []
        """Task id and attempt."""
        with ExitStack() as stack:
            for path in self._files:
                kept = stack.enter_context(Journal(path))
                self.jobs += [Begun.of(kept.events(name)[:1]).job for name in kept.streams()]

    @property
    def tasks(self) -> set[str]:
        return {task for task, _ in self.jobs}

    def copy_to(self, journal: Journal) -> None:
        """Brings their events into the round's own journal; what is there already stays, and may have gone further."""
        for path in self._files:
            with Journal(path) as kept:
                for name in kept.streams():
                    there = len(journal.events(name))
                    for index, event in enumerate(kept.events(name)[there:], there):
                        journal.append(name, index, event)
