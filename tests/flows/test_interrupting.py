"""Ctrl-C and kill -9 on a run that pays for its calls: nothing that was paid is lost, and no process stays behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from pipeline.store import RunFolder
from tests.endpoint.server import Endpoint, text

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]
CONFIG = (
    "worlds: {only: [harbour-hotel]}\ntasks: {count: 6}\nrun: {workers: 2}\ncache: {enabled: false}\n"
    "trajectories: {shard_tasks: 2, attempts: 1}\n"
)


def _command(*words: str) -> list[str]:
    return [sys.executable, "-c", "from pipeline.cli import main; main()", *words]


def _wait(condition: Callable[[], object]) -> None:
    end = time.monotonic() + 200
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)


def _of_session(leader: int) -> list[str]:
    """Commands of the processes that the session of `leader`, or a session that such a process began, still has."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            marks = (folder / "environ").read_bytes()
            if f"TEST_LEADER={leader}".encode() in marks.split(b"\0"):
                found.append((folder / "cmdline").read_bytes().replace(b"\0", b" ").decode())
        except OSError:
            continue  # it is gone
    return found


@pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")
def test_the_first_ctrl_c_saves_what_is_paid_and_the_second_and_a_kill_leave_nothing_behind(
    tmp_path: Path,
) -> None:
    with Endpoint(lambda received: text("I'm sorry, I can't do that.", latency=1.5)) as endpoint:
        (tmp_path / "run.yaml").write_text(CONFIG, encoding="utf-8")
        model = ("--model", f"policy=agent@{endpoint.base_url}")
        begin = _command("run", "trajectories", "--config", "run.yaml", "--run", "one", *model)
        go_on = _command("resume", "one")

        def start(command: list[str], mark: str) -> subprocess.Popen[str]:
            asked = len(endpoint.calls)
            process = subprocess.Popen(
                command,
                cwd=tmp_path,
                env={**os.environ, "TEST_LEADER": mark},
                stderr=subprocess.PIPE,
                text=True,
                start_new_session=True,
            )
            _wait(lambda: len(endpoint.calls) > asked + 1 or process.poll() is not None)
            assert process.poll() is None, process.communicate()[1][-3000:]
            return process

        process = start(begin, "1")
        os.killpg(process.pid, signal.SIGINT)
        said = process.communicate(timeout=120)[1]
        assert process.returncode == 130, said
        assert "finished and saved" in said
        assert "Traceback" not in said
        assert RunFolder.open(tmp_path / "data", "one").status == "interrupted"
        assert endpoint.served == len(endpoint.calls), "a call was cut off"
        assert _of_session(1) == []
        paid = len(endpoint.calls)

        process = start(go_on, "2")
        for _ in range(2):
            os.killpg(process.pid, signal.SIGINT)
            time.sleep(0.3)
        process.communicate(timeout=20)
        assert process.returncode == 130
        _wait(lambda: _of_session(2) == [])

        process = start(go_on, "3")
        process.kill()
        process.communicate(timeout=60)
        _wait(lambda: _of_session(3) == [])

        endpoint.script = lambda received: "I'm sorry, I can't do that."
        subprocess.run(go_on, cwd=tmp_path, check=True, timeout=200, capture_output=True)
    folder = RunFolder.open(tmp_path / "data", "one")
    assert folder.status == "finished"
    rows = list(folder.rows("model_calls"))
    assert sum(not row["cached"] for row in rows) >= paid, "what was paid for before is in the books"
    assert len(list(folder.rows("trajectories"))) == 6
