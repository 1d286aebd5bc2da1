"""From a toolset to a played world by rules: entities, rows, programs where the rules reach, words."""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.records import Domain, PolicyRule, ToolSpec, World, WorldError
from pipeline.records.worlds import SIMULATED
from pipeline.teacher.crud import read, with_program
from pipeline.teacher.crud_words import words_for
from pipeline.teacher.seeds import CLOCK, Seeds
from pipeline.teacher.toolsets import Played
from pipeline.worlds.admission import fitted, witness_rows
from pipeline.worlds.simulated.entities import Column, Entity, derive, schema_sql
from pipeline.worlds.simulated.meaning import meanings, plural
from pipeline.worlds.sql import SqlWorld
from pipeline.worlds.sql.outputs import with_output_schemas

_POLICY = (
    PolicyRule(rule="Identifiers are looked up, never guessed.", enforced_by="reply"),
    PolicyRule(
        rule="What cannot be undone is done only after the user has agreed to it.", enforced_by="reply"
    ),
)


def played_world(toolset: Played, seed: int, *, bare: bool = False) -> World:
    """A world for tools of one server, or of several that share their nouns.

    Tools that the rules can read get a program, which is the teacher's reading of them; the others stay without. In a
    `bare` world all may: only a simulator that needs no programs can play it. Raises WorldError when there are no
    entities, or when it is not bare and nothing can be read, or nothing that is read works.
    """
    name, tools, read_as, found = toolset.name, toolset.tools, toolset.meanings, list(toolset.entities)
    known = {entity.noun: entity for entity in found}
    seeds = Seeds(found, f"{name}/{seed}")
    readings = [
        one for tool in tools if tool.name in read_as if (one := read(tool, read_as[tool.name], known))
    ]
    if not readings and not (bare and found):
        raise WorldError(
            f"The tools of {name} cannot be read by rules: none lists, gets, creates or changes rows."
        )
    world = World(
        name=name,
        domain=Domain(path=f"servers/{name}/{'-'.join(plural(noun) for noun in list(known)[:2])}"),
        summary=f"Records of {', '.join(plural(noun).replace('_', ' ') for noun in known)}",
        archetype=SIMULATED,
        clock=CLOCK,
        schema_sql=schema_sql(found),
        seed=seeds.rows(),
        policy=_POLICY,
        words=words_for(tools, readings, known),
    )
    programs = [with_program(one, known, seeds) for one in readings]
    typed = with_output_schemas(world.replace(tools=tuple(programs)), {})
    working = _working(typed)
    if bare:
        by_name = {tool.name: tool for tool in working}
        return typed.replace(tools=tuple(by_name.get(tool.name, tool) for tool in tools))
    if not working:
        raise WorldError(f"No reading of a tool of {name} works.")
    by_name = {tool.name: tool for tool in working}
    deeds = {one.deed for one in readings if one.tool.name in by_name}
    if not deeds & {"list", "get"} or not deeds - {"list", "get"}:
        raise WorldError(f"The tools of {name} that can be read do not both look up and change.")
    return typed.replace(tools=tuple(by_name.get(tool.name, tool) for tool in tools))


def empty_world(tools: Sequence[ToolSpec], seed: int) -> World:
    """A world in which recorded sessions of real servers can be played from their beginning: tables without rows. Where
    the rules know of no entity there is one table of things with a title, a kind and a content."""
    read = meanings(tools)
    things = Entity("thing", "thing_id", False, (Column("title"), Column("kind"), Column("content")))
    found = tuple(derive(tools, read)) or (things,)
    world = played_world(Played("session", tuple(tools), read, found), seed, bare=True)
    bare = tuple(tool.replace(program=None) for tool in tools)
    return world.replace(seed={}, tools=bare)


def _working(world: World) -> list[ToolSpec]:
    """The tools whose program runs on its witnesses, each tried alone."""
    kept = []
    live = SqlWorld(world)
    try:
        for tool in world.tools:
            assert tool.program is not None
            if any(_works(live, tool, number) for number in range(len(tool.program.witnesses))):
                kept.append(tool)
    finally:
        live.close()
    return kept


def _works(live: SqlWorld, tool: ToolSpec, number: int) -> bool:
    assert tool.program is not None
    live.reset()
    rows = witness_rows(live, tool.program.witnesses[number], 3)
    return bool(rows) and all(live.call(tool.name, fitted(tool, row)).ok for row in rows[:1])
