"""The run folder: one writer, whole units or none."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.records import RunError
from pipeline.store import SCHEMA_VERSION, RunFolder, names


def _run(tmp_path: Path, name: str | None = "r1") -> RunFolder:
    return RunFolder.create(tmp_path, name, "tasks", 7, "seed: 7\n", version="0.1.0")


def _failure(number: int) -> dict[str, object]:
    return {"stage": "tasks", "kind": "k", "message": f"m{number}"}


def test_a_new_run_can_be_opened_again(tmp_path: Path) -> None:
    _run(tmp_path)
    run = RunFolder.open(tmp_path, "r1")
    assert (run.flow, run.seed, run.status, run.config_yaml) == ("tasks", 7, "running", "seed: 7\n")
    run.status = "finished"
    assert RunFolder.open(tmp_path, "r1").status == "finished"
    assert names(tmp_path) == ["r1"]


def test_a_taken_name_is_refused_and_the_run_untouched(tmp_path: Path) -> None:
    run = _run(tmp_path)
    before = sorted(path.name for path in run.path.iterdir())
    with pytest.raises(RunError, match=r"r1 exists already.*resume r1"):
        _run(tmp_path)
    assert sorted(path.name for path in run.path.iterdir()) == before
    assert [path.name for path in (tmp_path / "runs").iterdir()] == ["r1"]


def test_default_names_are_readable_and_unique(tmp_path: Path) -> None:
    made = [_run(tmp_path, None).name for _ in range(12)]
    assert len(set(made)) == 12
    assert all(name.startswith("tasks-") for name in made)


@pytest.mark.parametrize("name", ["a/b", "../x", ".hidden", "", " ", "x" * 81, "run name"])
def test_a_name_that_is_no_folder_name_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(RunError):
        RunFolder.create(tmp_path, name or "/", "tasks", 1, "")
    with pytest.raises(RunError, match="There is no run"):
        RunFolder.open(tmp_path, name)


def test_another_schema_version_is_refused_with_the_way_out(tmp_path: Path) -> None:
    run = _run(tmp_path)
    facts = run.path / "run.json"
    facts.write_text(facts.read_text().replace(f'"schema": {SCHEMA_VERSION}', '"schema": 99'))
    with pytest.raises(
        RunError, match=r"schema version 99.*run tasks --config .*config\.yaml --run r1-again"
    ):
        RunFolder.open(tmp_path, "r1")


@pytest.mark.parametrize("text", ["", "{", "[]", '{"schema": 1}'])
def test_a_folder_without_facts_is_no_run(tmp_path: Path, text: str) -> None:
    run = _run(tmp_path)
    (run.path / "run.json").write_text(text)
    with pytest.raises(RunError, match="is no run folder"):
        RunFolder.open(tmp_path, "r1")


def test_a_second_process_is_told_who_holds_the_run(tmp_path: Path) -> None:
    run = _run(tmp_path)
    code = (
        "import sys, pathlib; from pipeline.store import RunFolder\n"
        "with RunFolder.open(pathlib.Path(sys.argv[1]), 'r1').lock():\n"
        "    print('held', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout
        assert other.stdin
        assert other.stdout.readline() == "held\n"
        assert f"process {other.pid}" in run.holder()
        with pytest.raises(RunError, match=rf"process {other.pid} on"), run.lock():
            pass
        other.kill()
        other.wait()
    assert run.holder() == ""
    with run.lock():
        pass


def test_a_unit_is_all_its_tables_or_none(tmp_path: Path) -> None:
    run = _run(tmp_path)
    with pytest.raises(ValueError, match="no column"):
        run.write_shard("tasks", 0, {"failures": [_failure(1)], "domains": [{"wrong": 1}]})
    with pytest.raises(KeyError):
        run.write_shard("tasks", 0, {"failures": [_failure(1)], "nonsense": []})
    with pytest.raises(ValueError, match="does not fit"):
        run.write_shard("tasks", 0, {"failures": [{"stage": 3}]})
    assert not run.shard_done("tasks", 0)
    assert list(run.rows("failures")) == []
    assert list((run.path / "partial").iterdir()) == []
    assert run.write_shard("tasks", 0, {"failures": [_failure(1)], "domains": []})
    assert run.shard_done("tasks", 0)
    assert [row["message"] for row in run.rows("failures")] == ["m1"]


def test_a_unit_that_stands_is_immutable(tmp_path: Path) -> None:
    run = _run(tmp_path)
    assert run.write_shard("tasks", 0, {"failures": [_failure(1)]})
    assert not run.write_shard("tasks", 0, {"failures": [_failure(2)]})
    assert [row["message"] for row in run.rows("failures")] == ["m1"]


def test_an_empty_unit_is_finished_too(tmp_path: Path) -> None:
    run = _run(tmp_path)
    assert run.write_shard("tasks", 3, {})
    assert run.units() == [("tasks", 3)]
    assert not run.write_shard("tasks", 3, {"failures": [_failure(1)]})


def test_rows_come_back_in_the_order_of_units(tmp_path: Path) -> None:
    run = _run(tmp_path)
    for number in (2, 0, 11):
        run.write_shard("tasks", number, {"failures": [_failure(number)]})
    run.write_shard("code-tasks", 0, {"failures": [_failure(100)]})
    assert [row["message"] for row in run.rows("failures")] == ["m100", "m0", "m2", "m11"]
    assert [row["message"] for row in run.rows("failures", stage="tasks")] == ["m0", "m2", "m11"]
    assert run.units("code-tasks") == [("code-tasks", 0)]


def test_leftovers_of_a_killed_write_are_ignored_and_cleared(tmp_path: Path) -> None:
    run = _run(tmp_path)
    left = run.path / "partial" / "tasks-00000.abc"
    left.mkdir()
    (left / "failures.parquet").write_bytes(b"PAR1 half")
    assert list(run.rows("failures")) == []
    assert not run.shard_done("tasks", 0)
    with run.lock():
        assert not left.exists()
        assert run.write_shard("tasks", 0, {"failures": [_failure(1)]})


_KILLED = """
import os, pathlib, sys, threading, time
from pipeline.store import RunFolder
run = RunFolder.open(pathlib.Path(sys.argv[1]), 'r1')
rows = [{"stage": "tasks", "kind": "k", "message": "m" * 50 + str(n)} for n in range(20_000)]
print("go", flush=True)
for number in range(10_000):
    run.write_shard("tasks", number, {"failures": rows, "funnel": [{"stage": "tasks", "entered": 1}]})
