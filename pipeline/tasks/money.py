"""Which columns and arguments of a world hold money: by name, and by the amounts that its tools really return."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from functools import lru_cache

from pipeline.records import Json, World
from pipeline.tasks.graph import sample_rows
from pipeline.worlds.sql import SqlWorld

ROWS = 12
"""Rows of each witness query that are executed."""
_MONEY = re.compile(
    r"price|fee|amount|total|refund|credit|balance|cost|rate|value|deduction|paid|due|charge|surcharge|deposit|fare|"
    r"pay|owe|saved|saving|nightly|budget|discount|tip"
)
_MEASURE = re.compile(
    r"(?:^|_)(?:kg|km|kwh|m2|cm|mm|hours?|minutes?|seconds?|days?|percent|score|rating|temperature|celsius|degrees|"
    r"level|weight|liters?|litres?|length|width|height|speed|distance|share|ratio)(?:_|$)"
)


@lru_cache(maxsize=256)
def _money(world_id: str) -> frozenset[str]:
    world = _WORLDS[world_id]
    live = SqlWorld(world)
    seen: dict[str, set[float]] = defaultdict(set)
    try:
        for column, number in _numbers(live):
            seen[column].add(number)
    finally:
        live.close()
    return frozenset(column for column, numbers in seen.items() if _is_money(column, numbers))


_WORLDS: dict[str, World] = {}


def money_columns(world: World) -> frozenset[str]:
    """Names of result columns and arguments that hold money, found once per process."""
    _WORLDS[world.id] = world
    try:
        return _money(world.id)
    finally:
        del _WORLDS[world.id]


def _numbers(live: SqlWorld) -> Iterator[tuple[str, float]]:
    """(name, number) of the arguments and results of the calls that prove the tools."""
    for tool in live.world.tools:
        for witness in tool.program.witnesses if tool.program else ():
            if witness.error is not None or witness.before:
                continue
            for arguments in sample_rows(live, tool, witness, ROWS):
                result = live.call(tool.name, arguments)
                live.reset()
                rows = result.value if isinstance(result.value, list) else [result.value]
                for row in [arguments, *rows]:
                    yield from _floats(row)


def _floats(row: Json) -> Iterator[tuple[str, float]]:
    if isinstance(row, dict):
        yield from ((name, value) for name, value in row.items() if isinstance(value, float))


def _is_money(column: str, numbers: set[float]) -> bool:
    """Amounts have at most two decimals; a name decides, or decimals that are not all like a half."""
    if _MEASURE.search(column) or any(abs(number - round(number, 2)) > 1e-9 for number in numbers):
        return False
    return bool(_MONEY.search(column)) or any(abs(number - round(number, 1)) > 1e-9 for number in numbers)
