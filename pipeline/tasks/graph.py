"""The tool graph of a world, explored by executing it: which calls give which values."""

from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import dataclass, field
from functools import lru_cache

from pipeline.records import Json, ToolSpec, Witness, World, WorldError
from pipeline.worlds.admission import fitted, output_columns, witness_rows
from pipeline.worlds.sql import SqlWorld

ROWS = 200
"""How many rows of a witness query are executed for the index."""


@dataclass(frozen=True, slots=True)
class Lookup:
    """A read that succeeded on the seed: its arguments and the rows it returned."""

    tool: str
    arguments: dict[str, Json]
    rows: tuple[dict[str, Json], ...]


@dataclass
class ToolGraph:
    """Edges of the tool graph, with the evidence.

    `feeds`: column to the read-only tools that return it; `takes`: column to the tools with an argument of that
    name, or one that comes `from` such a column; `index`: (column, value) to the lookups whose rows hold it.
    """

    world: World
    feeds: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    takes: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    index: dict[tuple[str, Json], list[Lookup]] = field(default_factory=lambda: defaultdict(list))


@lru_cache(maxsize=256)
def _graph(world_id: str) -> ToolGraph:
    world = _WORLDS[world_id]
    graph = ToolGraph(world)
    live = SqlWorld(world)
    try:
        for tool in world.tools:
            words = world.words.tools.get(tool.name)
            for argument in tool.input_schema.get("properties", {}):
                about = words.arguments.get(argument) if words else None
                for column in {argument, about.source.partition(".")[2] if about else ""} - {""}:
                    graph.takes[column].add(tool.name)
            if tool.annotations.read_only:
                _explore(graph, live, tool)
    finally:
        live.close()
    return graph


_WORLDS: dict[str, World] = {}


def tool_graph(world: World) -> ToolGraph:
    """The graph of a world, made once per process."""
    _WORLDS[world.id] = world
    try:
        return _graph(world.id)
    finally:
        del _WORLDS[world.id]


def _explore(graph: ToolGraph, live: SqlWorld, tool: ToolSpec) -> None:
    words = graph.world.words.tools.get(tool.name)
    ids = id_columns(graph.world)
    columns = [column for column in output_columns(tool) if column in ids]
    for column in output_columns(tool):
        graph.feeds[column].add(tool.name)
    if not columns or tool.program is None or words is None:
        return
    for witness in tool.program.witnesses:
        if witness.error is not None or witness.before:
            continue
        for arguments in sample_rows(live, tool, witness, ROWS):
            result = live.call(tool.name, arguments)
            if result.ok:
                rows = result.value if isinstance(result.value, list) else [result.value]
                lookup = Lookup(tool.name, arguments, tuple(rows))
                for column in columns:
                    for value in {row[column] for row in rows if isinstance(row.get(column), str | int)}:
                        graph.index[(column, value)].append(lookup)


def id_columns(world: World) -> frozenset[str]:
    """Columns of results that identify rows: named like an argument that has a source, or, where the value has to be
    looked up, like that source."""
    return frozenset(
        column
        for words in world.words.tools.values()
        for name, about in words.arguments.items()
        if about.source
        for column in (name, *(() if about.known else (about.source.partition(".")[2],)))
    )


def sample_rows(
    live: SqlWorld, tool: ToolSpec, witness: Witness, limit: int, rng: random.Random | None = None
) -> list[dict[str, Json]]:
    """Argument objects of a witness in the present state, shuffled when `rng` is given; none if it does not apply."""
    try:
        rows = witness_rows(live, witness, 1_000 if rng else limit)
    except WorldError:
        return []
    if rng is not None:
        rng.shuffle(rows)
    return [fitted(tool, row) for row in rows[:limit]]
