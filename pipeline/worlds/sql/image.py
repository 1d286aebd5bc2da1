"""From a world record to a database image: tables, seed rows, and triggers that note every change."""

from __future__ import annotations

import hashlib
import json
import random
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache

from pipeline.assets import asset
from pipeline.records import Json, World, WorldError, content_id
from pipeline.worlds.sql.functions import install_functions
from pipeline.worlds.sql.guard import Guard, Limits, check_statement
from pipeline.worlds.sql.schema import NOTE, Row, Table, create_triggers, quoted, read_tables
from pipeline.yaml_files import parse_yaml


@dataclass(frozen=True, slots=True)
class Image:
    """A world's database in its seed state: bytes for `deserialize`, and what the engine knows about it."""

    data: bytes
    tables: dict[str, Table]
    views: frozenset[str]
    state: int
    """Sum of the row hashes (see `row_hash`) of all counted rows."""


@lru_cache(maxsize=20_000)
def row_hash(table: str, row: Row) -> int:
    """128-bit hash of a canonical row: 25 and 25.0 are alike. States are sums of row hashes modulo 2^128, so that
    row order does not matter and a change costs only the rows it touches (Bellare and Micciancio's AdHash, 1997)."""
    if float in map(type, row):
        row = tuple(map(_plain, row))
    text = f"{table}\0{row!r}"  # exact for whole numbers, texts and None, and made in C
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=16).digest(), "big")


def _plain(value: Json) -> Json:
    """A whole number for 25.0."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    return value


MODULUS = 1 << 128


def build_image(world: World, limits: Limits | None = None) -> Image:
    """Creates the tables, fills them, and serializes; what was just built is not built again.

    Raises WorldError naming the statement, table or row that is broken.
    """
    parts = ("name", "clock", "schema_sql", "seed", "lists", "generate", "log_tables")
    recipe = content_id("image", [getattr(world, part) for part in parts], 16)
    key = (recipe, limits or Limits())
    if key not in _RECENT:
        while len(_RECENT) >= _KEPT:
            _RECENT.pop(next(iter(_RECENT)), None)
        _RECENT[key] = _build_image(world, limits)
    return _RECENT[key]


_RECENT: dict[tuple[str, Limits], Image] = {}
_KEPT = 8
"""A world's image is needed for its output schemas and soon after for its first live copy."""


def open_image(
    image: Image, limits: Limits, now: Callable[[], str], note: Callable[..., None]
) -> tuple[sqlite3.Connection, Guard]:
    """A guarded connection to a copy of a world in its seed state.

    `now` is its clock; `note` is called with each changed row: table, kind, values (see `create_triggers`).
    """
    connection = sqlite3.connect(
        ":memory:", isolation_level=None, cached_statements=1024, check_same_thread=False
    )
    try:
        connection.deserialize(image.data)
        install_functions(connection, now)
        connection.create_function(NOTE, -1, note)
        guard = Guard(connection, limits)
    except MemoryError as error:
        connection.close()
        raise WorldError(
            f"SQLite may not allocate more than {limits.heap_bytes >> 20} MiB in this process.",
            way_out="Close worlds that are not needed any more, or spread them over processes.",
        ) from error
    guard.tables, guard.views = frozenset(image.tables), image.views
    return connection, guard


def _build_image(world: World, limits: Limits | None) -> Image:
    try:
        datetime.fromisoformat(world.clock)
    except ValueError as error:
        raise WorldError(
            f"World {world.name}: the clock {world.clock!r} is no moment.",
            way_out="Write 2026-03-02T08:00:00.",
        ) from error
    connection = sqlite3.connect(":memory:", isolation_level=None)
    try:
        install_functions(connection, lambda: world.clock)
        guard = Guard(connection, limits or Limits())
        with guard.call("schema"):
            _create_tables(connection, world)
        guard.mode = "engine"
        tables = read_tables(connection, world)
        _fill(connection, guard, world, tables)
        with guard.call("engine"):
            state = sum(
                row_hash(table.name, row)
                for table in tables.values()
                if table.counted
                for row in connection.execute(
                    f"select {','.join(map(quoted, table.columns))} from {quoted(table.name)}"
                )
            )
        create_triggers(connection, tables)
        views = connection.execute("select name from sqlite_master where type='view'").fetchall()
        connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 1)  # vacuum attaches a scratch database
        connection.execute("vacuum")
        return Image(connection.serialize(), tables, frozenset(row[0] for row in views), state % MODULUS)
    except (sqlite3.Error, sqlite3.Warning, MemoryError) as error:
        raise WorldError(
            f"World {world.name}: its database cannot be made: {error or 'out of memory'}."
        ) from error
    finally:
        connection.close()


def _create_tables(connection: sqlite3.Connection, world: World) -> None:
    try:
        connection.executescript(world.schema_sql)
    except (sqlite3.Error, sqlite3.Warning, ValueError) as error:
        raise WorldError(
            f"World {world.name}: the schema is broken: {error}.",
            way_out="Only plain tables, indexes and views can be created.",
        ) from error


