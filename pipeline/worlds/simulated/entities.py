"""Entities: the tables behind tools that have no implementation, and the DDL that makes them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from pipeline.records import Json, ToolSpec
from pipeline.worlds.simulated.meaning import (
    Meaning,
    identifier,
    kind,
    meanings,
    plural,
    properties,
    required,
    snake,
)
from pipeline.worlds.sql import quoted

_SQL = {"string": "text", "integer": "integer", "number": "real", "boolean": "integer"}
_HANDLING = frozenset(
    "limit offset page page_size per_page cursor start_cursor page_token max_results count sort sort_by order order_by"
    " fields opt_fields format query q search keyword filter include_archived detail verbose dry_run timeout now new_id"
    " response_format".split()
)
"""Arguments about how to answer, not about what is stored."""
MOST_ENTITIES = 8
MOST_COLUMNS = 14


@dataclass(frozen=True, slots=True)
class Column:
    """A column. `choices` are the only values it takes; `refers` names the entity whose key it holds."""

    name: str
    type: str = "text"
    choices: tuple[str, ...] = ()
    refers: str = ""
    about: str = ""


@dataclass(frozen=True, slots=True)
class Entity:
    """A kind of thing: a table named by its plural, with one key column."""

    noun: str
    key: str
    integer_key: bool
    columns: tuple[Column, ...]

    @property
    def table(self) -> str:
        return plural(self.noun)

    @property
    def named(self) -> Column | None:
        """The column by which people tell its rows apart."""
        texts = {c.name: c for c in self.columns if c.type == "text" and not c.choices and not c.refers}
        wanted = (
            "title",
            "name",
            "subject",
            "display_name",
            "full_name",
            "summary",
            "label",
            f"{self.noun}_name",
        )
        return next((texts[name] for name in wanted if name in texts), None)

    def column(self, name: str) -> Column | None:
        return next((one for one in self.columns if one.name == name), None)


def schema_sql(entities: Sequence[Entity]) -> str:
    """The DDL of the tables, parents first where there is such an order."""
    known = {entity.noun: entity for entity in entities}
    statements = []
    for entity in _ordered(entities):
        lines = [f"{quoted(entity.key)} {'integer' if entity.integer_key else 'text'} primary key"]
        for column in entity.columns:
            line = f"{quoted(column.name)} {column.type}"
            if column.choices:
                marks = ", ".join("'" + choice.replace("'", "''") + "'" for choice in column.choices)
                line += f" check({quoted(column.name)} in ({marks}))"
            if column.refers in known:
                parent = known[column.refers]
                line += f" references {quoted(parent.table)}({quoted(parent.key)})"
            lines.append(line)
        statements.append(f"create table {quoted(entity.table)}(\n  " + ",\n  ".join(lines) + "\n);")
    return "\n".join(statements)


def _ordered(entities: Sequence[Entity]) -> list[Entity]:
    left, done = list(entities), list[Entity]()
    while left:
        made = {one.noun for one in done}
        known = {one.noun for one in entities}
        ready = next(
            (
                e
                for e in left
                if all(c.refers in made | {e.noun, ""} or c.refers not in known for c in e.columns)
            ),
            left[0],
        )
        left.remove(ready)
        done.append(ready)
    return done


def derive(tools: Sequence[ToolSpec], read: Mapping[str, Meaning] | None = None) -> list[Entity]:
    """The entities that the tools of one server speak of, by their names and schemas alone.

    A noun is an entity when something can be read of it and something made or changed; its columns are the scalar
    arguments by which rows are made and changed, and one of them tells its rows apart. Empty when there is none.
    """
    read = meanings(tools) if read is None else read
    groups: dict[str, list[tuple[Meaning, ToolSpec]]] = {}
    for tool in tools:
        if tool.name in read:
            groups.setdefault(read[tool.name].noun, []).append((read[tool.name], tool))
    entities = []
    for noun, group in groups.items():
        deeds = {meaning.deed for meaning, _ in group}
        if deeds & {"list", "get"} and deeds & {"create", "update"}:
            entity = _entity(noun, group)
            if entity is not None and entity.named is not None:
                entities.append(entity)
    return _linked(entities)[:MOST_ENTITIES]


def _entity(noun: str, group: Sequence[tuple[Meaning, ToolSpec]]) -> Entity | None:
    pointing = [
        (tool, name)
        for meaning, tool in group
        if meaning.deed != "create" and (name := identifier(tool, noun))
    ]
    whole = any(kind(properties(tool)[name]) in ("integer", "number") for tool, name in pointing)
    names = {snake(name) for _, name in pointing}
    columns: dict[str, Column] = {}
    for meaning, tool in sorted(group, key=lambda one: one[0].deed != "create"):
        if meaning.deed not in ("create", "update"):
            continue
        mine = identifier(tool, noun) if meaning.deed == "update" else None
        for name, about in properties(tool).items():
            column = as_column(name, about)
            if column is None or name == mine or column.name in names | {"id", f"{noun}_id"}:
                continue
            columns.setdefault(column.name, column)
    usable = re.fullmatch(r"[a-z][a-z0-9_]*", noun) is not None
    if not columns or not usable:
        return None
    kept = tuple(list(columns.values())[:MOST_COLUMNS])
    return Entity(noun, f"{noun}_id", whole, kept)


def as_column(name: str, about: Mapping[str, Json]) -> Column | None:
    """The column that an argument of a making or changing tool fills; None for what is not stored as one value."""
    plain, sql = snake(name), _SQL.get(kind(about), "")
    if not sql or plain in _HANDLING or not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII):
        return None
    given = about.get("enum") or next(
        (one.get("enum") for one in about.get("anyOf") or () if isinstance(one, dict) and one.get("enum")),
        None,
    )
    choices = tuple(str(one) for one in given if isinstance(one, str)) if sql == "text" and given else ()
    text = about.get("description")
    return Column(plain, sql, choices, "", text if isinstance(text, str) else "")


def _linked(entities: list[Entity]) -> list[Entity]:
    """The entities with references: `project_id` and `projectId` of an issue hold the key of a project."""
    nouns = {entity.noun: entity for entity in entities}
    shorts = {noun.rpartition("_")[2]: noun for noun in nouns}
    found = []
    for entity in entities:
        columns = []
        for column in entity.columns:
            stem = re.sub(r"_(id|key)$", "", column.name)
            target = stem if stem in nouns else shorts.get(stem, "")
            if stem == "parent":
                target = entity.noun
            if target and stem != column.name and not column.choices:
                whole = nouns[target].integer_key
                column = replace(column, refers=target, type="integer" if whole else "text")
            columns.append(column)
        found.append(replace(entity, columns=tuple(columns)))
    return found


def argument_columns(tool: ToolSpec, entity: Entity) -> tuple[dict[str, str], set[str]]:
    """Arguments that name a column (the key included), and required ones that name none."""
    mine = identifier(tool, entity.noun)
    mapped = {}
    for name in properties(tool):
        plain = snake(name)
        if name == mine:
            mapped[name] = entity.key
        elif entity.column(plain) is not None:
            mapped[name] = plain
    return mapped, {name for name in required(tool) if name not in mapped}
