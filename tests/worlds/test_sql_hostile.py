"""Hostile programs: each ends in a declared outcome, in bounded time and memory, with the state rolled back."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from pipeline.records import Failure, WorldError
from pipeline.worlds.sql import Limits, SqlWorld
from tests.worlds.tiny import tiny_world

ENDLESS = "with recursive r(x) as (select 1 union all select x + 1 from r)"
LONG = "(select group_concat(body, '') from (select body from notes limit 40))"


def _run(steps: list[dict[str, Any]], limits: Limits | None = None) -> tuple[str, SqlWorld]:
    """The error code of a tool `attack` ('' for success), and the world after it."""
    live = SqlWorld(tiny_world(attack=steps), limits)
    state, ref = live.state, live.ref
    result = live.call("attack", {})
    if not result.ok:
        assert (live.state, live.ref, live.changes()) == (state, ref, [])
        assert result.before == result.after == ref
    assert not live._connection.in_transaction
    assert live.call("add", {"name": "after", "amount": 1}).ok, "the world still works"
    return (result.error or ("", ""))[0], live


@pytest.mark.parametrize(
    "sql",
    [
        f"{ENDLESS} select count(*) from r",
        f"{ENDLESS} select max(x) from r",
        f"{ENDLESS} select x from r order by x",
        "select count(*) from items a, items b, items c, items d, items e, items f, items g, items h",
        "select printf('%500000000d', 1)",
        "select printf('%.*c', 500000000, 'x')",
        "select format('%.500000000f', 0.1)",
        "select replace(printf('%60000d', 1), ' ', printf('%60000d', 1))",
        "select group_concat(body, '') from notes, items",
        "select json_group_array(body) from notes, items",
        f"{ENDLESS} select count(*) from (select distinct printf('%060000d', x) from r)",
        f"{ENDLESS} select body from (select printf('%060000d', x) as body from r) order by body",
        "select a.name from items a, notes, items b, items c",
    ],
    ids=lambda sql: sql[:60],
)
@pytest.mark.parametrize("place", ["returns_many", "require"])
def test_queries_without_end_or_measure_are_stopped(sql: str, place: str) -> None:
    steps: list[dict[str, Any]] = [{"returns_many": sql}]
    if place == "require":
        error = {"code": "NO", "message": "No."}
        steps = [{"require": sql, "error": error}, {"returns_one": "select 1 as one"}]
    code, _ = _run(steps)
    if place == "require" and code in ("", "NO"):
        return  # the first row came at once, and no more were asked for
    assert code == Failure.LIMIT_EXCEEDED


@pytest.mark.parametrize(
    "sql",
    [
        f"insert into items(name, amount) {ENDLESS} select 'n' || x, x from r",
        f"insert into notes(note_id, body) {ENDLESS} select x + 1000, printf('%060000d', x) from r limit 5000",
        "insert into notes(note_id, body) select 1000 + i.rowid * 10000 + j.rowid * 100 + n.note_id, n.body from items i, notes n, items j",
        "update notes set body = replace(body, 'x', body)",
        "update items set amount = (select count(*) from items a, items b, items c, items d, items e, items f, items g)",
        f"delete from items where amount in ({ENDLESS} select -x from r)",
    ],
    ids=lambda sql: sql[:50],
)
def test_writes_without_measure_are_undone(sql: str) -> None:
    code, _ = _run([{"do": sql}, {"returns_one": "select 1 as one"}])
    assert code == Failure.LIMIT_EXCEEDED


def test_an_interrupted_insert_takes_earlier_changes_with_it() -> None:
    code, live = _run(
        [
            {"do": "update items set amount = amount + 1"},
            {"do": f"insert into items(name, amount) {ENDLESS} select 'n' || x, x from r"},
            {"returns_one": "select 1 as one"},
        ]
    )
    assert code == Failure.LIMIT_EXCEEDED
    assert live.ask("select amount from items where name = 'bolt'") == [{"amount": 10}]


def test_searches_in_long_texts_end_soon() -> None:
    """`like`, `glob`, `instr`, `replace` and `trim` on the longest values, many times."""
    steps = [
        {
            "returns_one": "select count(*) as found from notes a, notes b, notes c where instr(a.body, b.body || 'y') "
            f"or a.body like '%{'%x' * 200}y' or a.body glob '{'*x' * 200}y' or length(trim(a.body, b.body)) > 0 "
            "or length(replace(a.body, b.body || 'y', '')) = 0"
        }
    ]
    code, _ = _run(steps, Limits(seconds=1.0))
    assert code in ("", Failure.LIMIT_EXCEEDED)


def test_a_pattern_that_is_too_long_is_refused() -> None:
    code, _ = _run([{"returns_many": "select name from items where name like (select body from notes)"}])
    assert code == Failure.LIMIT_EXCEEDED or code == Failure.TOOL_DEFECT


def test_a_result_with_too_many_rows_is_refused() -> None:
    code, _ = _run([{"returns_many": "select a.name from items a, items b, items c, items d"}])
    assert code == Failure.LIMIT_EXCEEDED


_BOMBS = """
import resource
from pipeline.worlds.sql import Limits, SqlWorld
from tests.worlds.tiny import tiny_world

