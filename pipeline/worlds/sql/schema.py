"""The tables of a world as the engine sees them: names, keys, hidden row numbers, and triggers that note changes."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass

from pipeline.records import Json, World, WorldError

NOTE = "_note"
"""The function that the engine's triggers call with each changed row; programs cannot."""
TRIGGER_PREFIX = "_note_"
RESERVED = frozenset({"changes", "numbers"})
"""Names that the engine gives to tables of its own."""
CAME, GONE, CHANGED = "came", "gone", "changed"
"""What a trigger notes: the new values, the old ones, or the old ones and then the new."""

Row = tuple[Json, ...]

_KEYWORDS = frozenset(
    """
    abort action add after all alter always analyze and as asc attach autoincrement before begin between by cascade
    case cast check collate column commit conflict constraint create cross current current_date current_time
    current_timestamp database default deferrable deferred delete desc detach distinct do drop each else end escape
    except exclude exclusive exists explain fail filter first following for foreign from full generated glob group
    groups having if ignore immediate in index indexed initially inner insert instead intersect into is isnull join
    key last left like limit match materialized natural no not nothing notnull null nulls of offset on or order others
    outer over partition plan pragma preceding primary query raise range recursive references regexp reindex release
    rename replace restrict returning right rollback row rows savepoint select set table temp temporary then ties to
    transaction trigger unbounded union unique update using vacuum values view virtual when where window with without
    """.split()
)
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def quoted(name: str) -> str:
    """An identifier as SQL text, in quotes where it needs them."""
    if _WORD.fullmatch(name) and name.lower() not in _KEYWORDS:
        return name
    return '"' + name.replace('"', '""') + '"'


@dataclass(frozen=True, slots=True)
class Table:
    """A table of a world: column names, positions of the primary key, whether it counts for the state hash.

    `rowid` is the name of a hidden row number, empty where there is none. It is kept in changes and snapshots behind
    the columns, since it decides the order of unordered queries; it is no part of the hash. `rank` is larger than
    that of the tables it refers to.
    """

    name: str
    columns: tuple[str, ...]
    types: tuple[str, ...]
    nullable: tuple[bool, ...]
    key: tuple[int, ...]
    counted: bool
    rowid: str
    rank: int = 0

    @property
    def stored(self) -> tuple[str, ...]:
        """SQL names of everything a row is made of, the hidden row number last."""
        names = (*self.columns, self.rowid) if self.rowid else self.columns
        return tuple(map(quoted, names))

    @property
    def where(self) -> str:
        """The condition that finds a row by its key, with one `?` for each part."""
        return " and ".join(f"{quoted(self.columns[i])}=?" for i in self.key)

    def key_of(self, row: Row) -> str:
        """The text of a row's key; in a key of several parts, `|` and `\\` inside a part are escaped."""
        if len(self.key) == 1:
            return str(row[self.key[0]])
        return "|".join(str(row[i]).replace("\\", "\\\\").replace("|", "\\|") for i in self.key)

    def key_parts(self, key: str) -> list[str]:
        """The parts of a key's text, as texts."""
        if len(self.key) == 1:
            return [key]
        parts = re.findall(r"((?:\\.|[^|\\])*)(?:\||$)", key, re.DOTALL)[: len(self.key)]
        return [re.sub(r"\\(.)", r"\1", part, flags=re.DOTALL) for part in parts]


@dataclass(frozen=True, slots=True)
class Edits:
    """The statements by which the engine itself puts rows of one table in place."""

    insert: str
    """One `?` for each stored value."""
    update: str
    """One `?` for each stored value, then one for each part of the key."""
    delete: str
    """One `?` for each part of the key."""

    @classmethod
    def of(cls, table: Table) -> Edits:
        name, stored = quoted(table.name), table.stored
        return cls(
            f"insert into {name}({','.join(stored)}) values ({','.join('?' * len(stored))})",
            f"update {name} set {','.join(f'{one}=?' for one in stored)} where {table.where}",
            f"delete from {name} where {table.where}",
        )


