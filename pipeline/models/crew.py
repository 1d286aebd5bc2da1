"""Workers that use the same endpoint at the same time divide its limits: a folder says who is there."""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
import time
from collections.abc import Callable
from pathlib import Path

_LOOK_SECONDS = 5.0
"""A member whose process was killed leaves no trace in the folder's time; so often is looked for those."""
_TICK_NS = 50_000_000
"""A folder's time moves in ticks: two changes within one leave the same time, so a fresh one says nothing yet."""
_MEMBER = ".member"


class Crew:
    """One member among those who share a limit on this machine, whatever run and process they belong to.

    Each holds a lock on a file of its own in `folder`; the file of a killed process is unlocked, and removed by whoever
    finds it.
    """

    def __init__(self, folder: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self._folder = folder
        self._clock = clock
        self._seen = -1
        self._settled = False
        self._seen_at = 0.0
        self._rank, self._size = 0, 1
        folder.mkdir(parents=True, exist_ok=True)
        self._name = secrets.token_hex(8) + _MEMBER
        entering = folder / f"{self._name}.new"
        self._file = entering.open("w")
        fcntl.flock(self._file, fcntl.LOCK_EX)
        entering.rename(folder / self._name)  # locked before it can be seen

    def part(self, whole: int) -> int:
        """This member's part of whole units; all parts together are `whole`, so that some may be 0."""
        self._look()
        return whole // self._size + (self._rank < whole % self._size)

    @property
    def share(self) -> float:
        """This member's part of what can be divided, from 0 to 1."""
        self._look()
        return 1.0 / self._size

    def leave(self) -> None:
        """Others may have this part from now on. May be called twice."""
        if not self._file.closed:
            (self._folder / self._name).unlink(missing_ok=True)
            self._file.close()

    def _look(self) -> None:
        changed = os.stat(self._folder).st_mtime_ns
        now = self._clock()
        if changed == self._seen and self._settled and now - self._seen_at < _LOOK_SECONDS:
            return
        self._seen, self._seen_at = changed, now
        self._settled = time.time_ns() - changed > _TICK_NS
        here = sorted(
            one for one in self._folder.glob(f"*{_MEMBER}") if one.name == self._name or _alive(one)
        )
        self._size = max(1, len(here))
        self._rank = next((n for n, one in enumerate(here) if one.name == self._name), 0)


def _alive(member: Path) -> bool:
    """Whether the process of a member still runs; what a killed one left is removed."""
    with contextlib.suppress(FileNotFoundError), member.open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        member.unlink(missing_ok=True)
    return False
