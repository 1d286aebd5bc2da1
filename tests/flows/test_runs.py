"""Whole runs through Prefect and the command line: equal seeds, kill -9 and resume, errors with a way out."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
SETTINGS = ("--count", "36")
CONFIG = "trajectories: {shard_tasks: 6, attempts: 2}\nworlds: {only: [harbour-hotel, skerry-air, elmhurst-public-library]}\n"


def _command(*words: str) -> list[str]:
    return [sys.executable, "-c", "from pipeline.cli import main; main()", *words]


def _run(folder: Path, *words: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        _command(*words), cwd=folder, capture_output=True, text=True, timeout=280, check=False
    )
    assert not check or done.returncode == 0, done.stderr[-3000:]
    return done


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    (folder / "run.yaml").write_text(CONFIG, encoding="utf-8")
    _run(folder, "run", "trajectories", "--config", "run.yaml", "--run", "calm", *SETTINGS)
    return folder


def _content(folder: Path, run: str) -> dict[str, bytes]:
    """All shards that no clock touches, by path."""
    shards = folder / "data" / "runs" / run / "shards"
    clocks = {"timings.parquet", "model_calls.parquet", "unit.json"}
    return {
        str(p.relative_to(shards)): p.read_bytes()
        for p in sorted(shards.rglob("*"))
        if p.is_file() and p.name not in clocks
    }


def test_equal_seeds_give_equal_bytes_and_another_seed_others(place: Path) -> None:
    _run(place, "run", "trajectories", "--config", "run.yaml", "--run", "again", *SETTINGS)
    _run(place, "run", "trajectories", "--config", "run.yaml", "--run", "other", "--seed", "8", *SETTINGS)
    calm, again, other = (_content(place, run) for run in ("calm", "again", "other"))
    assert calm.keys() == again.keys()
    assert [name for name in calm if calm[name] != again[name]] == []
    assert calm != other


@pytest.mark.parametrize("moment", [0, 1, 2, 3])
def test_a_run_killed_at_any_moment_resumes_to_the_same_content(place: Path, moment: int) -> None:
    name = f"killed-{moment}"
    process = subprocess.Popen(
        _command("run", "trajectories", "--config", "run.yaml", "--run", name, *SETTINGS),
        cwd=place,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    shards = place / "data" / "runs" / name / "shards"
    wanted = random.Random(moment).randint(1, 8)
    deadline = time.monotonic() + 200
    while time.monotonic() < deadline and process.poll() is None:
        if shards.is_dir() and len(list(shards.iterdir())) >= wanted:
            break
        time.sleep(0.05)
    time.sleep(random.Random(moment + 100).random())
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    status = _run(place, "status", name).stdout
    assert status.startswith(("killed", "finished"))
    _run(place, "resume", name)
    assert _content(place, name) == _content(place, "calm")
    assert not list((place / "data" / "runs" / name / "journal").glob("*.db"))


def test_sql_answers_over_all_runs(place: Path) -> None:
    query = "select world, difficulty, avg(passed::int), count(*) from trajectories where run = 'calm' group by all"
    answer = _run(place, "sql", query, "--format", "csv").stdout.splitlines()
    assert len(answer) > 3
    assert sum(int(line.rsplit(",", 1)[1]) for line in answer[1:]) == 72


def test_a_trajectory_can_be_shown_and_replays(place: Path) -> None:
    ids = _run(
        place, "sql", "select id from trajectories where run = 'calm' order by id", "-f", "csv"
    ).stdout.split()[1:6]
    shown = _run(place, "show", ids[0], "--state").stdout
    assert "assistant →" in shown
    assert "✓" in shown
    for one in ids:
        assert "all observations and states equal" in _run(place, "replay", one).stdout


def test_export_reads_back_with_datasets(place: Path) -> None:
    import datasets

    _run(place, "export", "calm", "--out", "dataset")
    rows = datasets.load_dataset(str(place / "dataset"), split="train", cache_dir=str(place / "cache"))
    assert len(rows) > 20
    assert {"messages", "tools"} <= set(rows.column_names)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("run", "trajectories", "--run", "calm"), "exists already"),
        (("resume", "nowhere"), "There is no run"),
        (("run", "nonsense"), "There is no flow"),
        (("show", "traj_nothing"), "There is no record"),
        (("sql", "delete from trajectories"), ""),
    ],
)
def test_bad_input_gets_one_message_and_no_traceback(place: Path, words: tuple[str, ...], said: str) -> None:
    done = _run(place, *words, check=False)
    assert done.returncode != 0
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_an_unknown_key_is_named(place: Path) -> None:
    (place / "bad.yaml").write_text("tasks: {cuont: 3}\n", encoding="utf-8")
    done = _run(place, "validate", "bad.yaml", check=False)
    assert "unknown key tasks.cuont (did you mean count?)" in done.stderr
