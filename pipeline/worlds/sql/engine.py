"""The engine of SQL worlds: one call is one transaction; state is rows; a snapshot is a difference to the seed."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache

from pipeline.records import Call, Failure, Json, Snapshot, ToolSpec, World, WorldError
from pipeline.worlds.host import Ability, CallResult
from pipeline.worlds.sql.guard import LOG_TABLE, Guard, Limits, check_statement, install_dates
from pipeline.worlds.sql.image import MODULUS, Image, Row, build_image, row_hash
from pipeline.worlds.sql.program import Compiled, compile_tool

Key = tuple[str, str]
"""A row's identity: table and primary key, parts joined by `|`."""
FIRST_ID = 9001


@dataclass(frozen=True)
class Runtime:
    """What all episodes of a world share in one process."""

    world: World
    image: Image
    tools: dict[str, Compiled]
    limits: Limits


@lru_cache(maxsize=512)
def _runtime(world_id: str, limits: Limits) -> Runtime:
    world = _WORLDS[world_id]
    tools = {tool.name: compile_tool(tool, world.name) for tool in world.tools}
    return Runtime(world, build_image(world, limits), tools, limits)


_WORLDS: dict[str, World] = {}


def runtime(world: World, limits: Limits | None = None) -> Runtime:
    """The shared part of a world, made once per process. Raises WorldError when the world is broken."""
    _WORLDS[world.id] = world
    try:
        return _runtime(world.id, limits or Limits())
    finally:
        del _WORLDS[world.id]


@dataclass(frozen=True, slots=True)
class RowChange:
    """One row before and after; None where it does not exist."""

    table: str
    key: str
    old: Row | None
    new: Row | None


