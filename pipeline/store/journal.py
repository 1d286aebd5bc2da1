"""The journal: what an unfinished unit of work has done so far, one committed step at a time.

SQLite in WAL mode. Events are committed with `synchronous=NORMAL`: a killed process loses nothing, since the
operating system holds what was written; a power cut may lose the last moments, never corrupts (the WAL's checksums
cut a torn tail off), and what is lost is simply owed again. Answers of models cost money, so they are
committed with `synchronous=FULL`: what was paid for is on the disk before it is used.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

from pipeline.records import RunError
from pipeline.store.files import told_when_full

_TABLES = """
create table if not exists events(stream text not null, idx integer not null, event text not null,
    primary key (stream, idx)) without rowid;
create table if not exists finished(stream text primary key, summary text not null) without rowid;
create table if not exists answers(key text primary key, answer text not null) without rowid;
"""
_SUFFIXES = ("", "-wal", "-shm")


class Journal:
    """Streams of events (one per trajectory), summaries of finished streams, and answers of models by key.

    For one object at a time. Raises RunError when the file is no journal or the disk is full.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lengths: dict[str, int] = {}
        try:
            # The interpreter's SQLite is serialized, and each statement here is a transaction of its own.
            self._db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
            self._db.execute("pragma journal_mode = wal")
            self._db.execute("pragma synchronous = normal")
            self._db.executescript(_TABLES)
        except sqlite3.DatabaseError as error:
            raise self._damaged(error) from error

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def append(self, stream: str, index: int, event_json: str) -> None:
        """Commits event `index` (from 0, without gaps) of a stream.

        Raises RunError when the stream already has that event or lacks the one before.
        """
        if index != self._length(stream) or not self._write(
            "insert or ignore into events values (?, ?, ?)", (stream, index, event_json)
        ):
            raise RunError(
                f"Event {index} of {stream} does not follow on what {self.path} holds.",
                way_out="Read events() first and go on from there.",
            )
        self._lengths[stream] = index + 1

    def _length(self, stream: str) -> int:
        if stream not in self._lengths:
            rows = self._read("select coalesce(max(idx) + 1, 0) from events where stream = ?", stream)
            self._lengths[stream] = int(rows[0][0])
        return self._lengths[stream]

    def events(self, stream: str) -> list[str]:
        """The committed events of a stream, in order."""
        return [
            row[0] for row in self._read("select event from events where stream = ? order by idx", stream)
        ]

    def streams(self) -> list[str]:
        """The streams that have events, finished or not, by name."""
        return [row[0] for row in self._read("select distinct stream from events order by stream")]

    def finish(self, stream: str, summary_json: str) -> None:
        """Commits that a stream is finished, with what is to be remembered of it. The first summary stands."""
        self._write("insert or ignore into finished values (?, ?)", (stream, summary_json))

    def finished(self) -> dict[str, str]:
        """Summaries of the finished streams."""
        return dict(self._read("select stream, summary from finished order by stream"))

    def record(self, key: str, text: str) -> None:
        """Commits an answer to the disk itself. The first answer for a key stands."""
        self._db.execute("pragma synchronous = full")
        try:
            self._write("insert or ignore into answers values (?, ?)", (key, text))
        finally:
            self._db.execute("pragma synchronous = normal")

    def answered(self, key: str) -> str | None:
        """The answer recorded for a key, None when there is none."""
        rows = self._read("select answer from answers where key = ?", key)
        return rows[0][0] if rows else None

    def paid(self) -> list[tuple[str, str]]:
        """Key and first line (the row of the ledger) of every recorded answer, by key."""
        return self._read(
            "select key, substr(answer, 1, instr(answer, char(10)) - 1) from answers order by key"
        )

    def close(self) -> None:
        self._db.close()

    @staticmethod
    def remove(path: Path) -> None:
        """Removes a journal from the disk; one that is not there is fine."""
        for suffix in _SUFFIXES:
            path.with_name(path.name + suffix).unlink(missing_ok=True)

    def _write(self, sql: str, values: tuple[str | int, ...]) -> int:
        try:
            return self._db.execute(sql, values).rowcount
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode in (sqlite3.SQLITE_FULL, *_IO_WRITE):
                with told_when_full(self.path):
                    raise OSError(28, str(error)) from error
            raise
        except sqlite3.DatabaseError as error:
            raise self._damaged(error) from error

    def _read(self, sql: str, *values: str) -> list[Any]:
        try:
            return self._db.execute(sql, values).fetchall()
        except sqlite3.DatabaseError as error:
            raise self._damaged(error) from error

    def _damaged(self, error: Exception) -> RunError:
        return RunError(
            f"The journal {self.path} cannot be read ({error}).",
            way_out="Delete it and resume: the unit of work that it belongs to is done again.",
        )


_IO_WRITE = (sqlite3.SQLITE_IOERR_WRITE, sqlite3.SQLITE_IOERR_FSYNC)