def _fill(connection: sqlite3.Connection, guard: Guard, world: World, tables: dict[str, Table]) -> None:
    connection.execute("pragma foreign_keys=off")  # any order of rows will do: all are checked below
    for name, rows in world.seed.items():
        if name not in tables:
            raise WorldError(
                f"World {world.name}: seed names a table {name!r}, which the schema does not make."
            )
        for number, row in enumerate(rows, 1):
            _insert(connection, world, tables[name], number, row)
    connection.execute("pragma foreign_keys=on")
    if world.generate:
        _generate(connection, guard, world)
    for table in tables.values():
        _check_values(connection, world, table)
    broken = connection.execute("pragma foreign_key_check").fetchone()
    if broken:
        table, number, parent, _ = broken
        which = f" {_row_text(connection, tables[table], number)}" if number is not None else ""
        raise WorldError(f"World {world.name}: a row of {table}{which} refers to a missing row of {parent}.")


def _generate(connection: sqlite3.Connection, guard: Guard, world: World) -> None:
    _install_seed_functions(connection, world)
    connection.execute("create temp table numbers(i integer primary key)")
    connection.execute(
        "insert into numbers with recursive n(i) as (select 1 union all select i + 1 from n where i < 5000) select i from n"
    )
    for number, statement in enumerate(world.generate, 1):
        where = f"World {world.name}, generate statement {number}"
        check_statement(statement, writes=True, where=where)
        try:
            with guard.call("build"):
                connection.execute(statement, {"now": world.clock})
        except (sqlite3.Error, MemoryError) as error:
            raise WorldError(f"{where}: {error or 'out of memory'}.") from error
    connection.execute("drop table temp.numbers")


def _row_text(connection: sqlite3.Connection, table: Table, number: int) -> str:
    names = [table.columns[i] for i in table.key]
    row = connection.execute(
        f"select {','.join(map(quoted, names))} from {quoted(table.name)} where {table.rowid or 'rowid'}=?",
        (number,),
    ).fetchone()
    return ", ".join(f"{name}={value}" for name, value in zip(names, row, strict=True))


def _check_values(connection: sqlite3.Connection, world: World, table: Table) -> None:
    """What JSON cannot hold, and what identifies nothing, is refused."""
    columns = [quoted(column) for column in table.columns]
    for reason, condition in (
        ("a blob", " or ".join(f"typeof({column})='blob'" for column in columns)),
        ("an infinite number", " or ".join(f"abs({column}) = 9e999" for column in columns)),
        ("NULL in its primary key", " or ".join(f"{columns[i]} is null" for i in table.key)),
    ):
        if connection.execute(f"select 1 from {quoted(table.name)} where {condition} limit 1").fetchone():
            raise WorldError(
                f"World {world.name}: table {table.name} holds {reason}.", way_out="Use text or numbers."
            )


def _insert(
    connection: sqlite3.Connection, world: World, table: Table, number: int, row: dict[str, Json]
) -> None:
    strange = set(row) - set(table.columns)
    if strange:
        raise WorldError(
            f"World {world.name}: seed row {number} of {table.name} has unknown columns {sorted(strange)}."
        )
    marks = ",".join("?" * len(row))
    values = [json.dumps(v) if isinstance(v, dict | list) else v for v in row.values()]
    try:
        columns = ",".join(map(quoted, row))
        connection.execute(f"insert into {quoted(table.name)}({columns}) values ({marks})", values)
    except (sqlite3.Error, OverflowError, ValueError) as error:
        raise WorldError(
            f"World {world.name}: seed row {number} of {table.name} is refused: {error}."
        ) from error


@lru_cache(maxsize=1)
def shared_lists() -> dict[str, tuple[Json, ...]]:
    """The word lists every world may pick from."""
    text = asset("tools_repo/lists.yaml").read_text(encoding="utf-8")
    return {name: tuple(items) for name, items in parse_yaml(text).items()}


def _install_seed_functions(connection: sqlite3.Connection, world: World) -> None:
    lists = {**shared_lists(), **world.lists}

    def rng(*keys: Json) -> random.Random:
        return random.Random("\0".join([world.name, *map(str, keys)]))

    def pick(name: str, *keys: Json) -> Json:
        if name not in lists:
            raise ValueError(f"no list {name}")
        return rng("pick", name, *keys).choice(lists[name])

    functions: dict[str, Callable[..., Json]] = {
        "pick": pick,
        "uniform": lambda low, high, *keys: rng("uniform", *keys).uniform(low, high),
        "whole": lambda low, high, *keys: rng("whole", *keys).randint(int(low), int(high)),
        "chance": lambda p, *keys: int(rng("chance", *keys).random() < p),
    }
    for name, function in functions.items():
        connection.create_function(name, -1, function, deterministic=True)
