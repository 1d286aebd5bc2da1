"""Progress of a run on stderr: a live line on a terminal, plain lines elsewhere.

What units have finished stands in the funnel; what is under way stands in their journals, read beside their writers.
"""

from __future__ import annotations

import sqlite3
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pipeline.store import RunFolder

_SILENCE = 60.0
"""Seconds after which a plain line says where things stand, although no unit was finished."""


@contextmanager
def watching(folder: RunFolder) -> Iterator[None]:
    """Shows, until the block ends, what the finished units of the run add up to."""
    stop = threading.Event()
    thread = threading.Thread(target=_watch, args=(folder, stop), daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(timeout=5)


def _watch(folder: RunFolder, stop: threading.Event) -> None:
    live, shown, said = sys.stderr.isatty(), "", time.monotonic()
    present = _Present(folder)
    while not stop.wait(1.0):
        finished = progress_line(folder)
        line = f"{finished}{present.text()}"
        if live:
            print(f"\r\x1b[2K{line}", end="", file=sys.stderr, flush=True)
        elif finished != shown or time.monotonic() - said > _SILENCE:
            print(line, file=sys.stderr, flush=True)
            said = time.monotonic()
        shown = finished
    final = progress_line(folder)
    if live or final != shown:
        print(f"\r\x1b[2K{final}" if live else final, file=sys.stderr, flush=True)


class _Present:
    """The stage under way: how many of its units stand, what the journals of the others hold, what models were asked in
    the whole run so far, and how long the stage may still take."""

    def __init__(self, folder: RunFolder) -> None:
        from pipeline.stages.context import Context
        from pipeline.stages.units import stages_of

        self._context = Context.open(folder.path)
        self._ahead = list(stages_of(folder.flow, self._context.config))
        self._units = 0
        self._enter()

    def _enter(self) -> None:
        """The first stage that has units left; what came before it stands, so that its units can be counted."""
        from pipeline.stages.units import STAGES

        while self._ahead:
            self._units = STAGES[self._ahead[0]].units(self._context)
            self._began, self._since = self._standing(), time.monotonic()
            if self._began < self._units:
                self._spent = self._context.spent()
                self._seen = self._began
                return
            self._ahead.pop(0)

    def _standing(self) -> int:
        return len(self._context.folder.units(self._ahead[0]))

    def text(self) -> str:
        """` · now trajectories: 3 of 6 units, 58 done in open ones; 412 model calls, …; about 12 min left`."""
        if self._ahead and self._standing() >= self._units:
            self._enter()
        if not self._ahead:
            return ""
        stage, standing = self._ahead[0], self._standing()
        if standing != self._seen:
            self._seen, self._spent = standing, self._context.spent()
        open_units, before = _open_units(self._context.folder), self._spent
        text = f" · now {stage}: {standing} of {self._units} units"
        if open_units.finished:
            text += f", {open_units.finished} done in open ones"
        if self._context.asks_models:
            tokens = before.tokens_in + before.tokens_out
            asked = _OpenUnits(0, before.calls, before.cached, tokens, before.cost) + open_units
            text += (
                f"; {asked.calls} model calls, {asked.cached} cached, {asked.tokens} tokens, {asked.cost:.4f}"
            )
        if done := standing - self._began:
            left = (time.monotonic() - self._since) / done * (self._units - standing)
            text += f"; about {left / 60:.0f} min left" if left > 90 else f"; about {left:.0f} s left"
        return text


@dataclass(frozen=True, slots=True)
class _OpenUnits:
    """What the journals of unfinished units hold."""

    finished: int = 0
    calls: int = 0
    cached: int = 0
    tokens: int = 0
    cost: float = 0.0

    def __add__(self, other: _OpenUnits) -> _OpenUnits:
        return _OpenUnits(
            *(mine + theirs for mine, theirs in zip(astuple(self), astuple(other), strict=True))
        )


def _open_units(folder: RunFolder) -> _OpenUnits:
    journals = sorted((folder.path / "journal").glob("*.db"))
    return sum((_open_unit(path) for path in journals), start=_OpenUnits())


def _open_unit(journal: Path) -> _OpenUnits:
    """Reads beside the writer; a journal that has just gone, or is just being made, holds nothing."""
    try:
        with closing(sqlite3.connect(f"{journal.absolute().as_uri()}?mode=ro", uri=True)) as database:
            (finished,) = database.execute("select count(*) from finished").fetchone()
            return _OpenUnits(finished, *database.execute(_ASKED).fetchone())
    except sqlite3.OperationalError:
        return _OpenUnits()


_ASKED = """
with asked as (select substr(answer, 1, instr(answer, char(10)) - 1) as row from answers), counted as (
    select row ->> 'cached' as cached, (row ->> 'tokens_in') + (row ->> 'tokens_out') as tokens, row ->> 'cost' as cost
    from asked)
select count(*) filter (where not cached), count(*) filter (where cached),
    coalesce(sum(tokens) filter (where not cached), 0), coalesce(sum(cost) filter (where not cached), 0.0) from counted
"""


def open_line(folder: RunFolder) -> str:
    """` · unfinished: 58 done; 412 model calls, …` of units that do not stand yet; empty when there are none."""
    units = _open_units(folder)
    if units == _OpenUnits():
        return ""
    asked = f"; {units.calls} model calls, {units.tokens} tokens, {units.cost:.4f}" if units.calls else ""
    return f" · unfinished: {units.finished} done{asked}"


def stages(folder: RunFolder) -> dict[str, dict[str, float]]:
    """The finished units of a run in sum, stage by stage, in the order in which a run walks through them."""
    from pipeline.store.tables import step

    sums: dict[str, dict[str, float]] = {}
    for row in folder.funnel():
        of = sums.setdefault(row["stage"], dict.fromkeys(_COUNTED, 0))
        for key in _COUNTED:
            of[key] += row[key]
    return dict(sorted(sums.items(), key=lambda item: step(item[0])))


def progress_line(folder: RunFolder) -> str:
    """`NAME: worlds 12 kept · tasks 240 kept, 21 rejected · …`, with tokens and cost where there are any."""
    parts = []
    for stage, of in stages(folder).items():
        text = f"{stage} {of['kept']} kept"
        text += "".join(f", {of[key]} {key}" for key in ("rejected", "failed") if of[key])
        text += f", {of['pending']} paused" if of["pending"] else ""
        text += f", {of['tokens']} tokens, {of['cost']:.4f}" if of["tokens"] else ""
        parts.append(text)
    return f"{folder.name}: {' · '.join(parts) or 'starting'}"


_COUNTED = ("entered", "kept", "rejected", "failed", "pending", "tokens", "cost")
