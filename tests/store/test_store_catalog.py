"""Rows and the catalog: what goes in comes back, also by SQL, also while others write and read."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import duckdb
import pyarrow.parquet as pq
import pytest
from store_samples import judgement, snapshot, task, tool, trajectory, world

from pipeline.records import InputError, Owner, RunError, Task, ToolSpec, Value, World
from pipeline.store import (
    SCHEMA_VERSION,
    TABLES,
    Catalog,
    RunFolder,
    agent_row,
    event_of,
    funnel_row,
    gather,
    judgement_rows,
    persona_row,
    readable,
    skeleton,
    snapshot_of,
    task_row,
    tool_row,
    trajectory_of,
    trajectory_rows,
    world_row,
)
from pipeline.store.catalog import DAMAGED

VIEWS = {
    "runs": "run flow seed started status",
    "domains": "run path",
    "tools": "run id name source server package domain world admitted",
    "worlds": "run id domain archetype admitted",
    "tasks": "run id world difficulty admitted",
    "trajectories": "run id task world difficulty attempt passed end_reason owner turns calls tokens cost reward",
    "events": "run trajectory index role",
    "calls": "run trajectory index name ok error_code fault",
    "verdicts": "run trajectory check value owner judge",
    "faults": "run trajectory",
    "code_tasks": "run id source admitted reason",
    "code_reports": "run task attempt status",
    "documents": "run",
    "rewrites": "run document chunk style verdict",
    "findings": "run",
    "model_calls": "run role model tokens_in tokens_out tokens_cached cost cached outcome",
    "failures": "run stage kind message",
    "funnel": "run stage entered kept rejected failed pending",
}


def fill(run: RunFolder, count: int = 4) -> None:
    """A unit of worlds and tasks, and one of trajectories: every third fails, every fourth is unscored."""
    place = world()
    tasks = [task(number, place, "simple" if number % 2 else "hard") for number in range(count)]
    run.write_shard(
        "tasks",
        0,
        {
            "worlds": [world_row(place)],
            "tools": [tool_row(each, place) for each in place.tools],
            "agents": [agent_row(each.agent) for each in tasks],
            "personas": [persona_row(each.persona) for each in tasks],
            "tasks": [task_row(each) for each in tasks],
            "funnel": [funnel_row("tasks", entered=count, kept=count, rejected=0, failed=0)],
        },
    )
    for number, each in enumerate(tasks):
        attempt = trajectory(each)
        value = Value.UNSCORED if number % 4 == 3 else Value.FAIL if number % 3 == 2 else Value.PASS
        owner = {Value.UNSCORED: Owner.JUDGE, Value.FAIL: Owner.AGENT, Value.PASS: None}[value]
        parts = trajectory_rows(
            attempt, judgement(attempt, value, owner), each, snapshots=[snapshot("s0")], seconds=0.5
        )
        funnel = funnel_row("trajectories", entered=1, kept=1, rejected=0, failed=0, tokens=102)
        run.write_shard("trajectories", number, {**parts, "funnel": [funnel]})


@pytest.fixture
def filled(tmp_path: Path) -> RunFolder:
    run = RunFolder.create(tmp_path, "r1", "all", 7, "")
    fill(run)
    return run


def test_every_view_answers_on_no_run_at_all(tmp_path: Path) -> None:
    catalog = Catalog(tmp_path / "new")
    for view, columns in VIEWS.items():
        found = catalog.query(f'select * from "{view}"')
        assert found.rows() == []
        assert set(columns.split()) <= set(found.columns), view
    for table in TABLES:
        assert catalog.query(f"select count(*) from {table}").rows() == [(0,)]


def test_the_columns_of_the_views_can_be_named_without_quotes(filled: RunFolder) -> None:
    catalog = Catalog(filled.data_dir)
    for view, columns in VIEWS.items():
        names = ", ".join('"check"' if name == "check" else name for name in columns.split())
        catalog.query(f"select {names} from {view}").rows()


def test_the_question_of_the_demo_answers(filled: RunFolder) -> None:
    found = Catalog(filled.data_dir).query(
        "select world, difficulty, avg(passed::int), count(*) from trajectories group by all order by all"
    )
    assert found.rows() == [("clinic", "hard", 0.5, 2), ("clinic", "simple", 1.0, 2)]


def test_records_load_back_exactly(filled: RunFolder) -> None:
    assert World.model_validate_json(next(filled.rows("worlds"))["record"]) == world()
    assert {Task.model_validate_json(row["record"]).id for row in filled.rows("tasks")} == {
        row["id"] for row in filled.rows("tasks")
    }
    assert [ToolSpec.model_validate_json(row["record"]) for row in filled.rows("tools")] == list(
        world().tools
    )
    rows = list(filled.rows("trajectories"))
    events = list(filled.rows("events"))
    for number, row in enumerate(rows):
        own = [event for event in events if event["trajectory"] == row["id"]]
        back = trajectory_of(row, own)
        expected = trajectory(task(number, None, "simple" if number % 2 else "hard"))
        assert back == expected
        assert back.content_hash == row["content"] == expected.content_hash
        assert [event_of(event) for event in own] == list(expected.events)
    assert snapshot_of(next(filled.rows("snapshots"))) == snapshot("s0")


def test_what_was_not_scored_is_no_low_reward(filled: RunFolder) -> None:
    rows = (
        Catalog(filled.data_dir)
        .query("select value, passed, reward, owner from trajectories order by all")
        .rows()
    )
    assert rows == [
        ("fail", False, 0.0, "agent"),
        ("pass", True, 1.0, None),
        ("pass", True, 1.0, None),
        ("unscored", None, None, "judge"),
    ]


def test_calls_point_at_their_events_although_ids_repeat(filled: RunFolder) -> None:
    rows = Catalog(filled.data_dir).query(
        "select position, index, asked_in, name, ok, error_code, fault, changed from calls"
        " where trajectory = (select min(id) from trajectories) order by position"
    )
    assert rows.rows() == [
        (0, 3, 2, "find_visit", False, "RATE_LIMITED", "rate_limit", False),
        (1, 5, 4, "find_visit", True, None, None, False),
        (2, 6, 4, "cancel_visit", True, None, None, True),
    ]
    faults = Catalog(filled.data_dir).query(
        "select kind, explicit, retried, recovered, count(*) from faults group by all"
    )
    assert faults.rows() == [("rate_limit", True, True, True, 4)]


def test_shared_rows_appear_once_and_the_funnel_adds_up(filled: RunFolder) -> None:
    catalog = Catalog(filled.data_dir)
    assert catalog.query("select count(*) from toolsets").rows() == [(1,)]
    assert catalog.query("select count(*) from snapshots").rows() == [(1,)]
    assert catalog.query("select stage, entered, kept, tokens from funnel order by step").rows() == [
        ("tasks", 4, 4, 0),
        ("trajectories", 4, 4, 408),
    ]
    with pytest.raises(ValueError, match="accounted"):
        funnel_row("tasks", entered=3, kept=1, rejected=1, failed=0)


def test_judging_again_replaces_what_the_views_show(filled: RunFolder) -> None:
    first = next(filled.rows("trajectories"))
    attempt = trajectory(task(0, None, "hard"))
    assert attempt.id == first["id"]
    filled.write_shard("judge", 1, judgement_rows(judgement(attempt, Value.FAIL, Owner.AGENT), 1))
    catalog = Catalog(filled.data_dir)
    shown = catalog.query(f"select passed, owner, reward from trajectories where id = '{attempt.id}'").rows()
    assert shown == [(False, "agent", 0.0)]
    verdicts = catalog.query(f"select round, value from verdicts where trajectory = '{attempt.id}'").rows()
    assert verdicts == [(1, "fail")]
    assert catalog.query("select count(*) from verdicts").rows() == [(4,)]
    assert catalog.query("select count(*) from all_verdicts").rows() == [(5,)]


def test_the_types_of_every_shard_are_the_declared_ones(filled: RunFolder) -> None:
    for path in (filled.path / "shards").rglob("*.parquet"):
        assert pq.read_schema(path).equals(TABLES[path.stem].schema, check_metadata=True), path
        assert b"pandas" not in (pq.read_schema(path).metadata or {})


@pytest.mark.parametrize(
    "sql",
    [
        "create table x(a int)",
        "drop view runs",
        "insert into runs values (1)",
        "copy (select 1) to 'x.csv'",
        "attach 'x.db'",
        "set threads = 1",
        "delete from tools",
        "install httpfs",
        "export database 'x'",
        "explain analyze insert into runs values (1)",
        "explain analyze copy (select 1) to 'x.csv'",
        "explain (analyze, format json) copy (select 1) to 'x.csv'",
        "explain explain analyze copy (select 1) to 'x.csv'",
        "/* select */ explain analyze copy (select 1) to 'x.csv'",
        "copy (pivot (select 1 as a) on a using count(*)) to 'x.csv'",
        "create table x as pivot (select 1 as a) on a using count(*)",
        "call pragma_version()",
        "select * from read_csv('/etc/passwd')",
        "select * from glob('/etc/*')",
        "select * from read_text('../../../../../../etc/hostname')",
        "set enable_external_access = true",
        "reset lock_configuration",
    ],
)
def test_a_statement_that_writes_or_reaches_outside_is_refused(
    filled: RunFolder, sql: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(filled.path)
    before = sorted(path.name for path in filled.path.iterdir())
    with pytest.raises(InputError):
        Catalog(filled.data_dir).query(sql).rows()
    assert sorted(path.name for path in filled.path.iterdir()) == before


@pytest.mark.parametrize(
    "sql",
    [
        "from runs",
        "explain select 1",
        "explain analyze select count(*) from events",
        "describe trajectories",
        "summarize tools",
        "show tables",
        "with a as (select 1) select * from a",
        "pivot (select run, passed::int as p from trajectories) on run using avg(p)",
        "values (1)",
        "-- a word before\nselect 1",
    ],
)
def test_whatever_only_reads_is_answered(filled: RunFolder, sql: str) -> None:
    assert Catalog(filled.data_dir).query(sql).rows()


@pytest.mark.parametrize(("sql", "words"), [("", "0 statements"), ("select 1; select 2", "2 statements")])
def test_exactly_one_query_is_asked_for(tmp_path: Path, sql: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        Catalog(tmp_path).query(sql)


def test_a_wrong_query_says_what_is_wrong(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="trajectory_"):
        Catalog(tmp_path).query("select * from trajectory_")
    with pytest.raises(InputError, match="Could not convert"):
        Catalog(tmp_path).query("select 'x'::int").rows()


def test_a_damaged_shard_is_named_by_a_query(filled: RunFolder) -> None:
    os.truncate(filled.unit("trajectories", 1) / "events.parquet", 20)
    with pytest.raises(RunError, match=r"trajectories-00001.*resume"):
        Catalog(filled.data_dir).query("select sum(length(content)) from events").rows()


def test_runs_of_another_version_are_left_out_and_named(filled: RunFolder) -> None:
    old = RunFolder.create(filled.data_dir, "old", "all", 1, "")
    fill(old)
    facts = old.path / "run.json"
    facts.write_text(facts.read_text().replace(f'"schema": {SCHEMA_VERSION}', '"schema": 0'))
    for name, text in {"cut": '{"schema": 3', "odd": '{"schema": "x"}', "list": "[]", "none": None}.items():
        run = RunFolder.create(filled.data_dir, name, "all", 1, "")
        fill(run)
        (run.path / "run.json").unlink()
        if text is not None:
            (run.path / "run.json").write_text(text)
    catalog = Catalog(filled.data_dir)
    damaged = dict.fromkeys(("cut", "odd", "list", "none"), DAMAGED)
    assert catalog.other_versions() == {"old": 0, **damaged}
    assert [run.name for run in readable(filled.data_dir)] == ["r1"]
    catalog.rebuild()
    assert catalog.query("select distinct run from trajectories").rows() == [("r1",)]
    assert catalog.query('select run, "schema" from runs order by run').rows() == [
        ("old", 0),
        ("r1", SCHEMA_VERSION),
    ]


def test_each_format_holds_the_rows(filled: RunFolder) -> None:
    catalog = Catalog(filled.data_dir)
    sql = "select name, admitted, null as nothing, 'a,\"b\"\n' as text from tools order by name"
    assert catalog.query(sql).text("csv").splitlines()[:2] == [
        "name,admitted,nothing,text",
        'cancel_visit,true,,"a,""b""',
    ]
    rows = json.loads(catalog.query(sql).text("json"))
    assert rows[0] == {"name": "cancel_visit", "admitted": True, "nothing": None, "text": 'a,"b"\n'}
    assert json.loads(catalog.query("select 1 where false").text("json")) == []
    table = catalog.query(sql).text("table").splitlines()
    assert table[0].split() == ["name", "admitted", "nothing", "text"]
    assert len(table) == 3
    out = io.BytesIO()
    catalog.query(sql).write("parquet", out)
    assert pq.read_table(io.BytesIO(out.getvalue())).num_rows == 2


def test_any_duckdb_client_reads_the_file_while_it_is_rebuilt_and_runs_write(filled: RunFolder) -> None:
    path = Catalog(filled.data_dir).rebuild()
    code = (
        "import duckdb, sys; c = duckdb.connect(sys.argv[1], read_only=True); print('open', flush=True)\n"
        "sys.stdin.readline(); print(c.execute('select count(*) from trajectories').fetchone()[0], flush=True)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as client:
        assert client.stdout
        assert client.stdin
        assert client.stdout.readline() == "open\n"
        other = RunFolder.create(filled.data_dir, "r2", "all", 8, "")
        with other.lock():
            fill(other)
            Catalog(filled.data_dir).rebuild()
            assert Catalog(filled.data_dir).query("select count(*) from trajectories").rows() == [(8,)]
            client.stdin.write("\n")
            client.stdin.flush()
            assert client.stdout.readline() == "8\n"
    with duckdb.connect(str(path), read_only=True) as again:
        assert again.execute("select count(distinct run) from trajectories").fetchone() == (2,)
    assert not list(filled.data_dir.glob(".catalog*"))


def test_worlds_of_other_words_share_a_skeleton() -> None:
    base = world(archetype="booking")
    assert skeleton(base) == skeleton(world("salon", "slots", archetype="booking"))
    assert skeleton(base) != skeleton(world(archetype="ledger"))
    assert skeleton(base) != skeleton(world(archetype="booking", tools=(tool(),)))
    other = base.replace(schema_sql=base.schema_sql + " create table more(a int);")
    assert skeleton(base) != skeleton(other)
    longer = base.replace(schema_sql=base.schema_sql.replace("'a', 'b'", "'a', 'b', 'c'"))
    assert skeleton(base) == skeleton(longer)


def test_parts_are_gathered_in_order() -> None:
    assert gather([{"a": [{"x": 1}]}, {"a": [{"x": 2}], "b": []}]) == {"a": [{"x": 1}, {"x": 2}], "b": []}


_FIRST = """
import pathlib, sys
from pipeline.store import Catalog
catalog = Catalog(pathlib.Path(sys.argv[1]))
catalog.rebuild()
print(catalog.query("select count(*) from events").rows()[0][0])
"""


def test_several_processes_may_make_the_first_catalog_at_once(tmp_path: Path) -> None:
    started = [
        subprocess.Popen(
            [sys.executable, "-c", _FIRST, str(tmp_path / "data")],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for _ in range(4)
    ]
    said = [process.communicate() for process in started]
    assert said == [(b"0\n", b"")] * 4
    assert sorted(path.name for path in (tmp_path / "data").iterdir()) == ["catalog.duckdb", "runs"]


def test_the_funnel_follows_the_order_of_the_stages() -> None:
    from pipeline.stages.units import FLOWS
    from pipeline.store.tables import STAGES

    assert tuple(STAGES) == FLOWS["all"]
