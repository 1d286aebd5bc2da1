"""From a world record to a database image: tables, seed rows, and triggers that note every change."""

from __future__ import annotations

import hashlib
import json
import random
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from pipeline.assets import asset
from pipeline.records import Json, World, WorldError, content_id
from pipeline.worlds.sql.guard import LOG_TABLE, TRIGGER_PREFIX, Guard, Limits, install_dates
from pipeline.yaml_files import parse_yaml

Row = tuple[Json, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """A table of a world: column names, positions of the primary key, whether it counts for the state hash.

    A hidden `rowid` is kept in changes and snapshots behind the columns, since it decides the order of unordered
    queries; it is no part of the hash.
    """

    name: str
    columns: tuple[str, ...]
    types: tuple[str, ...]
    nullable: tuple[bool, ...]
    key: tuple[int, ...]
    counted: bool
    rowid: bool


@dataclass(frozen=True, slots=True)
class Image:
    """A world's database in its seed state: bytes for `deserialize`, and what the engine knows about it."""

    data: bytes
    tables: dict[str, Table]
    state: int
    """Sum of the row hashes (see `row_hash`) of all counted rows."""


def row_hash(table: str, row: Row) -> int:
    """128-bit hash of a canonical row: 25 and 25.0 are alike. States are sums of row hashes modulo 2^128, so that
    row order does not matter and a change costs only the rows it touches (Bellare and Micciancio's AdHash, 1997)."""
    plain = [int(v) if isinstance(v, float) and v.is_integer() and abs(v) < 2**53 else v for v in row]
    text = table + "\0" + json.dumps(plain, ensure_ascii=False, separators=(",", ":"))
    return int.from_bytes(
        hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest(), "big"
    )


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


def _build_image(world: World, limits: Limits | None) -> Image:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    try:
        install_dates(connection, lambda: world.clock)
        guard = Guard(connection, limits or Limits())
        guard.refill()
        _create_tables(connection, world)
        guard.mode = "engine"
        tables = _read_tables(connection, world)
        guard.refill()
        _fill(connection, guard, world, tables)
        state = sum(
            row_hash(table.name, row)
            for table in tables.values()
            if table.counted
            for row in connection.execute(f"select * from {table.name}")
        )
        guard.refill()
        _create_log(connection, tables)
        connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 1)  # vacuum attaches a scratch database
        connection.execute("vacuum")
        return Image(connection.serialize(), tables, state % MODULUS)
    finally:
        connection.close()


def _create_tables(connection: sqlite3.Connection, world: World) -> None:
    try:
        connection.executescript(world.schema_sql)
    except sqlite3.Error as error:
        raise WorldError(f"World {world.name}: the schema is broken: {error}.") from error


def _read_tables(connection: sqlite3.Connection, world: World) -> dict[str, Table]:
    if "autoincrement" in world.schema_sql.lower():
        raise WorldError(f"World {world.name}: autoincrement is not supported.", way_out="Use :new_id.")
    names = [
        row[0]
        for row in connection.execute(
            "select name from sqlite_master where type='table' and name not like 'sqlite\\_%' escape '\\' order by name"
        )
    ]
    if not names:
        raise WorldError(f"World {world.name}: the schema makes no table.")
    unknown = set(world.log_tables) - set(names)
    if unknown:
        raise WorldError(
            f"World {world.name}: log_tables names {sorted(unknown)}, which the schema does not make."
        )
    tables = {}
    for name in names:
        info = connection.execute(f"pragma table_info({name})").fetchall()
        key = sorted((row[5], row[0]) for row in info if row[5])
        alias = len(key) == 1 and (info[key[0][1]][2] or "").lower() == "integer"
        if not key:
            raise WorldError(f"World {world.name}: table {name} has no primary key.", way_out="Declare one.")
        tables[name] = Table(
            name,
            tuple(row[1] for row in info),
            tuple((row[2] or "").lower() for row in info),
            tuple(not row[3] and not row[5] for row in info),
            tuple(index for _, index in key),
            name not in world.log_tables,
            not alias and not _without_rowid(connection, name),
        )
    return tables


def _without_rowid(connection: sqlite3.Connection, table: str) -> bool:
    rows = connection.execute("select name from pragma_table_list where wr and name=?", (table,)).fetchall()
    return bool(rows)


def _fill(connection: sqlite3.Connection, guard: Guard, world: World, tables: dict[str, Table]) -> None:
    for name, rows in world.seed.items():
        if name not in tables:
            raise WorldError(
                f"World {world.name}: seed names a table {name!r}, which the schema does not make."
            )
        for number, row in enumerate(rows, 1):
            _insert(connection, world, tables[name], number, row)
    if world.generate:
        _install_seed_functions(connection, world)
        connection.execute("create temp table numbers(i integer primary key)")
        connection.execute(
            "insert into numbers with recursive n(i) as (select 1 union all select i + 1 from n where i < 5000) select i from n"
        )
        guard.mode = "build"
        for number, statement in enumerate(world.generate, 1):
            guard.refill()
            try:
                connection.execute(statement, {"now": world.clock})
            except sqlite3.Error as error:
                raise WorldError(
                    f"World {world.name}: generate statement {number} failed: {error}."
                ) from error
        guard.mode = "engine"
        connection.execute("drop table temp.numbers")
    broken = connection.execute("pragma foreign_key_check").fetchone()
    if broken:
        raise WorldError(f"World {world.name}: a row of {broken[0]} refers to a missing row of {broken[2]}.")
    for name in tables:
        kinds = " or ".join(f"typeof({column})='blob'" for column in tables[name].columns)
        if connection.execute(f"select 1 from {name} where {kinds} limit 1").fetchone():
            raise WorldError(
                f"World {world.name}: table {name} holds a blob.", way_out="Use text or numbers."
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
        connection.execute(f"insert into {table.name}({','.join(row)}) values ({marks})", values)
    except (sqlite3.Error, OverflowError) as error:
        raise WorldError(
            f"World {world.name}: seed row {number} of {table.name} is refused: {error}."
        ) from error


def _create_log(connection: sqlite3.Connection, tables: dict[str, Table]) -> None:
    connection.execute(f"create table {LOG_TABLE}(tbl text, old text, new text)")
    for table in tables.values():
        columns = [*table.columns, "rowid"] if table.rowid else list(table.columns)
        old, new = (f"json_array({','.join(f'{side}.{c}' for c in columns)})" for side in ("old", "new"))
        for event, values in (
            ("insert", f"null, {new}"),
            ("update", f"{old}, {new}"),
            ("delete", f"{old}, null"),
        ):
            connection.execute(
                f"create trigger {TRIGGER_PREFIX}{event}_{table.name} after {event} on {table.name} "
                f"begin insert into {LOG_TABLE} values ('{table.name}', {values}); end"
            )


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