class SqlWorld:
    """One live copy of a world: about 200 KB. Not safe for several threads at once.

    `reset` returns it to the seed, so that a copy can serve one episode after the other.
    """

    ability: Ability = "exact"

    def __init__(self, world: World, limits: Limits | None = None) -> None:
        self.runtime = runtime(world, limits)
        self.world = world
        self.tools: Mapping[str, ToolSpec] = world.tool_by_name
        self.clock = world.clock
        self._connection = sqlite3.connect(
            ":memory:", isolation_level=None, cached_statements=1024, check_same_thread=False
        )
        install_dates(self._connection, lambda: self.clock)
        self._guard = Guard(self._connection, self.runtime.limits)
        self._guard.tables = frozenset(self.runtime.image.tables)
        self._execute = self._connection.execute
        with self._guard.as_("engine"):
            self._execute("create temp table changes(tbl text, key text, op text, col text, old, new)")
        self._load()

    # ---- state ------------------------------------------------------------------------------------------

    def _load(self) -> None:
        self._guard.mode = "engine"
        self._connection.deserialize(self.runtime.image.data)
        self._guard.mode = "program"
        self._state = self.runtime.image.state
        self._changed: dict[Key, tuple[Row | None, Row | None]] = {}
        self._counter = FIRST_ID
        self._grown = 0
        self.clock = self.world.clock
        self._ref = ""
        self._total = self._connection.total_changes

    def reset(self) -> None:
        """Back to the seed state."""
        if self._changed or self._counter != FIRST_ID or self.clock != self.world.clock:
            self._load()

    @property
    def state(self) -> str:
        """Canonical hash of all counted rows."""
        return f"{self._state:032x}"

    @property
    def ref(self) -> str:
        """Content address of rows, clock and id counter together."""
        if not self._ref:
            text = f"{self.world.id}|{self._state:032x}|{self.clock}|{self._counter}"
            self._ref = "snap_" + hashlib.blake2b(text.encode(), digest_size=10).hexdigest()
        return self._ref

    def advance(self, seconds: float) -> None:
        """Moves the virtual clock."""
        moved = datetime.fromisoformat(self.clock) + timedelta(seconds=seconds)
        self.clock = moved.isoformat(timespec="seconds")
        self._ref = ""

    def snapshot(self) -> Snapshot:
        """The state as the difference to the seed."""
        rows = tuple([table, key, new] for (table, key), (_, new) in sorted(self._changed.items()))
        return Snapshot(
            ref=self.ref,
            state=self.state,
            world=self.world.id,
            clock=self.clock,
            counter=self._counter,
            rows=rows,
        )

    def restore(self, snapshot: Snapshot) -> None:
        """Returns to `snapshot`. Raises WorldError when it belongs to another world or does not fit this one."""
        if snapshot.world != self.world.id:
            raise WorldError(
                f"A snapshot of world {snapshot.world} cannot be restored in {self.world.name} ({self.world.id}).",
                way_out="Use the tool repository of the run that made it.",
            )
        self.reset()
        if snapshot.rows:
            self._guard.refill()
            with self._guard.as_("engine"):
                self._overwrite(snapshot.rows)
        self.clock = snapshot.clock
        self._counter = snapshot.counter
        self._ref = ""
        if self.state != snapshot.state:
            raise WorldError(f"Snapshot {snapshot.ref} does not restore to its state hash.")

    def _overwrite(self, rows: Iterable[Json]) -> None:
        """Puts rows in place of those with the same keys; foreign keys rest, since any order must do."""
        tables = self.runtime.image.tables
        self._execute("pragma foreign_keys=off")
        self._execute("begin")
        for name, key, _ in rows:
            table = tables[name]
            where = "||'|'||".join(table.columns[i] for i in table.key)
            self._execute(f"delete from {name} where {where}||''=?", (key,))
        for name, _, row in rows:
            if row is not None:
                columns = [*tables[name].columns, "rowid"] if tables[name].rowid else tables[name].columns
                marks = ",".join("?" * len(row))
                self._execute(f"insert into {name}({','.join(columns)}) values ({marks})", row)
        noted = self._take_log()
        self._execute("commit")
        self._execute("pragma foreign_keys=on")
        self._absorb(noted)

    def changes(self) -> list[RowChange]:
        """All rows that differ from the seed, in order of table and key."""
        return [RowChange(table, key, old, new) for (table, key), (old, new) in sorted(self._changed.items())]

    def _take_log(self) -> list[tuple[str, str | None, str | None]]:
        """What the triggers noted in this transaction, taken out of the world.

        Raises _TooMuch when the episode has written more than it may.
        """
        if self._connection.total_changes == self._total:
            return []
        with self._guard.as_("engine"):
            noted = self._execute(f"select tbl, old, new from {LOG_TABLE}").fetchall()
            self._execute(f"delete from {LOG_TABLE}")
        grown = self._grown + sum(len(new or "") for _, _, new in noted)
        if grown > self.runtime.limits.growth_bytes:
            raise _TooMuch(f"the episode has written more than {self.runtime.limits.growth_bytes} bytes")
        self._grown = grown
        return noted

    def _absorb(self, noted: list[tuple[str, str | None, str | None]]) -> bool:
        """Brings hash and difference up to date after a commit. True if a counted row changed."""
        self._total = self._connection.total_changes
        if not noted:
            return False
        before = self._state
        for name, old_text, new_text in noted:
            table = self.runtime.image.tables[name]
            for text, sign in ((old_text, -1), (new_text, 1)):
                if text is None:
                    continue
                row = tuple(json.loads(text))
                key = _key(table.key, row)
                self._note(name, key, *((row, None) if sign < 0 else (None, row)))
                if table.counted:
                    self._state += sign * row_hash(name, row[:-1] if table.rowid else row)
        self._state %= MODULUS
        self._ref = ""
        return self._state != before

    def _note(self, table: str, key: str, old: Row | None, new: Row | None) -> None:
        """One row went (`old`) or came (`new`)."""
        first, _ = self._changed.get((table, key), (old, None))
        if first == new:
            self._changed.pop((table, key), None)
        else:
            self._changed[(table, key)] = (first, new)

    # ---- calls ------------------------------------------------------------------------------------------

    def call(self, name: str, arguments: Json) -> CallResult:
        """Runs a tool in one transaction; whatever fails leaves the state as it was."""
        before = self.ref
        tool = self.runtime.tools.get(name)
        if tool is None:
            return _refusal(Failure.UNKNOWN_TOOL, f"There is no tool named {name!r}.", before)
        complaint = tool.complaint(arguments)
        if complaint is not None:
            return _refusal(Failure.INVALID_ARGUMENTS, complaint, before)
        try:
            bound = tool.bind(arguments, self.clock, self._counter)
        except (TypeError, ValueError) as error:
            return _refusal(Failure.INVALID_ARGUMENTS, str(error), before)
        return self._run(tool, bound, before)

    def _run(self, tool: Compiled, bound: dict[str, Json], before: str) -> CallResult:
        execute = self._execute
        self._guard.refill()
        try:
            if tool.writes:
                execute("begin")
            for kind, sql, error in tool.steps:
                cursor = execute(sql, bound)
                if kind == "require":
                    row = cursor.fetchone()
                    if row is None or not row[0]:
                        assert error is not None
                        self._rollback()
                        return CallResult(False, None, (error.code, error.message), before, before)
            value = self._result(tool, execute(tool.result, bound))
            if not tool.writes:
                return CallResult(True, value, None, before, before)
            noted = self._take_log()
            execute("commit")
        except (sqlite3.Error, MemoryError, OverflowError, ValueError, _TooMuch) as error:
            self._rollback()
            return _refusal(*_classify(error), before)
        self._absorb(noted)
        if noted and tool.uses_new_id:
            self._counter += 1
            self._ref = ""
        return CallResult(True, value, None, before, self.ref)

    def _result(self, tool: Compiled, cursor: sqlite3.Cursor) -> Json:
        names = [column[0] for column in cursor.description]
        limit = self.runtime.limits.rows
        rows = cursor.fetchmany(limit + 1) if tool.many else cursor.fetchmany(1)
        if len(rows) > limit:
            raise _TooMuch(f"the result has more than {limit} rows")
        objects = [dict(zip(names, row, strict=True)) for row in rows]
        if tool.coercions:
            for item in objects:
                for name, coerce in tool.coercions.items():
                    if item.get(name) is not None:
                        item[name] = coerce(item[name])
        if tool.many:
            return objects
        if not objects:
            raise ValueError("the result query of returns_one found no row")
        return objects[0]

    def _rollback(self) -> None:
        if self._connection.in_transaction:
            self._execute("rollback")
        self._total = self._connection.total_changes

    def apply(self, statements: Iterable[str]) -> None:
        """Turns the seed into a task's initial state. Raises WorldError naming the statement that fails."""
        for statement in statements:
            check_statement(statement, writes=True, where=f"World {self.world.name}, initial state")
            self._guard.refill()
            try:
                self._execute("begin")
                self._execute(statement, {"now": self.clock})
                noted = self._take_log()
                self._execute("commit")
            except (sqlite3.Error, MemoryError, _TooMuch) as error:
                self._rollback()
                raise WorldError(
                    f"World {self.world.name}: initial statement fails: {error}: {statement}"
                ) from error
            self._absorb(noted)

    # ---- questions about the state ----------------------------------------------------------------------

    def ask(
        self, sql: str, parameters: Mapping[str, Json] | None = None, limit: int = 1_000
    ) -> list[dict[str, Json]]:
        """Rows of a read-only query in the present state; `:now` is bound.

        Raises WorldError when the query is broken or reaches outside the world.
        """
        check_statement(sql, writes=False, where=f"World {self.world.name}, query")
        self._guard.refill()
        try:
            with self._guard.as_("check"):
                cursor = self._execute(sql, {"now": self.clock, **(parameters or {})})
                names = [column[0] for column in cursor.description]
                return [dict(zip(names, row, strict=True)) for row in cursor.fetchmany(limit)]
        except (sqlite3.Error, MemoryError) as error:
            raise WorldError(f"World {self.world.name}: the query fails: {error}: {sql}") from error

    def holds(self, sql: str) -> bool:
        """Whether the first value of a query is true."""
        rows = self.ask(sql, limit=1)
        return bool(rows and next(iter(rows[0].values()), None))

    def broken_invariant(self) -> str | None:
        """The name of an invariant that does not hold, or None."""
        return next((one.name for one in self.world.invariants if not self.holds(one.sql)), None)

    def list_changes(self, since: Iterable[RowChange] = ()) -> None:
        """Fills the table `changes` that checks may read: the rows changed after the state described by `since`."""
        with self._guard.as_("engine"):
            self._execute("delete from temp.changes")
            self._connection.executemany(
                "insert into temp.changes values (?,?,?,?,?,?)",
                _columns(self.changes(), list(since), self.runtime.image),
            )
        self._total = self._connection.total_changes

    def close(self) -> None:
        self._connection.close()

    def replay(self, calls: Iterable[Call]) -> CallResult | None:
        """Makes calls one after the other; the last result, or the first that fails."""
        result = None
        for one in calls:
            result = self.call(one.tool, one.arguments)
            if not result.ok:
                return result
        return result


