"""The teacher's reading of tools without an implementation: programs for those that list, get, create, update and delete.

It is a reading by rules, no more: a tool is what its name's verb and noun say, its arguments are columns of the same
name, and a tool with a required argument that means nothing here is left without a program.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pipeline.records import DeclaredError, Json, SqlProgram, Step, ToolAnnotations, ToolSpec, Witness
from pipeline.teacher.seeds import Seeds, prefix
from pipeline.worlds.simulated.entities import Entity, argument_columns
from pipeline.worlds.simulated.meaning import Deed, Meaning, identifier, kind, properties, required, snake
from pipeline.worlds.sql import quoted

SHOWN = 8
"""Columns of a result besides the key."""
_BINDABLE = re.compile(r"(?!(?:now|new_id)$)[A-Za-z_]\w*", re.ASCII)
_QUERIES = frozenset("query q search search_term keyword keywords text name_pattern term".split())
_LIMITS = frozenset("limit max_results page_size per_page count".split())


@dataclass(frozen=True, slots=True)
class Reading:
    """What a tool does, in the teacher's reading. `columns`: argument to column, the key included."""

    tool: ToolSpec
    deed: Deed
    entity: Entity
    columns: Mapping[str, str]
    pointer: str | None
    """The argument that says which row is meant."""

    @property
    def settable(self) -> dict[str, str]:
        """Arguments that fill columns."""
        return {name: column for name, column in self.columns.items() if name != self.pointer}


def read(tool: ToolSpec, meaning: Meaning, entities: Mapping[str, Entity]) -> Reading | None:
    """The reading of one tool; None where the rules do not reach."""
    entity = entities.get(meaning.noun)
    if entity is None or not _shapeless(tool) or not all(map(_BINDABLE.fullmatch, properties(tool))):
        return None
    pointer = identifier(tool, entity.noun)
    columns, strange = argument_columns(tool, entity)
    if meaning.deed == "list":
        strange = {name for name in strange if snake(name) not in _QUERIES | _LIMITS}
        pointer = None
    needs = meaning.deed in ("get", "update", "delete")
    if strange or (needs and pointer is None) or (meaning.deed == "update" and len(columns) < 2):
        return None
    if meaning.deed == "create":
        columns = {name: column for name, column in columns.items() if column != entity.key}
        pointer = None
        if not columns:
            return None
    return Reading(tool, meaning.deed, entity, columns, pointer)


def _shapeless(tool: ToolSpec) -> bool:
    """Whether the listing leaves the form of results open, so that rows will do."""
    return not (tool.output_schema or {}).get("properties")


def with_program(reading: Reading, entities: Mapping[str, Entity], seeds: Seeds) -> ToolSpec:
    """The tool with its program and witnesses, and with the hints that its name gives."""
    steps = {"list": _list, "get": _get, "create": _create, "update": _update, "delete": _delete}[
        reading.deed
    ](reading, entities)
    hints = reading.tool.annotations
    annotations = ToolAnnotations(
        read_only=reading.deed in ("list", "get"),
        destructive=reading.deed == "delete",
        idempotent=hints.idempotent,
        open_world=hints.open_world,
    )
    program = SqlProgram(steps=tuple(steps), witnesses=tuple(_witnesses(reading, entities, seeds)))
    flag = "read by rules: read-only and destructive follow from its name"
    return reading.tool.replace(
        program=program, annotations=annotations, output_schema=None, flags=(*reading.tool.flags, flag)
    )


def shown_columns(entity: Entity) -> list[str]:
    """The columns of a result row: the key, the name, then the others."""
    first = [entity.named.name] if entity.named else []
    rest = [column.name for column in entity.columns if column.name not in first]
    return [entity.key, *[*first, *rest][:SHOWN]]


def _select(entity: Entity) -> str:
    return f"select {', '.join(map(quoted, shown_columns(entity)))} from {quoted(entity.table)}"


def _not_found(entity: Entity) -> DeclaredError:
    noun = entity.noun.replace("_", " ")
    return DeclaredError(
        code="NOT_FOUND", message=f"There is no {noun} with this identifier; list or search first."
    )


