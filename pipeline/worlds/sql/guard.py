"""What SQL of a world may do: nothing outside the world, no real clock, no chance, no end without a limit."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache

from pipeline.records import WorldError

LOG_TABLE = "_log"
"""Where the engine's triggers note changed rows; programs can neither read nor write it."""
TRIGGER_PREFIX = "_log_"

_ALLOWED_FUNCTIONS = frozenset(
    """
    abs ceil ceiling floor trunc mod pow power sqrt exp ln log log2 log10 sign pi radians degrees sin cos tan
    asin acos atan atan2 char coalesce concat concat_ws format glob hex unhex iif if ifnull instr length octet_length
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
    heap_bytes: int = 512 * 2**20
    """What SQLite may allocate in this process, all worlds together."""


class Guard:
    """The authorizer and the limits of one connection.

    `mode` decides what the next statement prepared may do: `build` makes and fills tables, `program` runs tools,
    `check` reads the world and the list of changes, `engine` is the engine itself.
    """

    def __init__(self, connection: sqlite3.Connection, limits: Limits) -> None:
        self.mode = "build"
        self.tables: Collection[str] = ()
        self._limits = limits
        self._budget = 0
        self._connection = connection
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, limits.value_bytes)
        connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
        connection.setlimit(sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 500)
        connection.execute(f"pragma hard_heap_limit={limits.heap_bytes}")
        connection.execute("pragma foreign_keys=on")
        connection.execute("pragma recursive_triggers=on")
        connection.execute("pragma temp_store=memory")
        connection.set_authorizer(self._authorize)
        connection.set_progress_handler(self._progress, self._SLICE)

    _SLICE = 20_000

    def refill(self) -> None:
        """Gives the next call its full budget of steps."""
        self._budget = self._limits.steps

    @contextmanager
    def as_(self, mode: str) -> Iterator[None]:
        """Prepares statements in another mode for a while."""
        before, self.mode = self.mode, mode
        try:
            yield
        finally:
            self.mode = before

    def _progress(self) -> bool:
        self._budget -= self._SLICE
        return self._budget < 0

    def _authorize(
        self, action: int, first: str | None, second: str | None, _db: str | None, trigger: str | None
    ) -> int:
        return (
            sqlite3.SQLITE_OK
            if self._allowed(action, first or "", second or "", trigger)
            else sqlite3.SQLITE_DENY
        )

    def _allowed(self, action: int, first: str, second: str, trigger: str | None) -> bool:
        if self.mode == "engine":
            return True
        if action in (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_RECURSIVE, sqlite3.SQLITE_TRANSACTION):
            return True
        if action == sqlite3.SQLITE_FUNCTION:
            name = second.lower()
            return name in _ALLOWED_FUNCTIONS or (self.mode == "build" and name in _SEED_FUNCTIONS)
        if action == sqlite3.SQLITE_READ:
            return self._readable(first, trigger)
        if action in (sqlite3.SQLITE_INSERT, sqlite3.SQLITE_UPDATE, sqlite3.SQLITE_DELETE):
            if first == LOG_TABLE:
                return bool(trigger and trigger.startswith(TRIGGER_PREFIX))
            return self.mode == "build" or (self.mode == "program" and first in self.tables)
        return self.mode == "build" and action in _BUILD_ACTIONS

    def _readable(self, table: str, trigger: str | None) -> bool:
        if table == LOG_TABLE:
            return bool(trigger)
        if self.mode == "build":
            return True
        return (
            table in self.tables
            or table in _TABLE_FUNCTIONS
            or table == ""
            or (self.mode == "check" and table == "changes")
        )


_BUILD_ACTIONS = frozenset(
    {
        sqlite3.SQLITE_CREATE_TABLE,
        sqlite3.SQLITE_CREATE_INDEX,
        sqlite3.SQLITE_CREATE_VIEW,
        sqlite3.SQLITE_REINDEX,
        sqlite3.SQLITE_ALTER_TABLE,
    }
)


def check_statement(sql: str, *, writes: bool, where: str) -> None:
    """Refuses text that is no single query (or change). Raises WorldError naming `where`."""
    words = sql.split(None, 1)
    first = words[0].lower() if words else ""
    if first not in (_WRITES if writes else _READS):
        allowed = "insert, update, delete" if writes else "select"
        raise WorldError(
            f"{where}: a statement starting with {first or 'nothing'!r}.", way_out=f"Use {allowed}."
        )


@lru_cache(maxsize=1)
def _pristine() -> sqlite3.Connection:
    return sqlite3.connect(":memory:", check_same_thread=False)


@lru_cache(maxsize=20_000)
def _date(name: str, arguments: tuple[str | float | int | None, ...]) -> str | float | int | None:
    marks = ",".join("?" * len(arguments))
    row = _pristine().execute(f"select {name}({marks})", arguments).fetchone()
    value: str | float | int | None = row[0]
    return value


def install_dates(connection: sqlite3.Connection, now: Callable[[], str]) -> None:
    """Overrides all date functions so that `now` means the virtual clock and time zones do not exist."""
    for name, position in (
        ("date", 0),
        ("time", 0),
        ("datetime", 0),
        ("julianday", 0),
        ("unixepoch", 0),
        ("strftime", 1),
    ):
        connection.create_function(name, -1, _dated(name, position, now), deterministic=True)
    for name, short in (
        ("current_timestamp", "datetime"),
        ("current_date", "date"),
        ("current_time", "time"),
    ):
        connection.create_function(name, 0, _dated(short, 0, now), deterministic=True)


_Bindable = str | float | int | None


def _dated(name: str, position: int, now: Callable[[], str]) -> Callable[..., _Bindable]:
    def function(*arguments: _Bindable) -> _Bindable:
        values = list(arguments)
        if len(values) <= position:
            values.append("now")
        for index, value in enumerate(values):
            if isinstance(value, str):
                word = value.strip().lower()
                if word == "now":
                    values[index] = now()
                elif word in ("localtime", "utc"):
                    raise ValueError("time zones do not exist in a world")
        return _date(name, tuple(values))

    return function