class _TooMuch(Exception):
    """A result or a change is larger than it may be."""


def _key(positions: tuple[int, ...], row: Row) -> str:
    return "|".join(str(row[i]) for i in positions)


def _refusal(code: Failure, message: str, ref: str) -> CallResult:
    return CallResult(False, None, (str(code), message), ref, ref)


def _classify(error: Exception) -> tuple[Failure, str]:
    """The one place where the engine's exceptions become outcomes."""
    if isinstance(error, sqlite3.IntegrityError):
        return Failure.CONSTRAINT, f"The change is not allowed: {error}."
    text = str(error)
    limits = ("interrupted", "too big", "is full", "more than", "too many", "too complex", "too deep")
    if isinstance(error, MemoryError | OverflowError | _TooMuch) or any(word in text for word in limits):
        return Failure.LIMIT_EXCEEDED, f"The call was stopped: {text or 'out of memory'}."
    return Failure.TOOL_DEFECT, f"The tool is broken: {text}."


def _columns(now: list[RowChange], since: list[RowChange], image: Image) -> list[tuple[Json, ...]]:
    start = {(one.table, one.key): one.new for one in since}
    seed = {(one.table, one.key): one.old for one in [*since, *now]}
    end = {(one.table, one.key): one.new for one in now}
    rows: list[tuple[Json, ...]] = []
    for table, key in sorted(start.keys() | end.keys()):
        base = seed[(table, key)]
        old, new = start.get((table, key), base), end.get((table, key), base)
        if old == new:
            continue
        op = "insert" if old is None else "delete" if new is None else "update"
        for index, column in enumerate(image.tables[table].columns):
            before, after = (old[index] if old else None), (new[index] if new else None)
            if op != "update" or before != after:
                rows.append((table, key, op, column, before, after))
    return rows