"""


@pytest.mark.slow
@pytest.mark.parametrize("after", [0.05, 0.13, 0.21, 0.34])
def test_a_killed_writer_leaves_only_whole_units(tmp_path: Path, after: float) -> None:
    run = _run(tmp_path)
    with subprocess.Popen(
        [sys.executable, "-c", _KILLED, str(tmp_path)], stdout=subprocess.PIPE, text=True
    ) as writer:
        assert writer.stdout
        writer.stdout.readline()
        try:
            writer.wait(after)
        except subprocess.TimeoutExpired:
            writer.kill()
    units = run.units()
    assert sum(1 for _ in run.rows("failures", columns=["kind"])) == 20_000 * len(units)
    assert sum(1 for _ in run.rows("funnel")) == len(units)
    with run.lock():
        assert list((run.path / "partial").iterdir()) == []


_FULL = """
import pathlib, resource, sys
from pipeline.records import RunError
from pipeline.store import Journal, RunFolder
run = RunFolder.open(pathlib.Path(sys.argv[1]), 'r1')
resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, 40_000))
import random
rows = [{"stage": "tasks", "kind": "k", "message": random.Random(n).randbytes(40).hex()} for n in range(5_000)]
for act in (
    lambda: run.write_shard("tasks", 0, {"funnel": [{"stage": "tasks"}], "failures": rows}),
    lambda: [run.journal("tasks", 0).append("s", n, "x" * 3000) for n in range(200)],
    lambda: RunFolder.create(run.data_dir, "r2", "tasks", 1, "x" * 100_000),
):
    try:
        act()
    except RunError as error:
        print(error)
"""


def test_a_full_disk_is_one_clear_error_and_nothing_half_written(tmp_path: Path) -> None:
    run = _run(tmp_path)
    done = subprocess.run(
        [sys.executable, "-c", _FULL, str(tmp_path)], capture_output=True, text=True, check=True
    )
    said = done.stdout.splitlines()
    assert len(said) == 3, done
    assert all(line.startswith("The disk is full") and "free some space" in line for line in said)
    assert run.units() == []
    assert list((run.path / "partial").iterdir()) == []
    assert sorted(path.name for path in (tmp_path / "runs").iterdir()) == ["r1"]
    with run.journal("tasks", 0) as journal:
        assert journal.events("s")


@pytest.mark.parametrize("keep", [0, 4, 50, 200])
def test_a_shard_cut_off_in_the_middle_is_named(tmp_path: Path, keep: int) -> None:
    run = _run(tmp_path)
    run.write_shard("tasks", 0, {"failures": [_failure(n) for n in range(50)]})
    shard = run.unit("tasks", 0) / "failures.parquet"
    os.truncate(shard, keep)
    with pytest.raises(RunError, match=r"failures\.parquet is damaged.*Delete the folder"):
        list(run.rows("failures"))


def test_equal_rows_give_equal_bytes_whatever_the_run_is_called(tmp_path: Path) -> None:
    contents = []
    for name in ("r1", "other"):
        run = _run(tmp_path, name)
        run.write_shard("tasks", 0, {"failures": [_failure(n) for n in range(100)]})
        contents.append({path.name: path.read_bytes() for path in sorted(run.unit("tasks", 0).iterdir())})
    assert contents[0] == contents[1]


_TEXT = st.text(st.characters(codec="utf-8"), max_size=30)


@settings(max_examples=30, deadline=None)
@given(rows=st.lists(st.fixed_dictionaries({}, optional={"stage": _TEXT, "message": st.none() | _TEXT})))
def test_whatever_was_written_is_read(
    tmp_path_factory: pytest.TempPathFactory, rows: list[dict[str, str]]
) -> None:
    run = _run(tmp_path_factory.mktemp("data"))
    run.write_shard("tasks", 0, {"failures": rows})
    read = [{name: row[name] for name in ("stage", "message")} for row in run.rows("failures")]
    assert read == [{"stage": row.get("stage"), "message": row.get("message")} for row in rows]


def test_half_a_surrogate_pair_costs_one_character_not_the_unit(tmp_path: Path) -> None:
    run = _run(tmp_path)
    run.write_shard("tasks", 0, {"failures": [{"stage": "tasks", "kind": "k", "message": "a\ud83db"}]})
    assert [row["message"] for row in run.rows("failures")] == ["a?b"]