def read_tables(connection: sqlite3.Connection, world: World) -> dict[str, Table]:
    """The tables that the schema has made.

    Raises WorldError for a schema without tables, a table without a usable key, and names that are taken.
    """
    where = f"World {world.name}"
    if "autoincrement" in world.schema_sql.lower():
        raise WorldError(f"{where}: autoincrement is not supported.", way_out="Use :new_id.")
    found = connection.execute(
        "select name, wr from pragma_table_list where schema='main' and type='table' "
        "and name not like 'sqlite\\_%' escape '\\' order by name"
    ).fetchall()
    if not found:
        raise WorldError(f"{where}: the schema makes no table.")
    names = [name for name, _ in found]
    if taken := RESERVED & {name.lower() for name in names}:
        raise WorldError(
            f"{where}: a table is named {min(taken)!r}, which is reserved.", way_out="Rename it."
        )
    if unknown := set(world.log_tables) - set(names):
        raise WorldError(f"{where}: log_tables names {sorted(unknown)}, which the schema does not make.")
    ranks = _ranks(connection, names)
    return {
        name: _read_table(connection, where, name, bool(bare), ranks[name], name not in world.log_tables)
        for name, bare in found
    }


def _read_table(
    connection: sqlite3.Connection, where: str, name: str, bare: bool, rank: int, counted: bool
) -> Table:
    """`bare`: declared WITHOUT ROWID. Generated columns follow from others and are left out."""
    info = [
        row for row in connection.execute(f"pragma table_xinfo({quoted(name)})").fetchall() if row[6] == 0
    ]
    key = [index for _, index in sorted((row[5], index) for index, row in enumerate(info) if row[5])]
    if not key:
        raise WorldError(f"{where}: table {name} has no primary key.", way_out="Declare one.")
    untyped = [info[index][1] for index in key if not info[index][2]]
    if untyped:
        raise WorldError(
            f"{where}: the key column {name}.{untyped[0]} has no type.", way_out="Declare text or integer."
        )
    columns = tuple(row[1] for row in info)
    indexes = connection.execute(f"pragma index_list({quoted(name)})").fetchall()
    numbered = not bare and any(row[3] == "pk" for row in indexes)
    rowid = ""
    if numbered:
        taken = {column.lower() for column in columns}
        rowid = next((one for one in ("rowid", "_rowid_", "oid") if one not in taken), "")
        if not rowid:
            raise WorldError(f"{where}: table {name} hides its row number.", way_out="Rename a column.")
    return Table(
        name,
        columns,
        tuple((row[2] or "").lower() for row in info),
        tuple(not row[3] and not row[5] for row in info),
        tuple(key),
        counted,
        rowid,
        rank,
    )


def _ranks(connection: sqlite3.Connection, names: list[str]) -> dict[str, int]:
    """Numbers by which referred tables come before the referring ones; cycles are cut anywhere."""
    known = {name.lower(): name for name in names}
    parents = {
        name: [
            known[row[2].lower()]
            for row in connection.execute(f"pragma foreign_key_list({quoted(name)})")
            if row[2].lower() in known
        ]
        for name in names
    }
    ranks: dict[str, int] = {}

    def rank(name: str) -> int:
        if name not in ranks:
            ranks[name] = 0
            ranks[name] = 1 + max((rank(one) for one in parents[name] if one != name), default=0)
        return ranks[name]

    for name in names:
        rank(name)
    return ranks


def create_triggers(connection: sqlite3.Connection, tables: Mapping[str, Table]) -> None:
    """Triggers that hand each changed row to the engine, its values with their exact types."""
    for table in tables.values():
        label = "'" + table.name.replace("'", "''") + "'"
        old, new = ([f"{side}.{name}" for name in table.stored] for side in ("old", "new"))
        for event, kind, values in (
            ("insert", CAME, new),
            ("update", CHANGED, old + new),
            ("delete", GONE, old),
        ):
            trigger = quoted(f"{TRIGGER_PREFIX}{event}_{table.name}")
            connection.execute(
                f"create trigger {trigger} after {event} on {quoted(table.name)} "
                f"begin select {NOTE}({label}, '{kind}', {', '.join(values)}); end"
            )
