"""The stage `evolve`: worlds made from archetypes and vocabularies, or by a model; admitted by running them."""

from __future__ import annotations

import math
from collections.abc import Iterator

from pipeline.records import ConfigError, Domain, World, WorldError
from pipeline.stages.authoring import authored, authored_unit, authored_units
from pipeline.stages.context import Context, Tally
from pipeline.store import Row, domain_row, gather, tool_row, world_row
from pipeline.tools.evolve.making import Blueprint, make
from pipeline.tools.evolve.plan import plan
from pipeline.worlds.admission import admit

STAGE = "evolve"
UNIT = 50
"""Worlds per unit."""
ROWS = 6
"""Rows of each witness query that admission executes."""


def evolve_units(context: Context) -> int:
    """How many units make the wanted number of tools. Raises ConfigError when that many cannot be made."""
    return authored_units(context) if authored(context) else math.ceil(len(_plan(context)) / UNIT)


def _plan(context: Context) -> tuple[Blueprint, ...]:
    return plan(context.config.evolve.tools, context.config.seed)


async def evolve_unit(context: Context, number: int) -> None:
    """Makes and admits the worlds of one unit; what is broken becomes a failure, the rest goes on."""
    if authored(context):
        await authored_unit(context, number)
        return
    tally = Tally(STAGE)
    parts: list[dict[str, list[Row]]] = []
    for blueprint in _plan(context)[number * UNIT : (number + 1) * UNIT]:
        try:
            world = make(blueprint)
        except (ConfigError, WorldError) as error:
            tally.reject("broken", error.what, subject=blueprint.name)
            continue
        report = admit(world, rows=ROWS)
        if report.admitted:
            tally.keep()
            parts.append(_rows(world, blueprint))
        else:
            tally.reject(
                "not admitted",
                "; ".join(map(str, report.problems[:5])),
                subject=blueprint.name,
                detail={
                    "checks": report.checks,
                    "problems": [[one.check, one.where, one.message] for one in report.problems],
                },
            )
    context.folder.write_shard(STAGE, number, gather([*parts, tally.tables()]))


def _rows(world: World, blueprint: Blueprint) -> dict[str, list[Row]]:
    return {
        "worlds": [world_row(world, author="teacher")],
        "domains": [domain_row(one) for one in (*_above(blueprint), world.domain)],
        "tools": [tool_row(tool, world) for tool in world.tools],
    }


def _above(blueprint: Blueprint) -> Iterator[Domain]:
    """The category and the domain; the latter carries its vocabulary."""
    words = blueprint.words
    yield Domain(path=words.category)
    yield Domain(
        path=f"{words.category}/{words.domain}",
        parent=words.category,
        description=f"Worlds of {', '.join(words.orgs)} and their like.",
        vocabulary={slot: (thing.noun.one, *thing.names) for slot, thing in words.things.items()},
    )
