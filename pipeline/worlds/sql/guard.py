"""What SQL of a world may do: nothing outside the world, no real clock, no chance, no end without a limit."""

from __future__ import annotations

import re
import sqlite3
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from pipeline.records import WorldError
from pipeline.worlds.sql.schema import NOTE, RESERVED, TRIGGER_PREFIX

Mode = Literal["schema", "build", "read", "program", "check", "engine"]

_ALLOWED_FUNCTIONS = frozenset(
    """
    abs ceil ceiling floor trunc mod pow power sqrt exp ln log log2 log10 sign pi radians degrees sin cos tan
    asin acos atan atan2 char coalesce concat concat_ws format glob hex iif if ifnull instr length octet_length
    like likelihood likely unlikely lower ltrim max min nullif printf quote replace round rtrim soundex substr
    substring trim typeof unicode upper avg count group_concat string_agg sum total median
    row_number rank dense_rank percent_rank cume_dist ntile lag lead first_value last_value nth_value
    json json_array json_array_length json_extract json_insert json_object json_patch json_remove json_replace
    json_set json_type json_valid json_quote json_group_array json_group_object json_each json_tree -> ->>
    date time datetime julianday strftime unixepoch timediff current_timestamp current_date current_time
    """.split()
)
_SEED_FUNCTIONS = frozenset({"pick", "uniform", "whole", "chance"})
_TABLE_FUNCTIONS = frozenset({"json_each", "json_tree"})
_READS = frozenset({"select", "with", "values"})
_WRITES = frozenset({"insert", "update", "delete", "replace", "with"})


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one call."""

    steps: int = 2_000_000
    """Virtual machine instructions."""
    rows: int = 1_000
    """Rows of a result."""
    value_bytes: int = 65_536
    """Length of one value or row."""
    growth_bytes: int = 16 * 2**20
    """New and changed rows of one episode, as text."""
    database_bytes: int = 64 * 2**20
    """Size of one world's database."""
    heap_bytes: int = 2 * 2**30
    """What SQLite may allocate in this process, all worlds together, thousands of open ones included; a smaller value,
    once set, stays."""
    seconds: float = 5.0
    """A last resort: wall time of one call, for programs whose few steps are each very long. A useful program
    takes microseconds, so that this never decides about one."""


class Guard:
    """The authorizer and the limits of one connection, which is not given another image afterwards.

    `mode` decides what the next statement prepared may do: `schema` makes tables, `build` fills them, `read` reads,
    `program` changes rows, too, `check` reads the world and the list of changes, `engine` is the engine itself.
    """

    def __init__(self, connection: sqlite3.Connection, limits: Limits) -> None:
        self.mode: Mode = "read"
        self.tables: Collection[str] = ()
        self.views: Collection[str] = ()
        self._limits = limits
        self._budget = 0
        self._deadline = 0.0
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, limits.value_bytes)
        connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
        connection.setlimit(sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 500)
        connection.execute(f"pragma hard_heap_limit={limits.heap_bytes}")
        connection.execute("pragma foreign_keys=on")
        connection.execute("pragma recursive_triggers=on")
        connection.execute("pragma temp_store=memory")
        size = connection.execute("pragma page_size").fetchone()[0]
        connection.execute(f"pragma max_page_count={limits.database_bytes // size}")
        for name in sorted(_TABLE_FUNCTIONS):  # their first use makes a table, which no program may
            connection.execute(f"select 1 from {name}('[]')").close()
        connection.set_authorizer(self._authorize)
        connection.set_progress_handler(self._progress, self._SLICE)

    _SLICE = 500

    def refill(self) -> None:
        """Gives the next call its full budget of steps and time."""
        self._budget = self._limits.steps
        self._deadline = time.monotonic() + self._limits.seconds

    @contextmanager
    def call(self, mode: Mode) -> Iterator[None]:
        """Runs statements in a mode, with a budget of their own."""
        self.refill()
        with self.as_(mode):
            yield

    @contextmanager
    def as_(self, mode: Mode) -> Iterator[None]:
        """Prepares statements in another mode for a while."""
        before, self.mode = self.mode, mode
        try:
            yield
        finally:
            self.mode = before

    def _progress(self) -> bool:
        self._budget -= self._SLICE
        return self._budget < 0 or time.monotonic() > self._deadline

    def _authorize(
        self, action: int, first: str | None, second: str | None, _db: str | None, trigger: str | None
    ) -> int:
        allowed = self.mode == "engine" or self._allowed(action, first or "", second or "", trigger)
        return sqlite3.SQLITE_OK if allowed else sqlite3.SQLITE_DENY

    def _allowed(self, action: int, first: str, second: str, trigger: str | None) -> bool:
        if action in (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_RECURSIVE):
            return True
        if action == sqlite3.SQLITE_FUNCTION:
            name = second.lower()
            if name == NOTE:
                return bool(trigger and trigger.startswith(TRIGGER_PREFIX))
            return name in _ALLOWED_FUNCTIONS or (self.mode == "build" and name in _SEED_FUNCTIONS)
        if action == sqlite3.SQLITE_READ:
            return self._readable(first) or (second == "" and _may_be_named(first))
        if action in (sqlite3.SQLITE_INSERT, sqlite3.SQLITE_UPDATE, sqlite3.SQLITE_DELETE):
            return self.mode in ("schema", "build") or (self.mode == "program" and first in self.tables)
        if action == sqlite3.SQLITE_TRANSACTION:  # the engine's own; text that starts so is refused before
            return self.mode not in ("schema", "build")
        return self.mode == "schema" and action in _BUILD_ACTIONS

    def _readable(self, table: str) -> bool:
        if self.mode in ("schema", "build"):
            return True
        return (
            table in self.tables
            or table in self.views
            or table in _TABLE_FUNCTIONS
            or table == ""
            or (self.mode == "check" and table == "changes")
        )


