"""A model as author of domains and worlds: the stage `domains`, and the units of `evolve` when a model plays the author."""

from __future__ import annotations

import asyncio
import math

from pipeline.records import ConfigError, Domain, World
from pipeline.stages.context import Context, Tally, call_rows
from pipeline.stages.players import TEACHER, Players
from pipeline.stages.yields import lost_rows, yield_rows
from pipeline.store import Row, domain_row, gather, tool_row, world_row
from pipeline.tools.evolve.authored.making import Made, WorldMaker
from pipeline.tools.evolve.authored.novelty import Known, same_as
from pipeline.tools.evolve.authored.tree import grow

DOMAINS, EVOLVE = "domains", "evolve"
UNIT = 8
"""Worlds of one unit; they are made side by side."""


def authored(context: Context) -> bool:
    """Whether a model makes the worlds of this run."""
    return context.config.roles.get("author", TEACHER) != TEACHER


def worlds_wanted(context: Context) -> int:
    """How many worlds the model is asked for. Raises ConfigError when the tree of domains cannot hold them."""
    author = context.config.author
    least, most = author.tools
    wanted = author.worlds
    if wanted is None:
        wanted = math.ceil(2 * context.config.evolve.tools / (least + most))
    if wanted > author.tree.leaves:
        raise ConfigError(
            f"{wanted} worlds are asked for, but a tree of this breadth has {author.tree.leaves} places.",
            way_out="Raise author.tree.breadth.",
        )
    return wanted


def domain_units(context: Context) -> int:
    """One, when a model is to make worlds."""
    return int(authored(context) and worlds_wanted(context) > 0)


def authored_units(context: Context) -> int:
    """Units of `evolve` that a model makes."""
    return math.ceil(worlds_wanted(context) / UNIT)


async def domains_unit(context: Context, number: int) -> None:
    """Grows the tree of domains; its places and the account of it are rows."""
    tally = Tally(DOMAINS)
    with context.folder.journal(DOMAINS, number) as journal:
        async with context.models(journal) as models:
            pen = Players(context.config, models, DOMAINS).pen("tree")
            tree = await grow(pen, context.config.author, worlds_wanted(context))
            calls = call_rows(models.ledger.drain())
    for _ in tree.nodes:
        tally.keep()
    for proposed, twin in tree.merged:
        tally.reject("near-duplicate", f"{proposed!r} is {twin} and is merged into it", subject=twin)
    tally.failures += lost_rows(DOMAINS, tree.steps)
    _spend(tally, [(step.tokens, step.cost) for step in tree.steps])
    coverage = [
        {"stage": DOMAINS, "name": "tag coverage", "part": tag, "value": float(count), "n": len(tree.leaves)}
        for tag, count in sorted(tree.coverage().items())
    ]
    rows: dict[str, list[Row]] = {
        "domains": [domain_row(one.domain) for one in tree.nodes],
        "measures": [*yield_rows(DOMAINS, pen.seat.model, tree.steps), *coverage],
        "model_calls": calls,
    }
    context.folder.write_shard(DOMAINS, number, gather([rows, tally.tables()]))


async def authored_unit(context: Context, number: int) -> None:
    """Makes the worlds of one unit side by side; what a stage could not get right is a failure with its reason."""
    places = _places(context)
    wanted = range(number * UNIT, min((number + 1) * UNIT, worlds_wanted(context)))
    known = _known(context)
    languages = context.config.author.languages
    with context.folder.journal(EVOLVE, number) as journal:
        async with context.models(journal) as models:
            players = Players(context.config, models, EVOLVE)
            makers = {
                index: WorldMaker(
                    players.pen(f"world {index}"),
                    context.config.author,
                    known,
                    languages[index % len(languages)],
                )
                for index in wanted
                if places
            }
            made = await asyncio.gather(
                *(maker.make(places[index % len(places)]) for index, maker in makers.items())
            )
            calls = call_rows(models.ledger.drain())
    tally = Tally(EVOLVE)
    model = context.config.roles["author"]
    parts = list(_entered(made, known, tally))
    steps = [step for one in made for step in one.steps]
    tally.failures += lost_rows(EVOLVE, steps)
    _spend(tally, [(one.tokens, one.cost) for one in made])
    parts.append({"model_calls": calls, "measures": yield_rows(EVOLVE, model, steps)})
    context.folder.write_shard(EVOLVE, number, gather([*parts, tally.tables()]))


def _entered(made: list[Made], known: list[Known], tally: Tally) -> list[dict[str, list[Row]]]:
    """Rows of the worlds that hold and are new, also among themselves."""
    there = list(known)
    parts = []
    for one in made:
        if one.world is None:
            tally.reject(one.kind, one.message, subject=one.place)
            continue
        mine = Known.of(one.world)
        twin = same_as(mine.parts, there) or next(
            (other.name for other in there if other.name == mine.name), ""
        )
        if twin:
            tally.reject("same world again", f"{mine.name} is {twin} again", subject=one.place)
            continue
        tally.keep()
        there.append(mine)
        parts.append(_rows(one.world))
    return parts


def _rows(world: World) -> dict[str, list[Row]]:
    author = next((tool.provenance.author for tool in world.tools), "")
    return {
        "worlds": [world_row(world, author=author)],
        "domains": [domain_row(world.domain)],
        "tools": [tool_row(tool, world) for tool in world.tools],
    }


def _places(context: Context) -> list[Domain]:
    """The leaves of the tree, those of all categories in turn."""
    rows = context.folder.rows("domains", stage=DOMAINS, columns=("record",))
    found = [Domain.model_validate_json(row["record"]) for row in rows]
    return [one for one in found if one.path.count("/") == 2]


def _known(context: Context) -> list[Known]:
    """The worlds that were there before this stage began."""
    rows = context.folder.rows("worlds", stage="worlds", columns=("record",))
    return [Known.of(World.model_validate_json(row["record"])) for row in rows]


def _spend(tally: Tally, spent: list[tuple[int, float]]) -> None:
    tally.tokens += sum(tokens for tokens, _ in spent)
    tally.cost += sum(cost for _, cost in spent)
