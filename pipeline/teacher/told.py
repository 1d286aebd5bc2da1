"""What a user has to learn from a result."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from pipeline.records import Json, ToolSpec, World
from pipeline.tasks.chains import PLACEHOLDER
from pipeline.tasks.graph import id_columns
from pipeline.tasks.money import money_columns
from pipeline.tasks.rubric import generated, result_values

LISTED = 5
"""Rows of a list that are told one by one."""


def told_values(world: World, tool: ToolSpec, value: Json) -> tuple[str, ...]:
    """The values that all (or most) ways of telling the result have in common."""
    words, money = world.words.tools[tool.name], money_columns(world)
    if isinstance(value, list):
        if not 1 <= len(value) <= LISTED:
            return ()
        names = [
            name
            for name in PLACEHOLDER.findall(words.each)
            if any(row.get(name) is not None for row in value)
        ]
        return tuple(dict.fromkeys(v for row in value for v in result_values(row, names[:1], money)))
    columns = told_columns(world, words.done, value)
    return tuple(v for v in result_values(value, columns, money) if not generated(v))


def told_columns(world: World, sentences: Sequence[str], row: dict[str, Json]) -> list[str]:
    """The result columns that every sentence names, else the one that most of them name; identifiers do not count."""
    ids = id_columns(world)
    named = [
        {name for name in PLACEHOLDER.findall(text) if row.get(name) is not None and name not in ids}
        for text in sentences
    ]
    if not any(named):
        return []
    common = set.intersection(*named)
    if common:
        return sorted(common)
    counts = Counter(name for names in named for name in sorted(names))
    return [counts.most_common(1)[0][0]] if counts else []