def _may_be_named(name: str) -> bool:
    """Whether a name of which no column is read can be that of a common table expression: SQLite asks alike for
    `with x as (…) select count(*) from x` and for a real table."""
    low = name.lower()
    return low not in RESERVED and not low.startswith(("sqlite_", "pragma_")) and low not in _modules()


@lru_cache(maxsize=1)
def _modules() -> frozenset[str]:
    """Tables that SQLite itself provides, such as `dbstat`."""
    connection = sqlite3.connect(":memory:")
    try:
        return frozenset(row[0].lower() for row in connection.execute("select name from pragma_module_list"))
    finally:
        connection.close()


_BUILD_ACTIONS = frozenset(
    {
        sqlite3.SQLITE_CREATE_TABLE,
        sqlite3.SQLITE_CREATE_INDEX,
        sqlite3.SQLITE_CREATE_VIEW,
        sqlite3.SQLITE_REINDEX,
        sqlite3.SQLITE_ALTER_TABLE,
    }
)


_OPAQUE = re.compile(
    r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|`(?:[^`]|``)*`|\[[^\]]*\]|--[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL
)
_PARAMETER = re.compile(r"[?@$]\w*|(?<![:\w]):(\w+)")


def check_statement(sql: str, *, writes: bool, where: str) -> frozenset[str]:
    """The names of the parameters of a single query (or change).

    Refuses anything else. Raises WorldError naming `where`.
    """
    plain = _OPAQUE.sub(" ", sql).strip()
    first = re.split(r"\W", plain, maxsplit=1)[0].lower()
    if first not in (_WRITES if writes else _READS):
        allowed = "insert, update, delete" if writes else "select"
        raise WorldError(
            f"{where}: a statement starting with {first or 'nothing'!r}.", way_out=f"Use {allowed}."
        )
    if ";" in plain.rstrip("; \t\r\n"):
        raise WorldError(f"{where}: two statements in one.", way_out="Give each a step of its own.")
    if "\0" in sql:
        raise WorldError(f"{where}: a NUL character in SQL.")
    found = list(_PARAMETER.finditer(plain))
    if nameless := [match[0] for match in found if match[1] is None]:
        raise WorldError(f"{where}: the parameter {nameless[0]!r}.", way_out="Write :name.")
    return frozenset(match[1] for match in found)
