"""Episodes set aside: paused at a limit of one part, kept with all they need, taken up in rounds.

`paused/STAGE-NNNNN.db` in the run folder is a journal with the episodes that paused in that unit. Round 0 takes up what
paused in the units of `trajectories` (or `code`), round n + 1 what paused again in round n. A file counts once its unit
stands; round n is the unit n of the stage `resumed` (or `resumed_code`).
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from pipeline.stages.attempts import Begun
from pipeline.stages.context import Context
from pipeline.store import Journal, RunFolder

RESUMED = {"trajectories": "resumed", "code": "resumed_code"}
"""Where the paused episodes of a stage are taken up."""


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


def _files(folder: RunFolder, first: str, number: int) -> list[Path]:
    """What round `number` takes up."""
    if number:
        stage = RESUMED[first]
        path = _file(folder, stage, number - 1)
        return [path] if path.exists() and folder.shard_done(stage, number - 1) else []
    units = [unit for _, unit in folder.units(first)]
    return [path for unit in units if (path := _file(folder, first, unit)).exists()]


def _rounds(folder: RunFolder, first: str) -> int:
    """Rounds that stand or could be played now."""
    number = 0
    while _files(folder, first, number):
        number += 1
    return number


def rounds(context: Context, first: str) -> int:
    """Units of taking up what paused in the stage `first`: those that stand, and one more where it is asked for."""
    if context.config.run.resume_paused:
        return _rounds(context.folder, first)
    return len(context.folder.units(RESUMED[first]))


def paused_count(folder: RunFolder) -> int:
    """Episodes that wait for `--resume-paused`."""
    waiting = 0
    for first, stage in RESUMED.items():
        number = _rounds(folder, first)
        if number and not folder.shard_done(stage, number - 1):
            waiting += len(PausedJobs(folder, first, number - 1).jobs)
    return waiting


class PausedJobs:
    """The episodes that a round takes up."""

    def __init__(self, folder: RunFolder, first: str, number: int) -> None:
        self._files = _files(folder, first, number)
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