def _there(entity: Entity, argument: str, *, optional: bool = False) -> Step:
    where = f"{quoted(entity.key)} = :{argument}"
    sql = f"select 1 from {quoted(entity.table)} where {where}"
    if optional:
        sql = f"select :{argument} is null or exists({sql})"
    return Step(kind="require", sql=sql, error=_not_found(entity))


def _list(reading: Reading, entities: Mapping[str, Entity]) -> list[Step]:
    entity = reading.entity
    tests = [f"(:{name} is null or {quoted(column)} = :{name})" for name, column in reading.columns.items()]
    limit = "100"
    for name, about in properties(reading.tool).items():
        plain = snake(name)
        if name in reading.columns:
            continue
        if plain in _QUERIES and kind(about) == "string" and entity.named:
            tests.append(
                f"(:{name} is null or instr(lower({quoted(entity.named.name)}), lower(:{name})) > 0)"
            )
        elif plain in _LIMITS and kind(about) in ("integer", "number"):
            limit = f"max(1, cast(coalesce(:{name}, 100) as integer))"
    where = f" where {' and '.join(tests)}" if tests else ""
    return [
        Step(kind="returns_many", sql=f"{_select(entity)}{where} order by {quoted(entity.key)} limit {limit}")
    ]


def _get(reading: Reading, entities: Mapping[str, Entity]) -> list[Step]:
    entity = reading.entity
    found = f"{_select(entity)} where {quoted(entity.key)} = :{reading.pointer}"
    return [_there(entity, str(reading.pointer)), Step(kind="returns_one", sql=found)]


def _parents(reading: Reading, entities: Mapping[str, Entity]) -> list[Step]:
    steps = []
    for name, column in reading.settable.items():
        about = reading.entity.column(column)
        if about is not None and about.refers in entities:
            steps.append(_there(entities[about.refers], name, optional=name not in required(reading.tool)))
    return steps


def _create(reading: Reading, entities: Mapping[str, Entity]) -> list[Step]:
    entity = reading.entity
    new = ":new_id" if entity.integer_key else f"'{prefix(entity)}-' || :new_id"
    names = [quoted(entity.key), *(quoted(column) for column in reading.settable.values())]
    values = [new, *(f":{name}" for name in reading.settable)]
    insert = f"insert into {quoted(entity.table)}({', '.join(names)}) values ({', '.join(values)})"
    return [
        *_parents(reading, entities),
        Step(kind="do", sql=insert),
        Step(kind="returns_one", sql=f"{_select(entity)} where {quoted(entity.key)} = {new}"),
    ]


def _update(reading: Reading, entities: Mapping[str, Entity]) -> list[Step]:
    entity, pointer = reading.entity, str(reading.pointer)
    setting = ", ".join(
        f"{quoted(c)} = coalesce(:{name}, {quoted(c)})" for name, c in reading.settable.items()
    )
    where = f"where {quoted(entity.key)} = :{pointer}"
    return [
        _there(entity, pointer),
        *_parents(reading, entities),
        Step(kind="do", sql=f"update {quoted(entity.table)} set {setting} {where}"),
        Step(kind="returns_one", sql=f"{_select(entity)} {where}"),
    ]


def _delete(reading: Reading, entities: Mapping[str, Entity]) -> list[Step]:
    entity, pointer = reading.entity, str(reading.pointer)
    steps = [_there(entity, pointer)]
    for child in entities.values():
        for column in child.columns:
            if column.refers == entity.noun:
                noun = child.noun.replace("_", " ")
                message = f"It still has a {noun}; remove that first."
                steps.append(
                    Step(
                        kind="require",
                        sql=f"select not exists(select 1 from {quoted(child.table)} where {quoted(column.name)} = :{pointer})",
                        error=DeclaredError(code="IN_USE", message=message),
                    )
                )
    steps.append(
        Step(kind="do", sql=f"delete from {quoted(entity.table)} where {quoted(entity.key)} = :{pointer}")
    )
    value = f"cast(:{pointer} as integer)" if entity.integer_key else f":{pointer}"
    steps.append(Step(kind="returns_one", sql=f"select {value} as {quoted(entity.key)}, 1 as deleted"))
    return steps


