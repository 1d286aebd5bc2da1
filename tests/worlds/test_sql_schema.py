"""Schemas of all kinds: odd names, keys of several parts, generated columns, views, tables without row numbers."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.records import (
    AgentProfile,
    Failure,
    Goal,
    Predicate,
    ReferenceCall,
    Snapshot,
    Toolset,
    World,
)
from pipeline.tasks.lives import Lives
from pipeline.tasks.rubric import build_rubric
from pipeline.worlds.sql import SqlWorld, quoted
from pipeline.worlds.sql.schema import Table
from tests.worlds.tiny import tiny_world

Steps = list[dict[str, Any]]


def _there_and_back(world: World, arguments: dict[str, Any]) -> SqlWorld:
    """Runs `attack`, and checks that restore and reset reach the same states; the world after the call."""
    live, other = SqlWorld(world), SqlWorld(world)
    seed = live.state
    result = live.call("attack", arguments)
    assert result.ok, result.error
    assert live.changes()
    other.restore(Snapshot.model_validate_json(live.snapshot().model_dump_json()))
    assert (other.changes(), other.state) == (live.changes(), live.state)
    other.reset()
    assert (other.changes(), other.state) == ([], seed)
    assert other.call("attack", arguments) == result
    return live


def test_names_that_sql_reserves_or_that_need_quotes() -> None:
    schema = """
    create table "Order"("group" text primary key, "Select" integer not null default 1, "a b" text, "it's" text, "x""y" text);
    create table "weird-table"("from" integer primary key, "Group" text references "Order", [to] real);
    """
    steps: Steps = [
        {"do": """update "Order" set "Select" = "Select" + 1, "x""y" = 'q' where "group" = :key"""},
        {"do": """insert into "weird-table"("from", "Group", [to]) values (9, :key, 1.5)"""},
        {"do": """delete from "Order" where "group" = 'gone'"""},
        {"returns_many": """select "group", "Select" from "Order" """},
    ]
    world = tiny_world(
        steps,
        schema=schema,
        arguments={"key": {"type": "string"}},
        seed={"Order": [{"group": "k|1", "a b": "x", "it's": "y"}, {"group": "gone"}]},
    )
    live = _there_and_back(world, {"key": "k|1"})
    assert [(one.table, one.key) for one in live.changes()] == [
        ("Order", "gone"),
        ("Order", "k|1"),
        ("weird-table", "9"),
    ]


def test_rubrics_of_worlds_with_odd_names_hold_in_their_final_state() -> None:
    schema = """create table "Order"("group" text primary key, "Select" integer not null, "when" text)"""
    steps: Steps = [
        {"do": """update "Order" set "Select" = 7 where "group" = 'a'"""},
        {"do": """delete from "Order" where "group" = 'b'"""},
        {"do": """insert into "Order" values ('c', 1, null)"""},
        {"returns_one": "select 1 as one"},
    ]
    seed = {"Order": [{"group": "a", "Select": 1}, {"group": "b", "Select": 1}]}
    world = tiny_world(steps, schema=schema, seed=seed)
    live = SqlWorld(world)
    assert live.call("attack", {}).ok
    call = ReferenceCall(goal=0, tool="attack", arguments={})
    toolset = Toolset(tools=world.tools, worlds=(world.id,))
    agent = AgentProfile(name="a", system_prompt="", confirms="never", toolset=toolset)
    rubric = build_rubric(Lives(world, [live]), toolset, [Goal(intent="do it")], [call], {}, agent, [])
    live.list_changes()
    checks = [check for check in rubric.checks if check.kind == "state"]
    assert len(checks) >= 4
    assert all(live.holds(check.sql) for check in checks)
    live.reset()
    live.list_changes()
    assert not all(live.holds(check.sql) for check in checks)
    assert Predicate(op="eq", value=1)


def test_keys_of_several_parts_are_told_apart() -> None:
    schema = "create table t(a text, b text, n integer, v text, primary key(a, b, n))"
    seed = {"t": [{"a": "x|y", "b": "z", "n": 1, "v": "1"}, {"a": "x", "b": "y|z", "n": 1, "v": "2"},
                  {"a": "x\\", "b": "|", "n": 1, "v": "3"}, {"a": "x", "b": "\\|", "n": 1, "v": "4"}]}  # fmt: skip
    for gone in seed["t"]:
        steps: Steps = [
            {"do": "delete from t where v = :v"},
            {"do": "update t set v = v || '!'"},
            {"returns_many": "select a, b, v from t"},
        ]
        world = tiny_world(steps, schema=schema, arguments={"v": {"type": "string"}}, seed=seed)
        live = _there_and_back(world, {"v": gone["v"]})
        assert len({one.key for one in live.changes()}) == 4


PARTS = st.text(alphabet="ab|\\1", max_size=4)


@given(st.lists(PARTS, min_size=1, max_size=3), st.lists(PARTS, min_size=1, max_size=3))
def test_key_texts_are_unambiguous(one: list[str], other: list[str]) -> None:
    def table(size: int) -> Table:
        columns = tuple(f"c{i}" for i in range(size))
        return Table("t", columns, ("text",) * size, (False,) * size, tuple(range(size)), True, "")

    text = table(len(one)).key_of(tuple(one))
    assert table(len(one)).key_parts(text) == one
    if len(one) == len(other) and one != other:
        assert text != table(len(other)).key_of(tuple(other))


@pytest.mark.parametrize(
    ("kind", "keys"),
    [
        ("text", ["7", "007", "7.0", "1e3", "", " ", "None", "null"]),
        ("integer", [7, -1, 2**62, 0]),
        ("real", [0.1, 7.0, 1e300, -2.5]),
        ("numeric", [7, 7.5, -3]),
        ("date", ["2026-03-02", "2026-03-03"]),
    ],
)
@pytest.mark.parametrize("suffix", ["", " without rowid"])
def test_keys_of_every_type_are_found_again(kind: str, keys: list[Any], suffix: str) -> None:
    schema = f"create table t(k {kind} primary key, v integer not null){suffix}"
    seed = {"t": [{"k": key, "v": 0} for key in keys]}
    for key in keys:
        steps: Steps = [
            {"do": f"delete from t where v = 0 and k = (select k from t order by k = {key!r} desc limit 1)"},
            {"do": "update t set v = v + 1"},
            {"returns_many": "select k, v from t"},
        ]
        live = _there_and_back(tiny_world(steps, schema=schema, seed=seed), {})
        assert len(live.changes()) == len(keys)


def test_null_in_a_key_is_refused() -> None:
    schema = "create table t(a text, b text, primary key(a, b)); create table u(k text primary key)"
    for sql in ("insert into t values ('x', null)", "insert into u values (null)", "update t set b = null"):
        steps: Steps = [{"do": sql}, {"returns_one": "select 1 as one"}]
        live = SqlWorld(tiny_world(steps, schema=schema, seed={"t": [{"a": "x", "b": "y"}]}))
        result = live.call("attack", {})
        assert result.error
        assert result.error[0] == Failure.CONSTRAINT
        assert "NULL in a primary key" in result.error[1]
        assert live.changes() == []


def test_generated_columns_follow_and_are_no_part_of_the_state() -> None:
    schema = """
    create table t(k text primary key, n integer not null, double integer generated always as (n * 2) stored,
      label text generated always as (k || n) virtual);
    """
    steps: Steps = [{"do": "update t set n = n + 1"}, {"returns_many": "select k, double, label from t"}]
    live = _there_and_back(tiny_world(steps, schema=schema, seed={"t": [{"k": "a", "n": 1}]}), {})
    assert live.changes()[0].new == ("a", 2, 1)
    assert live.ask("select double from t") == [{"double": 4}]


def test_a_column_may_be_named_rowid() -> None:
    schema = "create table t(k text primary key, rowid text, _rowid_ integer)"
    steps: Steps = [{"do": "delete from t where k = 'a'"}, {"do": "insert into t values ('a', 'again', 5)"},
                    {"returns_many": "select k, rowid from t"}]  # fmt: skip
    seed = {"t": [{"k": "a", "rowid": "first"}, {"k": "b", "rowid": "second"}]}
    live = _there_and_back(tiny_world(steps, schema=schema, seed=seed), {})
    assert [row["k"] for row in live.ask("select k from t not indexed")] == ["b", "a"]


def test_the_order_of_unordered_queries_is_restored() -> None:
    schema = (
        "create table t(k text primary key, v integer); create table d(n integer primary key desc, v text)"
    )
    steps: Steps = [
        {"do": "delete from t where k = 'a'"},
        {"do": "insert into t values ('a', 2)"},
        {"do": "delete from d where n = 1"},
        {"do": "insert into d values (1, 'back')"},
        {"returns_many": "select k, v from t"},
    ]
    seed = {"t": [{"k": k, "v": 1} for k in "abc"], "d": [{"n": n, "v": "x"} for n in (1, 2, 3)]}
    world = tiny_world(steps, schema=schema, seed=seed)
    live = _there_and_back(world, {})
    other = SqlWorld(world)
    other.restore(live.snapshot())
    for sql in ("select * from t", "select * from d", "select v, k from t", "select n from d"):
        assert other.ask(sql) == live.ask(sql)


def test_views_can_be_read_and_not_written() -> None:
    schema = (
        "create table t(k text primary key, v integer); create view big as select k, v from t where v > 1"
    )
    seed = {"t": [{"k": "a", "v": 1}, {"k": "b", "v": 2}]}
    read: Steps = [{"returns_many": "select k, (select count(*) from big) as n from big"}]
    assert SqlWorld(tiny_world(read, schema=schema, seed=seed)).call("attack", {}).value == [
        {"k": "b", "n": 1}
    ]
    write: Steps = [{"do": "delete from big"}, {"returns_one": "select 1 as one"}]
    with pytest.raises(Exception, match="cannot modify big"):
        SqlWorld(tiny_world(write, schema=schema, seed=seed))


@pytest.mark.parametrize(
    "sql",
    [
        "with x as (select k from t) select count(*) as n from x",
        "with recursive x(i) as (select 1 union all select i + 1 from x where i < 5) select count(*) as n from x",
        "select count(*) as n from (select k from t)",
        "select (select count(*) from t b where b.v <= a.v) as n from t a",
        "select value as n from json_each('[1, 2]')",
        "select row_number() over (order by k) as n from t",
        "select group_concat(k, '-') filter (where v > 0) as n from t",
        "select count(*) as n from t as a left join t as b on a.k = b.k and b.v is null",
        "select k as n from t where k in (select 'a' union select 'b') except select 'b'",
        "select case when exists(select 1 from t) then printf('%05.2f', 3.14159) else format('%s', 1) end as n",
        "select strftime('%d.%m.', date(:now, '+1 month', 'start of month', '-1 day')) as n",
    ],
)
def test_useful_queries_are_allowed(sql: str) -> None:
    schema = "create table t(k text primary key, v integer)"
    live = SqlWorld(tiny_world([{"returns_many": sql}], schema=schema, seed={"t": [{"k": "a", "v": 1}]}))
    result = live.call("attack", {})
    assert result.ok, result.error


@pytest.mark.parametrize("name", ["plain", "Mixed_Case9", "_under"])
def test_plain_names_stay_as_they_are(name: str) -> None:
    assert quoted(name) == name


@pytest.mark.parametrize("name", ["order", "Group", "two words", "9lives", "é", 'a"b', "", "a-b"])
def test_other_names_get_quotes(name: str) -> None:
    assert quoted(name) == '"' + name.replace('"', '""') + '"'