for sql in (
    "with recursive r(x) as (select 1 union all select x + 1 from r) "
    "select count(*) from (select distinct printf('%060000d', x) from r)",
    "select json_group_array(a.body) from notes a, notes b",
):
    live = SqlWorld(tiny_world(attack=[{"returns_many": sql}]), Limits(heap_bytes=64 * 2**20))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    result = live.call("attack", {})
    print(result.error[0], (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


def test_the_memory_of_the_process_stays_bounded() -> None:
    """In a process of its own, since SQLite's heap limit belongs to the process and can only be lowered."""
    ran = subprocess.run([sys.executable, "-c", _BOMBS], capture_output=True, text=True, check=True)
    for line in ran.stdout.splitlines():
        code, megabytes = line.split()
        assert code == Failure.LIMIT_EXCEEDED
        assert int(megabytes) < 130


def test_growth_over_a_whole_episode_is_bounded() -> None:
    world = tiny_world(
        attack=[
            {"do": "update notes set body = printf('%060000d', note_id + abs(:new_id))"},
            {"returns_one": "select 1 as one"},
        ]
    )
    live = SqlWorld(world, Limits(growth_bytes=600_000))
    codes = [(live.call("attack", {}).error or ("", ""))[0] for _ in range(4)]
    assert codes[0] == ""
    assert codes[-1] == Failure.LIMIT_EXCEEDED
    live.reset()
    assert live.call("attack", {}).ok


# ---- out of the world ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "sql",
    [
        "attach database 'x.db' as x",
        "pragma user_version = 5",
        "vacuum",
        "create table t(a)",
        "drop table items",
        "begin",
        "commit",
        "insert into items values ('x', 1); delete from items",
        "select 1; select 2",
        "",
        "-- nothing",
        "explain select 1",
        "savepoint x",
        "delete from items where amount = ?",
        "delete from items where amount = @a",
        "delete from items where amount = :unknown",
    ],
    ids=lambda sql: sql[:40] or "empty",
)
def test_statements_of_another_kind_are_refused_when_the_world_is_made(sql: str) -> None:
    for kind in ("do", "require"):
        step: dict[str, Any] = {kind: sql}
        if kind == "require":
            step["error"] = {"code": "NO", "message": "No."}
        with pytest.raises(WorldError, match="attack"):
            SqlWorld(tiny_world(attack=[step, {"returns_one": "select 1 as one"}]))


@pytest.mark.parametrize(
    "sql",
    [
        "select random() as a",
        "select hex(randomblob(4)) as a",
        "select length(zeroblob(10)) as a",
        "select load_extension('x') as a",
        "select last_insert_rowid() as a",
        "select total_changes() as a",
        "select sqlite_version() as a",
        "select name as a from sqlite_master",
        "select name as a from sqlite_schema",
        "select name as a from sqlite_temp_master",
        "select name as a from pragma_table_info('items')",
        "select _note('items', 'came', 'x', 1) as a",
        "select tbl as a from changes",
        "select tbl as a from temp.changes",
        "select pick('city') as a",
        "select i as a from numbers",
        "select count(*) as a from pragma_database_list",
        "select name as a from dbstat",
        "select readfile('x') as a",
        "select fts3_tokenizer('simple') as a",
        "with x(a) as (select 1) insert into items select 'x', 1",
        "with x(a) as (select 1) delete from items",
    ],
)
def test_queries_that_reach_outside_are_refused_when_the_world_is_made(sql: str) -> None:
    with pytest.raises(WorldError, match="attack"):
        SqlWorld(tiny_world(attack=[{"returns_many": sql}]))


@pytest.mark.parametrize(
    "sql",
    [
        "insert into items select 'x', _note('items', 'gone', 'a', 1)",
        "delete from items where _note('items', 'gone', id, 1) is null",
        "insert into changes values (1, 1, 1, 1, 1, 1)",
        "update sqlite_master set sql = ''",
        "insert into sqlite_sequence values ('x', 1)",
        "delete from sqlite_stat1",
        "insert into items select name, random() from items",
    ],
)
def test_writes_outside_the_world_are_refused_when_it_is_made(sql: str) -> None:
    with pytest.raises(WorldError, match="attack"):
        SqlWorld(tiny_world(attack=[{"do": sql}, {"returns_one": "select 1 as one"}]))


@pytest.mark.parametrize(
    "sql",
    ["delete from items", "insert into items values ('x', 1)", "select _note(1)", "select name from sqlite_master",
     "with a(b) as (select 1) delete from items", "select 1; select 2", "pragma foreign_keys"],
)  # fmt: skip
def test_questions_of_checks_only_read(sql: str) -> None:
    live = SqlWorld(tiny_world())
    with pytest.raises(WorldError):
        live.ask(sql)
    assert live.call("add", {"name": "x", "amount": 1}).ok


def test_a_question_does_not_reuse_the_statement_of_a_program() -> None:
    sql = "with a(b) as (select 'zero') delete from items where name in (select b from a)"
    live = SqlWorld(tiny_world(attack=[{"do": sql}, {"returns_one": "select 1 as one"}]))
    assert live.call("attack", {}).ok
    with pytest.raises(WorldError):
        live.ask(sql)


# ---- clock ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sql", "value"),
    [
        ("datetime('now')", "2026-03-02 08:00:00"),
        ("datetime('NOW', '+1 day')", "2026-03-03 08:00:00"),
        ("datetime()", "2026-03-02 08:00:00"),
        ("date('now')", "2026-03-02"),
        ("time()", "08:00:00"),
        ("current_timestamp", "2026-03-02 08:00:00"),
        ("current_date", "2026-03-02"),
        ("current_time", "08:00:00"),
        ("strftime('%Y', 'now')", "2026"),
        ("strftime('%Y')", "2026"),
        ("unixepoch('now')", 1772438400),
        ("julianday('now') - julianday(:now)", 0.0),
        ("datetime(:word)", "2026-03-02 08:00:00"),
        ("date('2026-03-31', '+1 month')", "2026-05-01"),
    ],
)
def test_now_is_the_virtual_clock(sql: str, value: object) -> None:
    world = tiny_world(
        attack=[{"returns_one": f"select {sql} as a, length(:word) as b"}],
        arguments={"word": {"type": "string", "default": "now"}},
    )
    live = SqlWorld(world)
    result = live.call("attack", {})
    assert result.ok, result.error
    assert result.value["a"] == value
    live.advance(90)
    assert live.call("attack", {}).value != result.value or sql.startswith(
        ("date", "julianday", "current_date", "strftime")
    )


def test_a_default_of_a_column_is_virtual_too() -> None:
    live = SqlWorld(tiny_world())
    live.call("stamp", {"id": 7})
    assert live.ask("select at from stamps where id = 7") == [{"at": "2026-03-02 08:00:00"}]


@pytest.mark.parametrize(
    "sql",
    [
        "datetime('now', 'localtime')",
        "datetime(:now, 'utc')",
        "datetime(cast('now' as blob))",
        "date(x'6e6f77')",
    ],
)
def test_ways_to_the_real_clock_are_closed(sql: str) -> None:
    live = SqlWorld(tiny_world(attack=[{"returns_one": f"select {sql} as a"}]))
    assert (live.call("attack", {}).error or ("",))[0] == Failure.TOOL_DEFECT
