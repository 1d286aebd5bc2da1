"""Comparing, merging and tidying runs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from store_samples import judgement, task, trajectory, world
from test_store_export import _turned, fill

from pipeline.records import InputError, RunError, Value
from pipeline.store import Catalog, RunFolder, funnel_row, gather, task_row, trajectory_rows
from pipeline.store.diff import diff
from pipeline.store.garbage import garbage, remove
from pipeline.store.merge import merge


def _run(data: Path, name: str, config: str = "seed: 7\n", **options: object) -> RunFolder:
    run = RunFolder.create(data, name, "all", 7, config, version="0.1.0")
    fill(run, **options)  # type: ignore[arg-type]
    run.status = "finished"
    return run


def test_a_difference_names_settings_and_rates(tmp_path: Path) -> None:
    before = _run(tmp_path, "a", "seed: 7\nteacher: {flaws: 0.1}\nold: 1\n")
    after = RunFolder.create(tmp_path, "b", "all", 7, "seed: 7\nteacher: {flaws: 0.5}\n", version="0.2.0")
    parts = []
    for number in range(60):
        each = task(number, None, "hard")
        done = trajectory(each)
        done = done.replace(versions=done.versions.replace(policy="model-x", prompts={"policy/act": "3f2a"}))
        parts.append(trajectory_rows(done, judgement(done, Value.FAIL), each))
    after.write_shard("trajectories", 0, gather(parts))
    found = diff(before, after)
    assert {(each.name, each.before, each.after) for each in found.settings} == {
        ("teacher.flaws", 0.1, 0.5),
        ("old", 1, None),
    }
    versions = {each.name: (each.before, each.after) for each in found.versions}
    assert versions["policy"] == ("teacher", "model-x")
    assert versions["prompt policy/act"] == (None, "3f2a")
    assert versions["schema and program"] == ("0.1.0", "0.2.0")
    (overall,) = [rate for rate in found.rates if rate.group == "all"]
    assert (overall.before, overall.before_n, overall.after, overall.after_n) == (0.75, 96, 0.0, 60)
    assert overall.z is not None
    assert overall.z < -5
    text = found.text()
    assert "teacher.flaws: 0.1 → 0.5" in text
    assert "75.0% of 96 → 0.0% of 60  *" in text


def test_a_run_does_not_differ_from_its_twin(tmp_path: Path) -> None:
    found = diff(_run(tmp_path, "a"), _run(tmp_path, "b"))
    assert (found.settings, found.versions, found.funnel, found.means) == ((), (), (), ())
    assert all(rate.before == rate.after and not rate.z for rate in found.rates)
    assert all(share.before == share.after for share in found.shares)


def test_a_merge_has_each_thing_once(tmp_path: Path) -> None:
    one, two = _run(tmp_path, "one"), _run(tmp_path, "two", per_world=5)
    merged = merge([one, two], tmp_path, "both")
    assert merged.kept == {"one": 96, "two": 24}
    assert merged.dropped == {"one": {}, "two": {"in an earlier run": 96}}
    assert merged.run.status == "finished"
    catalog = Catalog(tmp_path)

    def count(what: str, table: str) -> int:
        return int(catalog.query(f"select count({what}) from {table} where run = 'both'").rows()[0][0])

    assert count("*", "tasks") == count("distinct id", "tasks") == 60
    assert count("*", "worlds") == 12
    assert count("*", "trajectories") == count("distinct id", "trajectories") == 120
    assert count("*", "events") == 120 * 8
    assert count("*", "verdicts") == 120
    assert count("*", "failures") == 96
    funnel = catalog.query(
        "select entered, kept, rejected from funnel where run = 'both' and stage = 'merge'"
    ).rows()
    assert funnel == [(216, 120, 96)]
    assert catalog.query("select count(*) from trajectories where run = 'one'").rows() == [(96,)]


def test_near_copies_of_another_run_are_left_out_with_all_their_rows(tmp_path: Path) -> None:
    long = " ".join(f"word{number}" for number in range(80))
    one = _run(tmp_path, "one", per_world=1, change=_turned(1, content=long))
    two = RunFolder.create(tmp_path, "two", "all", 8, "")
    parts = []
    for number, text in enumerate(
        (f"{long} indeed", "Something else altogether, please, for me and my two friends.")
    ):
        each = task(900 + number, world())
        done = _turned(1, content=text)(trajectory(each, 0, 8))
        parts.append(trajectory_rows(done, judgement(done), each))
        two.write_shard("tasks", number, {"tasks": [task_row(each)]})
    again = judgement(trajectory(task(900, world()), 0, 8))
    two.write_shard(
        "judge", 0, {"judgements": [{"trajectory": again.trajectory, "round": 1, "value": "pass"}]}
    )
    two.write_shard("trajectories", 0, gather(parts))
    two.status = "finished"
    merged = merge([one, two], tmp_path, "both")
    assert merged.dropped["two"] == {"nearly the same as one of an earlier run": 1}
    dropped = next(merged.run.rows("failures"))["subject"]
    assert dropped == again.trajectory
    for table in ("trajectories", "events", "calls", "verdicts", "faults", "judgements"):
        column = "id" if table == "trajectories" else "trajectory"
        assert dropped not in {row[column] for row in merged.run.rows(table)}, table


def test_a_merge_is_refused_clearly(tmp_path: Path) -> None:
    one, two = _run(tmp_path, "one", per_world=1), _run(tmp_path, "two", per_world=1)
    with pytest.raises(InputError, match="two different runs"):
        merge([one, one], tmp_path, "x")
    two.status = "paused"
    with pytest.raises(InputError, match=r"Not finished: two\..*resume"):
        merge([one, two], tmp_path, "x")
    two.status = "finished"
    with pytest.raises(RunError, match="one exists already"):
        merge([one, two], tmp_path, "one")


def test_garbage_is_listed_before_it_goes_and_work_is_none(tmp_path: Path) -> None:
    run = _run(tmp_path, "r", per_world=1)
    (run.path / "partial" / "tasks-00009.x").mkdir()
    (run.path / "partial" / "tasks-00009.x" / "tasks.parquet").write_bytes(b"12345")
    (tmp_path / "runs" / ".new-abc").mkdir()
    (run.path / "journal" / "tasks-00000.db").write_bytes(b"123")
    with run.journal("tasks", 7) as journal:
        journal.append("s", 0, "{}")
    before = set(tmp_path.rglob("*"))
    assert garbage(tmp_path) == []  # all of it is young: somebody may be at it
    found = garbage(tmp_path, quiet=0)
    assert {(each.path.name, each.bytes) for each in found} == {
        ("tasks-00009.x", 5),
        (".new-abc", 0),
        ("tasks-00000.db", 3),
    }
    assert set(tmp_path.rglob("*")) == before
    with run.lock():  # the owner of the lock clears its own interrupted writes
        (run.path / "partial" / "now").mkdir()
        assert {each.path.name for each in garbage(tmp_path, quiet=0)} == {".new-abc"}
    os.rmdir(run.path / "partial" / "now")
    assert remove(garbage(tmp_path, quiet=0)) == 3
    assert garbage(tmp_path, quiet=0) == []
    with run.journal("tasks", 7) as journal:
        assert journal.events("s") == ["{}"]
    assert run.shard_done("tasks", 0)


def test_the_funnel_of_an_unbalanced_unit_is_refused() -> None:
    with pytest.raises(ValueError, match="accounted for"):
        funnel_row("tasks", entered=2, kept=2, rejected=1, failed=0)
