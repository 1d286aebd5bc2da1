"""Evolution: templates, vocabularies, witnesses, and that what comes out is admitted."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.config import parse_config
from pipeline.config.tasks import TasksConfig
from pipeline.records import ConfigError, Invariant, Policy, Task, World
from pipeline.stages.context import Context
from pipeline.stages.evolve import STAGE, evolve_unit, evolve_units
from pipeline.stages.tasks import _attempt
from pipeline.store import RunFolder
from pipeline.tasks.gate import gate
from pipeline.teacher.author import TeacherAuthor
from pipeline.teacher.policy import TeacherPolicy
from pipeline.tools.evolve.archetype import archetypes
from pipeline.tools.evolve.making import Blueprint, make, mapping
from pipeline.tools.evolve.plan import plan
from pipeline.tools.evolve.skeleton import program_shape, shape, world_shape
from pipeline.tools.evolve.template import filled, grown
from pipeline.tools.evolve.vocabulary import Noun, vocabularies
from pipeline.tools.evolve.witnesses import program
from pipeline.worlds.admission import admit


def _blueprints(kind: str, number: int) -> list[Blueprint]:
    """The first so many worlds of an archetype that a large plan has."""
    return [one for one in plan(2_000) if one.archetype.name == kind][:number]


@pytest.mark.parametrize("kind", [one.name for one in archetypes()])
def test_worlds_of_every_archetype_are_admitted(kind: str) -> None:
    blueprints = _blueprints(kind, 3)
    assert blueprints
    for blueprint in blueprints:
        report = admit(make(blueprint), rows=6)
        assert report.admitted, "\n".join(map(str, report.problems))
        assert report.errors_provoked > 0


@pytest.mark.slow
def test_every_archetype_is_admitted_in_every_domain() -> None:
    rejected = []
    for blueprint in plan(8_000):
        report = admit(make(blueprint), rows=12)
        if not report.admitted:
            rejected.append(f"{blueprint.name}: {report.problems[0]}")
    assert not rejected


@pytest.mark.parametrize("domain", [one.domain for one in vocabularies()])
def test_every_vocabulary_makes_a_world(domain: str) -> None:
    words = next(one for one in vocabularies() if one.domain == domain)
    blueprint = replace(plan(200)[0], words=words)
    report = admit(make(blueprint), rows=3)
    assert report.admitted, "\n".join(map(str, report.problems))


def test_a_blueprint_always_gives_the_same_world() -> None:
    blueprint = plan(50)[0]
    assert make(blueprint).to_json() == make(blueprint).to_json()


def test_two_worlds_of_one_archetype_differ_in_more_than_words() -> None:
    for kind in archetypes():
        shapes = [world_shape(make(one)) for one in _blueprints(kind.name, 4)]
        assert len(set(shapes)) == len(shapes), kind.name


def test_a_larger_plan_begins_with_the_smaller_one() -> None:
    small, large = plan(100), plan(300)
    assert large[: len(small)] == small
    assert sum(one.tools for one in small) >= 100 > sum(one.tools for one in small[:-1])


def test_a_plan_counts_the_tools_that_are_made() -> None:
    for blueprint in plan(150):
        assert len(mapping(blueprint)["tools"]) == blueprint.tools


def test_more_than_can_be_made_is_an_error_with_a_way_out() -> None:
    with pytest.raises(ConfigError, match=r"evolve\.tools"):
        plan(10_000_000)


def test_no_hole_is_left_in_any_text() -> None:
    for blueprint in plan(300):
        text = make(blueprint).to_json()
        for hole in ("<%", "${", "$who", "$item"):
            assert hole not in text, blueprint.name


async def test_tasks_are_made_in_evolved_worlds() -> None:
    author = TeacherAuthor(TasksConfig(fault_rate=0))
    admitted = 0
    for blueprint in plan(300)[::7]:
        for task in await author.tasks(make(blueprint), 2, 7):
            admitted += await _passes_the_gate(task, make(blueprint))
    assert admitted >= 5


async def _passes_the_gate(task: Task, world: World) -> bool:
    def reference(one: Task, number: int) -> Policy:
        return TeacherPolicy(one, world, str(number))

    return (await gate(task, _attempt(world), reference, 7, 0.2)).admitted


def test_the_domain_and_the_organization_are_named_in_the_words() -> None:
    for blueprint in plan(300):
        world = make(blueprint)
        assert any(org in text for org in blueprint.words.orgs for text in world.words.agent)


def test_another_edition_is_another_organization() -> None:
    first = plan(50)[0]
    assert make(first).words.agent != make(replace(first, edition=1)).words.agent


# ---- templates ----------------------------------------------------------------------------------------------


def test_holes_conditions_and_braces_that_belong_to_the_world() -> None:
    context = {"item": "boat", "item_id": "boat_id", "fee": True}
    assert (
        filled("take {$item_id}: $item<% if fee %>, 5.00<% endif %>", context) == "take {boat_id}: boat, 5.00"
    )


def test_a_tree_loses_what_its_conditions_exclude() -> None:
    tree = {
        "$a": [{"when": "x", "k": 1}, {"when": "not x", "k": 2}, "<% if not x %>gone<% endif %>", "stays"]
    }
    assert grown(tree, {"a": "list", "x": True}) == {"list": [{"k": 1}, "stays"]}


def test_the_article_fits_the_noun() -> None:
    for blueprint in plan(600):
        noun = blueprint.words.nouns["who"]
        if noun.a.startswith("an "):
            assert f" a {noun.one} " not in " ".join(tool.description for tool in make(blueprint).tools)


def test_an_unknown_hole_is_an_error_that_names_the_text() -> None:
    with pytest.raises(ConfigError, match="no such"):
        filled("no such $thing", {})


@given(st.text(alphabet=st.characters(exclude_characters="$<", codec="utf-8")))
def test_a_text_without_holes_stays_as_it_is(text: str) -> None:
    assert filled(text, {}) == text


@pytest.mark.parametrize(
    ("noun", "many", "a"),
    [
        ("visit", "visits", "a visit"),
        ("entry", "entries", "an entry"),
        ("box", "boxes", "a box"),
        ("person/people", "people", "a person"),
        ("unit", "units", "a unit"),
        ("hour", "hours", "an hour"),
    ],
)
def test_nouns_have_their_forms(noun: str, many: str, a: str) -> None:
    made = Noun.of(noun)
    assert (made.many, made.a) == (many, a)


# ---- vocabularies -------------------------------------------------------------------------------------------


def _vocabulary(tmp_path: Path, text: str) -> Path:
    (tmp_path / "odd.yaml").write_text(text, encoding="utf-8")
    return tmp_path


def test_a_broken_vocabulary_is_named(tmp_path: Path) -> None:
    folder = _vocabulary(tmp_path, "category: c\nasides: []\nunserved: []\ndomains: {shop: {orgs: [A]}}\n")
    with pytest.raises(ConfigError, match=r"odd\.yaml, shop"):
        vocabularies(folder)


def test_an_empty_folder_has_no_vocabulary(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no vocabulary"):
        vocabularies(tmp_path)


def test_domains_are_unique() -> None:
    names = [(one.category, one.domain) for one in vocabularies()]
    assert len(names) == len(set(names))
    domains = [one.domain for one in vocabularies()]
    assert len(domains) == len(set(domains))


# ---- witnesses ----------------------------------------------------------------------------------------------


def test_rules_become_requirements_with_witnesses_in_order() -> None:
    tool = {
        "arguments": {"visit_id": {}, "agreed": {"default": False}},
        "over": "select visit_id from visits",
        "rules": [
            {"code": "GONE", "message": "m", "sql": "select 1 from visits where visit_id = :visit_id"},
            {"consent": "agreed", "needed": "select late from visits where visit_id = :visit_id", "code": "NO", "message": "m"},
        ],
    }  # fmt: skip
    steps, success = program(tool)
    assert [step["error"]["code"] for step in steps] == ["GONE", "NO"]
    assert "not (coalesce((select 1 from visits where visit_id = given.visit_id), 0) <> 0)" in steps[0]["try"]
    assert "0 as agreed" in steps[1]["try"]
    assert success.startswith("select visit_id, agreed from")


# ---- skeletons ----------------------------------------------------------------------------------------------


def test_names_and_literals_make_no_difference_and_structure_does() -> None:
    one = shape(["select visit_id from visits where status = 'open' and fee > 5"])
    other = shape(["select loan_id from loans where state = 'out' and fine > 12.5"])
    assert one == other
    assert one != shape(["select visit_id, fee from visits where status = 'open' and fee > 5"])
    assert one != shape(["select fee from visits where status = 'open' and fee > 5"])


def test_renaming_a_world_keeps_its_shape() -> None:
    blueprint = plan(50)[0]
    world = make(blueprint)
    text = world.to_json()
    table = blueprint.words.noun("who").table
    renamed = World.model_validate_json(text.replace(table, "zz_people"))
    assert renamed.id != world.id
    assert world_shape(renamed) == world_shape(world)
    assert {program_shape(tool.program) for tool in renamed.tools if tool.program} == {
        program_shape(tool.program) for tool in world.tools if tool.program
    }


# ---- the stage ----------------------------------------------------------------------------------------------


def test_a_unit_stores_worlds_tools_domains_and_the_funnel(tmp_path: Path) -> None:
    config = parse_config({"evolve": {"tools": 60}}, where="test")
    run = RunFolder.create(tmp_path, "evolved", "tools", config.seed, config.to_yaml())
    context = Context.open(run.path)
    assert evolve_units(context) == 1
    asyncio.run(evolve_unit(context, 0))
    worlds = list(run.rows("worlds", stage=STAGE))
    assert sum(row["tools"] for row in worlds) >= 60
    assert len(list(run.rows("tools", stage=STAGE))) == sum(row["tools"] for row in worlds)
    (funnel,) = run.rows("funnel", stage=STAGE)
    assert funnel["entered"] == funnel["kept"] == len(worlds)
    paths = {row["path"] for row in run.rows("domains", stage=STAGE)}
    for row in worlds:
        category, domain, _ = row["domain"].split("/")
        assert {category, f"{category}/{domain}", row["domain"]} <= paths


def test_a_broken_world_is_reported_check_by_check() -> None:
    world = make(plan(50)[0])
    spoiled = world.replace(invariants=(Invariant(name="never", sql="select 0"),), policy=world.policy[:1])
    checks = admit(spoiled, rows=2).checks
    assert checks["invariant"] > 0
    assert checks["build"] == checks["ids"] == checks["language"] == 0
    assert admit(world.replace(schema_sql="create table"), rows=2).checks == {"build": 1}


def test_without_a_number_of_tools_nothing_is_evolved(tmp_path: Path) -> None:
    config = parse_config({}, where="test")
    run = RunFolder.create(tmp_path, "none", "tools", config.seed, config.to_yaml())
    assert evolve_units(Context.open(run.path)) == 0
