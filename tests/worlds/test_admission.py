"""Admission: a world enters only after its tools ran; each reason against one is named."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest

from pipeline.assets import asset
from pipeline.worlds.admission import Problem, admit
from pipeline.worlds.load import load_world, parse_world
from pipeline.yaml_files import parse_yaml

TEXT = (Path(__file__).parent / "bikes.yaml").read_text(encoding="utf-8")


def _problems(change: Any, *, language: bool = False) -> list[Problem]:
    """The problems of the bike world after `change` has spoiled its data."""
    data: dict[str, Any] = copy.deepcopy(parse_yaml(TEXT))
    change(data, {tool["name"]: tool for tool in data["tools"]})
    return admit(parse_world(data, where="bikes"), language=language).problems


def test_the_bike_world_is_admitted() -> None:
    report = admit(parse_world(parse_yaml(TEXT), where="bikes"))
    assert report.admitted, report.problems
    assert report.errors_provoked == 6


@pytest.mark.parametrize(
    "name", sorted(path.stem for path in Path(str(asset("tools_repo/worlds"))).glob("*.yaml"))
)
def test_the_worlds_of_the_project_are_admitted(name: str) -> None:
    report = admit(load_world(Path(str(asset(f"tools_repo/worlds/{name}.yaml")))))
    assert report.admitted, report.problems
    assert len(report.problems) == 0
    assert report.calls > 200


def _set(tool: str, key: str, value: Any) -> Any:
    def change(data: dict[str, Any], tools: dict[str, Any]) -> None:
        tools[tool][key] = value

    return change


def _step(tool: str, number: int, key: str, value: Any) -> Any:
    def change(data: dict[str, Any], tools: dict[str, Any]) -> None:
        tools[tool]["program"][number][key] = value

    return change


def _world(key: str, value: Any) -> Any:
    def change(data: dict[str, Any], tools: dict[str, Any]) -> None:
        data[key] = value

    return change


@pytest.mark.parametrize(
    ("change", "check", "says"),
    [
        (_set("find_member", "try", None), "witness", "no `try` row shows it succeeding"),
        (_set("find_member", "try", "select phone from members where 0"), "witness", "no `try` row shows it"),
        (_set("find_member", "try", "select phone from member"), "witness", "no such table"),
        (_set("find_member", "try", "select name as phone from sqlite_master"), "witness", "prohibited"),
        (_set("find_member", "try", [{"phone": "+1 000"}]), "witness", "should give success but gives NOT_FOUND"),
        (_set("find_member", "try", [{"tel": "+1 000"}]), "witness", "should give success but gives INVALID_ARG"),
        (_step("find_member", 0, "try", None), "witness", "no `try` row provokes NOT_FOUND"),
        (_step("find_member", 0, "try", "select phone from members"), "witness", "should give NOT_FOUND but gives"),
        (_set("start_hire", "read_only", True), "read_only", "has a `do` step"),
        (_step("start_hire", 2, "do", "update bikes set status='lost' where bike_id=:bike_id"), "witness", "CONSTRAINT"),
        (_step("start_hire", 3, "do", "insert into hires select 'H'||:new_id||i, :member_id, :bike_id, :now, 'open', 0 "
               "from (select 1 as i union all select 2)"), "witness", "found no row"),
        (_set("find_member", "returns", {"name": {"type": "integer"}}), "output", "does not match its schema"),
        (_world("invariants", [{"name": "never", "sql": "select count(*) < 0 from hires"}]), "invariant", "'never' does not hold"),
        (_world("invariants", [{"name": "odd", "sql": "delete from hires"}]), "invariant", "starting with 'delete'"),
        (_world("invariants", [{"name": "full", "sql": "select count(*) <= 8 from hires where status='open'"}]),
         "invariant", "breaks 'full'"),
        (_world("policy", [{"rule": "Be nice.", "enforced_by": "reply, start_hire.NOPE"}]), "policy", "start_hire.NOPE"),
        (_world("policy", [{"rule": "Be nice.", "enforced_by": "consent:start_hire.accept_fee"}]), "policy", "does not exist"),
        (_set("list_hires", "program", [{"returns_many": "select model, starts from hires join bikes using(bike_id) where member_id=:member_id"}]),
         "ids", "no other read-only tool returns hire_id"),
        (_set("list_hires", "program", [{"returns_many": "select hire_id, model from hires join bikes using(bike_id) where member_id=:member_id or :member_id is not null"}]),
         "ignored", "member_id makes a difference"),
        (_set("find_member", "arguments", {"phone": {"type": "string"}, "color": {"type": "string", "default": "red"}}), "ignored", "color"),
    ],
)  # fmt: skip
def test_reasons_against_a_world(change: Any, check: str, says: str) -> None:
    problems = _problems(change)
    assert [one for one in problems if one.check == check and says in one.message], problems


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (_set("start_hire", "ask", ["take it"]), "`ask` has 1 phrasings"),
        (_set("start_hire", "ask", ["take {bike}"] * 4), "names {bike}, which is not known"),
        (_set("start_hire", "confirm", []), "`confirm` has fewer"),
        (_set("find_member", "done", []), "`done` has fewer"),
        (_set("list_hires", "none", []), "a list needs `each` and `none`"),
        (lambda data, tools: data["words"]["entities"].pop("hires"), "no entry 'hires'"),
        (lambda data, tools: data["words"].update(agent=["x"]), "agent has 1 entries"),
        (
            lambda data, tools: tools["find_member"]["arguments"]["phone"].update(said=["my number"]),
            "without {value}",
        ),
        (lambda data, tools: tools["find_member"]["arguments"]["phone"].pop("called"), "has no `called`"),
    ],
)
def test_people_must_be_able_to_talk_about_it(change: Any, says: str) -> None:
    problems = _problems(change, language=True)
    assert [one for one in problems if one.check == "language" and says in one.message], problems


def test_a_world_that_cannot_be_built_is_a_report() -> None:
    world = parse_world(parse_yaml(TEXT), where="bikes")
    report = admit(world.replace(schema_sql="create table x(a)"))
    assert not report.admitted
    assert report.problems[0].check == "build"
