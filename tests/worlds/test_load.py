"""World files: what is wrong with one is said with its place and a way out."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest

from pipeline.records import WorldError
from pipeline.worlds.check import check_files
from pipeline.worlds.load import load_world, parse_world
from pipeline.worlds.sql import SqlWorld

GOOD: dict[str, Any] = {
    "name": "shop",
    "domain": "a/b/c",
    "clock": "2026-03-02T08:00:00",
    "schema": "create table goods(good_id text primary key, price real); "
    "create table sales(sale_id text primary key, good_id text not null references goods);",
    "seed": {"goods": [{"good_id": "G1", "price": 1.5}], "sales": [{"sale_id": "S1", "good_id": "G1"}]},
    "tools": [
        {
            "name": "show",
            "read_only": True,
            "arguments": {"good_id": {"type": "string", "from": "goods.good_id"}},
            "program": [{"returns_one": "select good_id, price from goods where good_id = :good_id"}],
            "try": [{"good_id": "G1"}],
        }
    ],
}


def _with(path: str, value: Any) -> dict[str, Any]:
    """The good world with the value at a path (`tools.0.name`) replaced; `DROP` removes it."""
    data = copy.deepcopy(GOOD)
    *way, last = [int(part) if part.isdigit() else part for part in path.split(".")]
    place: Any = data
    for part in way:
        place = place[part]
    if value == "DROP":
        del place[last]
    else:
        place[last] = value
    return data


def test_the_good_world_loads() -> None:
    world = parse_world(GOOD, where="here")
    assert SqlWorld(world).call("show", {"good_id": "G1"}).value == {"good_id": "G1", "price": 1.5}


ARGUMENT = "tools.0.arguments.good_id"


@pytest.mark.parametrize(
    ("path", "value", "says"),
    [
        ("names", "x", "unknown key names"),
        ("name", "DROP", "missing name"),
        ("tools", {"a": 1}, "no list of tools"),
        ("tools", ["a"], "no list of tools"),
        ("tools.0.nam", "x", "unknown key nam"),
        ("tools.0.name", "two words", "name"),
        ("tools.0.program", [], "no program"),
        ("tools.0.program", ["returns_one"], "no mapping"),
        ("tools.0.program", [{"return": "select 1"}], "none of require"),
        ("tools.0.program", [{"returns_one": "select 1 as a", "extra": 1}], "unknown key extra"),
        ("tools.0.program", [{"returns_one": "selec 1"}], "starting with 'selec'"),
        ("tools.0.program", [{"returns_one": "select missing from goods"}], "no such column"),
        ("tools.0.program", [{"returns_one": "select 1 as a, 2 as a"}], "two result columns"),
        ("tools.0.program", [{"returns_one": "select 1 as a"}, {"do": "delete from goods"}], "last step"),
        ("tools.0.program", [{"require": "select 1"}, {"returns_one": "select 1 as a"}], "needs an error"),
        ("tools.0.program", [{"returns_one": "select :god_id as a"}], ":god_id is no argument"),
        ("tools.0.program", [{"do": "delete from god"}, {"returns_one": "select 1 as a"}], "step 1: no such table"),
        ("tools.0.returns", {"total": {"type": "number"}}, "returns"),
        ("tools.0.try", 5, "neither SQL nor"),
        (f"{ARGUMENT}.said", None, "arguments.good_id.said is empty"),
        (f"{ARGUMENT}.default", None, "arguments.good_id.default is empty"),
        (f"{ARGUMENT}.minimun", 3, "unknown key minimun"),
        (f"{ARGUMENT}.knwon", True, "unknown key knwon"),
        (f"{ARGUMENT}.type", "text", "no JSON Schema"),
        (f"{ARGUMENT}.enum", [True, False], "does not fit its type"),
        (f"{ARGUMENT}.enum", "on", "enum is no list"),
        (f"{ARGUMENT}.default", 5, "does not fit its type"),
        (f"{ARGUMENT}.from", "goods.id", "does not exist"),
        (f"{ARGUMENT}.from", "goods", "does not exist"),
        (ARGUMENT, "string", "no mapping"),
        ("tools.0.arguments", {"now": {"type": "string"}}, "cannot be named 'now'"),
        ("tools.0.arguments", {"from-day": {"type": "string"}}, "cannot be named"),
        ("tools.0.description", None, "description is empty"),
        ("schema", "create tabel x(a)", "schema is broken"),
        ("schema", "select 1", "makes no table"),
        ("schema", "create table goods(a)", "no primary key"),
        ("schema", "create table goods(a primary key)", "has no type"),
        ("schema", "create table goods(a integer primary key autoincrement)", "autoincrement"),
        ("schema", "create table changes(a text primary key)", "reserved"),
        ("schema", "create table numbers(a text primary key)", "numbers"),
        ("schema", "begin; create table goods(a text primary key)", "schema is broken"),
        ("schema", "pragma user_version = 3", "schema is broken"),
        ("schema", "attach 'x' as x", "schema is broken"),
        ("schema", "create virtual table goods using fts5(a)", "schema is broken"),
        ("schema", "create temp table goods(a text primary key)", "schema is broken"),
        ("schema", "create table t(a text primary key); create trigger x after insert on t begin delete from t; end",
         "schema is broken"),
        ("seed.goods", [{"good_id": "G1", "cost": 1}], "unknown columns"),
        ("seed.good", [], "does not make"),
        ("seed.goods", [{"good_id": "G1"}, {"good_id": "G1"}], "seed row 2 of goods is refused"),
        ("seed.goods", [{"good_id": None, "price": 1}], "NULL in its primary key"),
        ("seed.goods", [{"good_id": "G1", "price": 1e999}], "without an end"),
        ("seed.goods", [{"good_id": "\ud800", "price": 1}], "surrogates"),
        ("seed.sales", [{"sale_id": "S7", "good_id": "G9"}], "sale_id=S7 refers to a missing row of goods"),
        ("generate", ["insert into goods select 1"], "generate statement 1"),
        ("generate", ["create table x(a)"], "generate statement 1"),
        ("generate", ["insert into goods values ('a', 1); delete from goods"], "two statements"),
        ("generate", ["insert into goods select pick('no such list', 1), 1"], "generate statement 1"),
        ("generate", ["insert into goods with recursive r(x) as (select 1 union all select x+1 from r) select x, 1 from r"],
         "interrupted"),
        ("generate", ["insert into goods values (x'00', 1)"], "blob"),
        ("generate", ["insert into goods values ('a', 9e999)"], "infinite"),
        ("generate", ["insert into goods values ('a', random())"], "not authorized"),
        ("clock", "yesterday", "no moment"),
        ("log_tables", ["logs"], "log_tables names"),
        ("policy", [{"rule": "x"}], "enforced_by"),
        ("invariants", [{"name": "x"}], "sql"),
        ("words", {"tool": {}}, "unknown key tool"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_with_its_place(path: str, value: Any, says: str) -> None:
    with pytest.raises(WorldError) as caught:
        SqlWorld(parse_world(_with(path, value), where="shop.yaml"))
    assert says in str(caught.value)
    assert "shop" in str(caught.value)


def test_two_tools_of_one_name() -> None:
    with pytest.raises(WorldError, match="two tools are named 'show'"):
        parse_world(_with("tools", [GOOD["tools"][0], GOOD["tools"][0]]), where="here")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("name: [", "cannot be read as YAML"),
        ("- a", "holds no mapping"),
        ("name: x\n1: 2\n", "unknown key"),
        ("", "holds no mapping"),
    ],
)
def test_files_that_are_no_world(
    tmp_path: Path, text: str, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "world.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(WorldError) as caught:
        load_world(path)
    assert says in str(caught.value)
    assert str(path) in str(caught.value)
    assert check_files([path, tmp_path / "missing.yaml"]) == 2
    assert capsys.readouterr().out.count("rejected") == 2


def test_unquoted_dates_are_named(tmp_path: Path) -> None:
    path = tmp_path / "world.yaml"
    text = "name: x\ndomain: a/b/c\nclock: 2026-03-02T08:00:00\nschema: create table t(a text primary key)\ntools: []\n"
    path.write_text(text + "seed: {t: [{a: 2026-03-02}]}\n", encoding="utf-8")
    with pytest.raises(WorldError, match=r"an unquoted date at seed\.t\.0\.a"):
        load_world(path)
    path.write_text(text + "seed: {t: [{a: '2026-03-02'}]}\n", encoding="utf-8")
    assert load_world(path).clock.startswith("2026-03-02")


def test_null_in_a_witness_means_not_given() -> None:
    data = _with("tools.0.try", [{"good_id": "G1", "more": None}])
    program = parse_world(data, where="here").tools[0].program
    assert program
    assert program.witnesses[0].arguments == {"good_id": "G1"}


def test_seed_rows_may_come_in_any_order() -> None:
    data = copy.deepcopy(GOOD)
    data["seed"] = {"sales": data["seed"]["sales"], "goods": data["seed"]["goods"]}
    assert SqlWorld(parse_world(data, where="here")).ask("select count(*) as n from sales") == [{"n": 1}]


@pytest.mark.parametrize(
    ("schema", "required"),
    [
        ({"type": "string"}, True),
        ({"type": "string", "optional": True}, False),
        ({"type": "string", "optional": False}, True),
        ({"type": "string", "default": "G1"}, False),
    ],
)
def test_an_argument_is_required_unless_it_is_optional_or_has_a_default(
    schema: dict[str, Any], required: bool
) -> None:
    data = _with(ARGUMENT, schema)
    tool = parse_world(data, where="here").tools[0]
    assert ("good_id" in tool.input_schema["required"]) is required
    assert set(tool.input_schema["properties"]["good_id"]) <= {"type", "default"}
