"""The journal: committed is committed, torn is owed again."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.records import RunError
from pipeline.store import Journal, RunFolder


def test_streams_answers_and_summaries_come_back(tmp_path: Path) -> None:
    path = tmp_path / "j.db"
    with Journal(path) as journal:
        journal.append("b", 0, "{}")
        journal.append("a", 0, '{"x":1}')
        journal.append("a", 1, '{"x":2}')
        journal.finish("a", '{"n":2}')
        journal.record("k", "answer")
        journal.record("k", "another")
    with Journal(path) as journal:
        assert journal.events("a") == ['{"x":1}', '{"x":2}']
        assert journal.events("nobody") == []
        assert journal.streams() == ["a", "b"]
        assert journal.finished() == {"a": '{"n":2}'}
        assert journal.answered("k") == "answer"
        assert journal.answered("other") is None


@pytest.mark.parametrize("index", [0, 2, -1, 5])
def test_an_event_that_does_not_follow_is_refused(tmp_path: Path, index: int) -> None:
    with Journal(tmp_path / "j.db") as journal:
        journal.append("a", 0, "{}")
        with pytest.raises(RunError, match="does not follow"):
            journal.append("a", index, "{}")
        assert journal.events("a") == ["{}"]


_WRITER = """
import pathlib, sys
from pipeline.store import Journal
journal = Journal(pathlib.Path(sys.argv[1]))
for n in range(1_000_000):
    journal.append("s", n, str(n))
    print(n, flush=True)
"""


def test_what_a_killed_process_committed_is_there(tmp_path: Path) -> None:
    path = tmp_path / "j.db"
    with subprocess.Popen(
        [sys.executable, "-c", _WRITER, str(path)], stdout=subprocess.PIPE, text=True
    ) as writer:
        assert writer.stdout
        for _ in range(500):
            last = int(writer.stdout.readline())
        os.kill(writer.pid, signal.SIGKILL)
    with Journal(path) as journal:
        events = journal.events("s")
        assert len(events) > last
        assert events == [str(n) for n in range(len(events))]
        journal.append("s", len(events), "next")


@pytest.mark.parametrize("cut", [1, 100, 3000, 9000])
def test_a_torn_tail_is_owed_again(tmp_path: Path, cut: int) -> None:
    """A power cut leaves a prefix of the write-ahead log: the events in it stand, the rest never happened."""
    path = tmp_path / "j.db"
    with Journal(path) as journal:
        for n in range(50):
            journal.append("s", n, str(n))
        for suffix in ("", "-wal"):
            shutil.copy(tmp_path / f"j.db{suffix}", tmp_path / f"torn.db{suffix}")
    wal = tmp_path / "torn.db-wal"
    os.truncate(wal, wal.stat().st_size - cut)
    with Journal(tmp_path / "torn.db") as journal:
        events = journal.events("s")
        assert 0 < len(events) < 50
        assert events == [str(n) for n in range(len(events))]
        journal.append("s", len(events), "again")


def test_a_file_that_is_no_journal_is_named(tmp_path: Path) -> None:
    path = tmp_path / "j.db"
    path.write_bytes(b"no database at all, " * 100)
    with pytest.raises(RunError, match=r"j\.db cannot be read.*Delete it and resume"):
        Journal(path)


def test_the_journal_goes_when_its_unit_stands(tmp_path: Path) -> None:
    run = RunFolder.create(tmp_path, "r", "tasks", 1, "")
    with run.journal("tasks", 0) as journal, run.journal("tasks", 1) as other:
        journal.append("s", 0, "{}")
        other.append("s", 0, "{}")
        run.write_shard("tasks", 0, {})
    assert [path.name for path in (run.path / "journal").glob("*.db")] == ["tasks-00001.db"]
