"""Toolsets of real tools that belong together: around the entities of one server, or of two that share a noun."""

from __future__ import annotations

import itertools
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pipeline.records import ToolSpec, WorldError
from pipeline.worlds.simulated.entities import Column, Entity, derive
from pipeline.worlds.simulated.meaning import Meaning, identifier, kind, meanings, properties

_PAIRS = 12
"""Toolsets from two servers, at most."""
_CORE = 3
"""Entities of one toolset."""


@dataclass(frozen=True)
class Played:
    """A toolset to be played: its tools in order, what they mean, and the entities behind them."""

    name: str
    tools: tuple[ToolSpec, ...]
    meanings: dict[str, Meaning]
    entities: tuple[Entity, ...]


def toolsets(tools: Iterable[ToolSpec], most: int) -> list[Played]:
    """Toolsets of up to `most` tools each: for every server that has entities one around each group of linked ones, and
    for servers that speak of the same things some with tools of both. A few tools besides are distractors."""
    servers: dict[str, list[ToolSpec]] = defaultdict(list)
    for tool in tools:
        if tool.provenance.source == "mcp":
            servers[tool.provenance.server].append(tool)
    found: list[Played] = []
    cores: dict[str, list[Played]] = {}
    for server, mine in servers.items():
        read = meanings(mine)
        cores[server] = [
            _toolset(f"{_slug(server)}-{cluster[0].noun.replace('_', '-')}", mine, read, cluster, most)
            for cluster in _clusters(derive(mine, read))
        ]
        found.extend(cores[server])
    return [one for one in found if len(one.entities)] + _pairs(cores, most)


def unread(tools: Iterable[ToolSpec], most: int) -> list[Played]:
    """One toolset for each server of which the rules know no entity; only a model may say what is behind it."""
    servers: dict[str, list[ToolSpec]] = defaultdict(list)
    for tool in tools:
        if tool.provenance.source == "mcp":
            servers[tool.provenance.server].append(tool)
    return [
        Played(
            _slug(server),
            tuple(mine[:most]),
            {n: m for n, m in read.items() if n in {t.name for t in mine[:most]}},
            (),
        )
        for server, mine in servers.items()
        if not derive(mine, read := meanings(mine))
    ]


def entities_of(forms: Sequence[dict[str, Any]], toolset: Played) -> tuple[Entity, ...]:
    """Proposed entities as those of a toolset; whether their keys are whole numbers follows from its tools.

    Raises WorldError for a noun or column that comes twice, a reference to nothing, or things without a name.
    """
    nouns = [form["noun"] for form in forms]
    found = []
    for form in forms:
        noun, names = form["noun"], [column["name"] for column in form["columns"]]
        twice = [one for one in {*nouns} if nouns.count(one) > 1] + [
            n for n in {*names} if names.count(n) > 1
        ]
        if twice:
            raise WorldError(f"{min(twice)} comes twice.")
        columns = tuple(
            Column(c["name"], c["type"], tuple(c["choices"]), c["refers"])
            for c in form["columns"]
            if c["name"] != f"{noun}_id"
        )
        strange = {column.refers for column in columns} - {*nouns, ""}
        if strange:
            raise WorldError(f"{noun} refers to {min(strange)}, which is no noun of yours.")
        mine = [
            t for t in toolset.tools if t.name in toolset.meanings and toolset.meanings[t.name].noun == noun
        ]
        whole = any(
            kind(properties(tool)[name]) in ("integer", "number")
            for tool in mine
            if (name := identifier(tool, noun))
        )
        entity = Entity(noun, f"{noun}_id", whole, columns)
        if entity.named is None:
            raise WorldError(f"{noun} has no title, name, subject, summary or label.")
        found.append(entity)
    keys = {one.noun: "integer" if one.integer_key else "text" for one in found}
    return tuple(
        replace(
            one,
            columns=tuple(
                replace(c, type=keys[c.refers], choices=()) if c.refers else c for c in one.columns
            ),
        )
        for one in found
    )


def _slug(server: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", server.lower()).strip("-") or "server"


def _clusters(entities: Sequence[Entity]) -> list[list[Entity]]:
    """Entities with those they refer to and those that refer to them, up to three; each leads at most one cluster."""
    clusters: list[list[Entity]] = []
    led: set[str] = set()
    for entity in entities:
        if entity.noun in led:
            continue
        near = {column.refers for column in entity.columns} | {
            other.noun for other in entities if any(column.refers == entity.noun for column in other.columns)
        }
        cluster = [entity, *(one for one in entities if one.noun in near - {entity.noun})][:_CORE]
        led |= {one.noun for one in cluster}
        clusters.append(cluster)
    return clusters


def _toolset(
    name: str, tools: Sequence[ToolSpec], read: dict[str, Meaning], entities: Sequence[Entity], most: int
) -> Played:
    nouns = {entity.noun for entity in entities}
    core = [tool for tool in tools if tool.name in read and read[tool.name].noun in nouns][: most - 2]
    names = {tool.name for tool in core}
    others = [tool for tool in tools if tool.name not in names]
    chosen = [*core, *others[: min(3, most - len(core))]]
    return Played(
        name, tuple(chosen), {n: m for n, m in read.items() if n in {t.name for t in chosen}}, tuple(entities)
    )


def _pairs(cores: dict[str, list[Played]], most: int) -> list[Played]:
    """Toolsets of two servers whose entities have a noun in common."""
    leading: dict[str, list[tuple[str, Played]]] = defaultdict(list)
    for server, mine in cores.items():
        for one in mine:
            for entity in one.entities:
                leading[entity.noun].append((server, one))
    pairs: list[Played] = []
    done: set[frozenset[str]] = set()
    for noun, found in leading.items():
        for (server, one), (other, two) in itertools.pairwise(found):
            servers = frozenset((server, other))
            if len(servers) == 2 and servers not in done and len(pairs) < _PAIRS:
                done.add(servers)
                pairs.append(_joined(noun, one, two, most))
    return pairs


def _joined(noun: str, one: Played, two: Played, most: int) -> Played:
    """Tools of both, renamed where names clash, on tables that they share."""
    tools, read = list(one.tools[: most // 2]), dict(one.meanings)
    taken = {tool.name for tool in tools}
    for tool in two.tools[: most // 2]:
        named = tool
        if tool.name in taken:
            named = tool.replace(
                name=f"{_slug(tool.provenance.server)}_{tool.name}"[:64],
                original={"name": tool.name, **(tool.original or {})},
            )
        if tool.name in two.meanings:
            read[named.name] = two.meanings[tool.name]
        taken.add(named.name)
        tools.append(named)
    kept = {tool.name: read[tool.name] for tool in tools if tool.name in read}
    entities = derive(tools, kept)
    return Played(f"{one.name}-and-{two.name}", tuple(tools), kept, tuple(entities))
