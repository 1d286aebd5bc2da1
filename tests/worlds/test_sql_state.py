"""State of SQL worlds: snapshots, resets, hashes, changes. Equal calls from equal states have equal results."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.records import Failure, Snapshot, WorldError
from pipeline.worlds.host import CallResult
from pipeline.worlds.sql import SqlWorld, build_image
from tests.worlds.families import bikes
from tests.worlds.tiny import tiny_world

Step = tuple[str, dict[str, Any]]

NAMES = st.sampled_from(
    ["bolt", "zero", "part 3", "part 7", "new", "NEW", "a|b", "a", "7", "007", "7.0", "é", "O9001"]
)
AMOUNTS = st.integers(-3, 12)
STEPS: st.SearchStrategy[Step] = st.one_of(
    st.tuples(st.sampled_from(["add", "take"]), st.fixed_dictionaries({"name": NAMES, "amount": AMOUNTS})),
    st.tuples(st.sampled_from(["drop", "order"]), st.fixed_dictionaries({"name": NAMES})),
    st.tuples(st.just("rename"), st.fixed_dictionaries({"name": NAMES, "to": NAMES})),
    st.tuples(st.just("stamp"), st.fixed_dictionaries({"id": st.integers(1, 4)})),
    st.tuples(st.sampled_from(["look", "look_up", "nothing"]), st.just({})),
)
WORLD = tiny_world()


def _play(live: SqlWorld, steps: list[Step]) -> list[tuple[Any, ...]]:
    """Results, references and hashes of calls; the clock moves a little between them."""
    seen = []
    for number, (name, arguments) in enumerate(steps):
        result = live.call(name, arguments)
        live.advance(number)
        seen.append((result, live.state, live.ref))
    return seen


def _everything(live: SqlWorld) -> list[Any]:
    """All rows in the order an unordered query gives them."""
    return [live.ask(f"select rowid, * from {table}") for table in ("items", "stamps", "orders")]


@settings(max_examples=60, deadline=None)
@given(st.lists(STEPS, max_size=12), st.lists(STEPS, max_size=8), st.lists(STEPS, max_size=8))
def test_a_restored_state_behaves_as_the_undisturbed_one(
    before: list[Step], astray: list[Step], after: list[Step]
) -> None:
    undisturbed, disturbed, fresh = SqlWorld(WORLD), SqlWorld(WORLD), SqlWorld(WORLD)
    try:
        assert _play(undisturbed, before) == _play(disturbed, before)
        snapshot = Snapshot.model_validate_json(disturbed.snapshot().model_dump_json())
        _play(disturbed, astray)
        disturbed.restore(snapshot)
        fresh.restore(snapshot)
        assert disturbed.snapshot() == fresh.snapshot() == undisturbed.snapshot() == snapshot
        assert disturbed.changes() == undisturbed.changes()
        assert _everything(disturbed) == _everything(fresh) == _everything(undisturbed)
        expected = _play(undisturbed, after)
        assert _play(disturbed, after) == expected
        assert _play(fresh, after) == expected
        assert _everything(disturbed) == _everything(undisturbed)
    finally:
        for live in (undisturbed, disturbed, fresh):
            live.close()


@settings(max_examples=60, deadline=None)
@given(st.lists(STEPS, max_size=15), st.lists(STEPS, max_size=8))
def test_a_reset_world_is_as_new(astray: list[Step], after: list[Step]) -> None:
    used, new = SqlWorld(WORLD), SqlWorld(WORLD)
    try:
        _play(used, astray)
        used.reset()
        assert (used.state, used.ref, used.changes()) == (new.state, new.ref, [])
        assert _everything(used) == _everything(new)
        assert _play(used, after) == _play(new, after)
    finally:
        used.close()
        new.close()


@settings(max_examples=60, deadline=None)
@given(st.lists(STEPS, max_size=15))
def test_the_hash_is_that_of_the_rows_however_they_came_about(steps: list[Step]) -> None:
    """The running hash equals one computed from scratch, and changes lead from the seed to the present rows."""
    live, seed = SqlWorld(WORLD), SqlWorld(WORLD)
    try:
        _play(live, steps)
        rows = {table: live.ask(f"select * from {table}") for table in ("items", "notes", "stamps", "orders")}
        again = build_image(WORLD.replace(seed={name: tuple(found) for name, found in rows.items()}))
        assert f"{again.state:032x}" == live.state
        found = {
            (table, str(next(iter(row.values())))): tuple(row.values())
            for table, there in rows.items()
            for row in there
        }
        for change in live.changes():
            now = found.get((change.table, change.key))
            columns = len(live.runtime.image.tables[change.table].columns)
            assert now == (change.new[:columns] if change.new else None)
            assert change.old != change.new
    finally:
        live.close()
        seed.close()


def test_a_failed_call_changes_nothing_at_all() -> None:
    live = SqlWorld(WORLD)
    live.call("add", {"name": "x", "amount": 1})
    before = (live.state, live.ref, live.changes(), live._counter)
    for name, arguments, code in (
        ("take", {"name": "x", "amount": 5}, "TOO_FEW"),
        ("add", {"name": "x", "amount": -5}, Failure.CONSTRAINT),
        ("order", {"name": "nobody"}, Failure.CONSTRAINT),
        ("add", {"name": "x"}, Failure.INVALID_ARGUMENTS),
        ("nothing", {}, Failure.UNKNOWN_TOOL),
    ):
        result = live.call(name, arguments)
        assert (result.ok, result.error and result.error[0]) == (False, code)
        assert result.before == result.after
        assert (live.state, live.ref, live.changes(), live._counter) == before


def test_whole_numbers_and_floats_hash_alike_and_log_tables_do_not_count() -> None:
    schema = "create table a(k text primary key, v real, w); create table log(n integer primary key, t text);"
    steps = [{"do": "update a set w = 25.0 where :float"}, {"do": "update a set w = 25 where not :float"},
             {"do": "insert into log(t) values ('called')"}, {"returns_one": "select typeof(w) as w from a"}]  # fmt: skip
    world = tiny_world(
        steps,
        schema=schema,
        arguments={"float": {"type": "boolean"}},
        seed={"a": [{"k": "x", "v": 25, "w": 0}]},
        log_tables=["log"],
    )
    live, other = SqlWorld(world), SqlWorld(world)
    assert live.call("attack", {"float": True}).value == {"w": "real"}
    assert other.call("attack", {"float": False}).value == {"w": "integer"}
    assert live.state == other.state
    assert [type(row[2][2]) for row in live.snapshot().rows[:1]] == [float]
    assert [type(row[2][2]) for row in other.snapshot().rows[:1]] == [int]
    assert {change.table for change in live.changes()} == {"a", "log"}
    live.restore(other.snapshot())
    assert live.ask("select typeof(w) as w from a") == [{"w": "integer"}]


def test_row_order_does_not_count() -> None:
    rows = [{"name": name, "amount": 1, "price": 0.5} for name in "abcdef"]
    one = build_image(tiny_world(seed={"items": rows}))
    other = build_image(tiny_world(seed={"items": rows[::-1]}))
    assert one.state == other.state
    assert one.data != other.data


def test_equal_worlds_have_equal_bytes() -> None:
    first, second = bikes(), bikes()
    assert first.id == second.id
    assert build_image(first.replace(summary="a")).data == build_image(second.replace(summary="b")).data


def test_floats_keep_all_their_digits() -> None:
    """Values such as 0.1 + 0.2 survive changes, snapshots and restores."""
    steps = [
        {"do": "update items set price = price * 1.1 + 0.1"},
        {"returns_many": "select name, price from items"},
    ]
    world = tiny_world(steps)
    live, other = SqlWorld(world), SqlWorld(world)
    result = live.call("attack", {})
    assert any(len(repr(row["price"])) > 17 for row in result.value)
    other.restore(Snapshot.model_validate_json(live.snapshot().model_dump_json()))
    assert other.ask("select name, price from items") == result.value
    assert live.call("attack", {}) == other.call("attack", {})


def test_a_snapshot_of_another_world_is_refused() -> None:
    live = SqlWorld(bikes())
    with pytest.raises(WorldError, match="cannot be restored"):
        live.restore(SqlWorld(WORLD).snapshot())


def test_a_snapshot_that_was_tampered_with_is_refused() -> None:
    live = SqlWorld(WORLD)
    live.call("add", {"name": "x", "amount": 1})
    good = live.snapshot()
    bad = good.replace(rows=(["items", "x", ["x", 2, None, 15]],))
    with pytest.raises(WorldError, match="state hash"):
        live.restore(bad)
    live.restore(good)
    assert live.ask("select amount from items where name='x'") == [{"amount": 1}]


def test_many_changed_rows_are_restored_too() -> None:
    """More rows than are put back one by one: the seed is loaded anew."""
    steps = [
        {"do": "insert into items(name, amount) select 'n' || a.rowid || '.' || b.rowid || '.' || c.rowid, 1 "
               "from items a, items b, items c"},
        {"returns_one": "select count(*) as n from items"},
    ]  # fmt: skip
    world = tiny_world(steps)
    live, other = SqlWorld(world), SqlWorld(world)
    live.call("drop", {"name": "part 3"})
    assert live.call("attack", {}).ok
    snapshot = live.snapshot()
    assert len(snapshot.rows) > 1000
    other.restore(snapshot)
    assert _everything(other) == _everything(live)
    live.reset()
    assert (live.changes(), live.state) == ([], SqlWorld(world).state)


def test_restoring_does_not_need_an_order_of_foreign_keys() -> None:
    """Two tables that refer to each other, and unique values that two rows have swapped."""
    schema = """
    create table a(k text primary key, b text references b deferrable initially deferred, u text unique);
    create table b(k text primary key, a text references a deferrable initially deferred);
    """
    steps = [
        {"do": "insert into a values ('a9', 'b9', 'x9')"},
        {"do": "insert into b values ('b9', 'a9')"},
        {"do": "update a set u = 'tmp' where k = 'a1'"},
        {"do": "update a set u = 'x1' where k = 'a2'"},
        {"do": "update a set u = 'x2' where k = 'a1'"},
        {"returns_many": "select k, u from a"},
    ]
    seed = {
        "a": [{"k": "a1", "b": "b1", "u": "x1"}, {"k": "a2", "b": None, "u": "x2"}],
        "b": [{"k": "b1", "a": "a2"}],
    }
    world = tiny_world(steps, schema=schema, seed=seed)
    live, other = SqlWorld(world), SqlWorld(world)
    result = live.call("attack", {})
    assert result.ok, result.error
    other.restore(live.snapshot())
    assert other.changes() == live.changes()
    live.reset()
    assert live.changes() == []
    assert live.call("attack", {}) == result


def test_cascades_are_part_of_a_change() -> None:
    schema = """
    create table a(k text primary key);
    create table b(k text primary key, a text not null references a on delete cascade on update cascade);
    """
    steps = [
        {"do": "delete from a where k = 'a1'"},
        {"do": "update a set k = 'a3' where k = 'a2'"},
        {"returns_many": "select k, a from b"},
    ]
    seed = {"a": [{"k": "a1"}, {"k": "a2"}], "b": [{"k": "b1", "a": "a1"}, {"k": "b2", "a": "a2"}]}
    live = SqlWorld(tiny_world(steps, schema=schema, seed=seed))
    assert live.call("attack", {}).value == [{"k": "b2", "a": "a3"}]
    assert [(c.table, c.key, bool(c.old), bool(c.new)) for c in live.changes()] == [
        ("a", "a1", True, False),
        ("a", "a2", True, False),
        ("a", "a3", False, True),
        ("b", "b1", True, False),
        ("b", "b2", True, True),
    ]
    snapshot = live.snapshot()
    live.reset()
    assert live.changes() == []
    live.restore(snapshot)
    assert live.ask("select k, a from b") == [{"k": "b2", "a": "a3"}]


def test_changes_are_listed_by_column_for_checks() -> None:
    live = SqlWorld(WORLD)
    live.call("take", {"name": "bolt", "amount": 3})
    since = live.changes()
    live.call("take", {"name": "bolt", "amount": 2})
    live.call("drop", {"name": "zero"})
    live.list_changes()
    assert live.ask("select tbl, key, op, col, old, new from changes where key = 'bolt'") == [
        {"tbl": "items", "key": "bolt", "op": "update", "col": "amount", "old": 10, "new": 5}
    ]
    live.list_changes(since)
    assert live.ask("select op, old, new from changes where key = 'bolt'") == [
        {"op": "update", "old": 7, "new": 5}
    ]
    assert live.ask("select distinct op from changes where key = 'zero'") == [{"op": "delete"}]
    live.reset()
    live.list_changes()
    assert live.ask("select count(*) as n from changes") == [{"n": 0}]


@pytest.mark.parametrize(
    "value", [float("nan"), float("inf"), -float("inf"), 2**63, -(2**63) - 1, 10**400, "\ud800", "a\udfff"]
)
@pytest.mark.parametrize("kind", ["string", "integer", "number", "array", "object", ""])
def test_values_that_sqlite_cannot_take_are_invalid_arguments(value: Any, kind: str) -> None:
    world = tiny_world(
        [{"returns_one": "select length(:value) as n"}],
        arguments={"value": {"type": kind} if kind else {}},
    )
    live = SqlWorld(world)
    wrapped: Any = {"array": [[value]], "object": {"a": {"b": value}}}.get(kind, value)
    result: CallResult = live.call("attack", {"value": wrapped})
    assert result.error
    assert result.error[0] == Failure.INVALID_ARGUMENTS


@pytest.mark.parametrize(
    "arguments", [None, [], "x", 5, {"name": "x", "amount": 1, "more": 2}, {"name": None, "amount": 1}]
)
def test_arguments_of_another_shape_are_invalid(arguments: Any) -> None:
    result = SqlWorld(WORLD).call("add", arguments)
    assert result.error
    assert result.error[0] == Failure.INVALID_ARGUMENTS


def test_a_very_large_but_fitting_number_is_kept() -> None:
    live = SqlWorld(WORLD)
    assert live.call("add", {"name": "x", "amount": 2**62}).value == {"name": "x", "amount": 2**62}
    other = SqlWorld(WORLD)
    other.restore(Snapshot.model_validate_json(live.snapshot().model_dump_json()))
    assert other.ask("select amount from items where name='x'") == [{"amount": 2**62}]


@pytest.mark.parametrize(
    "sql",
    ["select 9e999 as a", "select x'00' as a", "select cast('a' as blob) as a", "select '[[' as a", "select 5 as a",
     "select '" + "[" * 5000 + "' as a"],
)  # fmt: skip
def test_results_that_are_no_json_are_defects_of_the_tool(sql: str) -> None:
    world = tiny_world(
        tools=[{"name": "bad", "program": [{"returns_one": sql}], "returns": {"a": {"type": "array"}}}]
    )
    result = SqlWorld(world).call("bad", {})
    assert result.error
    assert result.error[0] == Failure.TOOL_DEFECT


@pytest.mark.parametrize("value", ["9e999", "-9e999", "x'00'"])
def test_rows_that_json_cannot_hold_are_not_written(value: str) -> None:
    live = SqlWorld(
        tiny_world([{"do": f"update items set price = {value}"}, {"returns_one": "select 1 as one"}])
    )
    result = live.call("attack", {})
    assert result.error
    assert result.error[0] == Failure.TOOL_DEFECT
    assert live.changes() == []