# ---- witnesses ------------------------------------------------------------------------------------------------------


def _witnesses(reading: Reading, entities: Mapping[str, Entity], seeds: Seeds) -> list[Witness]:
    entity, table = reading.entity, quoted(reading.entity.table)
    key = quoted(entity.key)
    if reading.deed == "list":
        must = [name for name in reading.columns if name in required(reading.tool)]
        queries = [n for n in properties(reading.tool) if snake(n) in _QUERIES and n not in reading.columns]
        asked = [f"{quoted(reading.columns[name])} as {quoted(name)}" for name in must]
        if queries and entity.named:
            asked += [f"{quoted(entity.named.name)} as {quoted(name)}" for name in queries[:1]]
        found = [Witness(query=f"select distinct {', '.join(asked)} from {table}")] if asked else [Witness()]
        if asked and not must and not set(queries) & required(reading.tool):
            found.append(Witness())
        return found
    if reading.deed == "create":
        return [Witness(arguments=_new_row(reading, seeds, number)) for number in range(8)]
    pointer = quoted(str(reading.pointer))
    if reading.deed == "get":
        return [Witness(query=f"select {key} as {pointer} from {table}")]
    if reading.deed == "delete":
        free = [
            f"not exists(select 1 from {quoted(child.table)} c where c.{quoted(column.name)} = t.{key})"
            for child in entities.values()
            for column in child.columns
            if column.refers == entity.noun
        ]
        where = f" where {' and '.join(free)}" if free else ""
        return [Witness(query=f"select t.{key} as {pointer} from {table} t{where}")]
    must_set = [name for name in reading.settable if name in required(reading.tool)]
    return [_update_witness(reading, seeds, [*must_set, name]) for name in _changeable(reading)[:4]]


def _changeable(reading: Reading) -> list[str]:
    """Arguments that a person might want to change, the most telling first."""

    def rank(name: str) -> int:
        column = reading.entity.column(reading.settable[name])
        assert column is not None
        return 0 if column.choices else 1 if column == reading.entity.named else 3 if column.refers else 2

    return sorted(reading.settable, key=rank)


def _update_witness(reading: Reading, seeds: Seeds, names: Sequence[str]) -> Witness:
    """Rows in which the named columns get values that they do not have yet."""
    entity = reading.entity
    table, key = quoted(entity.table), quoted(entity.key)
    picks, joins, tests = [f"t.{key} as {quoted(str(reading.pointer))}"], [], []
    for number, name in enumerate(dict.fromkeys(names)):
        column = entity.column(reading.settable[name])
        assert column is not None
        values = list(column.choices) or list(
            {str(v): v for v in _values(entity, seeds, column.name)}.values()
        )
        text = json.dumps(values, ensure_ascii=False).replace("'", "''")
        joins.append(f" join json_each('{text}') v{number}")
        tests.append(f"v{number}.value is not t.{quoted(column.name)}")
        picks.append(f"v{number}.value as {quoted(name)}")
    return Witness(
        query=f"select {', '.join(picks)} from {table} t{''.join(joins)} where {' and '.join(tests)}"
    )


def _values(entity: Entity, seeds: Seeds, name: str) -> list[Json]:
    column = entity.column(name)
    assert column is not None
    return [value for n in range(6) if (value := seeds.value(entity, column, n)) is not None]


def _new_row(reading: Reading, seeds: Seeds, number: int) -> dict[str, Json]:
    """Arguments of a create: what is required, the name, and one or two more."""
    entity, row = reading.entity, dict[str, Json]()
    wanted = required(reading.tool)
    extra = 0
    for name, column_name in reading.settable.items():
        column = entity.column(column_name)
        assert column is not None
        if name not in wanted and column != entity.named:
            if extra >= number % 3 or column.type != "text":
                continue
            extra += 1
        value = seeds.value(entity, column, number)
        if value is not None:
            row[name] = bool(value) if kind(properties(reading.tool)[name]) == "boolean" else value
    return row
