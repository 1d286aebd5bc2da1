"""The engine of SQL worlds: one call is one transaction; state is rows; a snapshot is a difference to the seed."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache

from pipeline.records import Call, DeclaredError, Failure, Json, Snapshot, ToolSpec, World, WorldError
from pipeline.worlds.host import Ability, CallResult
from pipeline.worlds.sql.guard import Limits, check_statement
from pipeline.worlds.sql.image import Image, build_image, open_image
from pipeline.worlds.sql.ledger import Key, Ledger, RowChange, changed_columns, same
from pipeline.worlds.sql.program import Compiled, compile_tool, prove_tools
from pipeline.worlds.sql.schema import Edits, Row

FIRST_ID = 9001
_UNDOABLE = 400
"""So many changed rows are put back one by one; more are put back by loading the seed anew, after which every
statement has to be prepared again."""


@dataclass(frozen=True)
class Runtime:
    """What all episodes of a world share in one process."""

    world: World
    image: Image
    tools: dict[str, Compiled]
    edits: dict[str, Edits]
    limits: Limits


@lru_cache(maxsize=512)
def _runtime(world_id: str, limits: Limits) -> Runtime:
    world = _WORLDS[world_id]
    programs = [tool for tool in world.tools if tool.program is not None or not world.foreign]
    tools = {tool.name: compile_tool(tool, world.name) for tool in programs}
    image = build_image(world, limits)
    prove_tools(tools.values(), image, world, limits)
    edits = {name: Edits.of(table) for name, table in image.tables.items()}
    return Runtime(world, image, tools, edits, limits)


_WORLDS: dict[str, World] = {}


def runtime(world: World, limits: Limits | None = None) -> Runtime:
    """The shared part of a world, made once per process. Raises WorldError when the world is broken."""
    _WORLDS[world.id] = world
    try:
        return _runtime(world.id, limits or Limits())
    finally:
        del _WORLDS[world.id]


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
        self._ledger = Ledger(self.runtime.image, self.runtime.limits.growth_bytes)
        self._open()

    # ---- state ------------------------------------------------------------------------------------------

    def _open(self) -> None:
        """The seed, byte by byte, on a connection of its own: SQLite 3.40 crashes when a connection that has used
        `json_each` is given another image."""
        self._connection, self._guard = open_image(
            self.runtime.image, self.runtime.limits, lambda: self.clock, self._ledger.note
        )
        self._execute = self._connection.execute
        with self._guard.call("engine"):
            self._execute("create temp table changes(tbl text, key text, op text, col text, old, new)")
        self._guard.mode = "program"
        self._ledger.clear()
        self._begin_anew()

    def _load(self) -> None:
        self._connection.close()
        self._open()

    def _begin_anew(self) -> None:
        self._counter = FIRST_ID
        self._ledger.written = 0
        self.clock = self.world.clock
        self._ref = ""

    def reset(self) -> None:
        """Back to the seed state."""
        if self._ledger.rows and not self._become({}):
            self._load()
        self._begin_anew()

    @property
    def state(self) -> str:
        """Canonical hash of all counted rows."""
        return f"{self._ledger.state:032x}"

    @property
    def ref(self) -> str:
        """Content address of rows, clock and id counter together."""
        if not self._ref:
            text = f"{self.world.id}|{self.state}|{self.clock}|{self._counter}"
            self._ref = "snap_" + hashlib.blake2b(text.encode(), digest_size=10).hexdigest()
        return self._ref

    def advance(self, seconds: float) -> None:
        """Moves the virtual clock."""
        moved = datetime.fromisoformat(self.clock) + timedelta(seconds=seconds)
        self.clock = moved.isoformat(timespec="seconds")
        self._ref = ""

    def snapshot(self) -> Snapshot:
        """The state as the difference to the seed."""
        return Snapshot(
            ref=self.ref,
            state=self.state,
            world=self.world.id,
            clock=self.clock,
            counter=self._counter,
            rows=self._ledger.lines(),
        )

    def restore(self, snapshot: Snapshot) -> None:
        """Returns to `snapshot`. Raises WorldError when it belongs to another world or does not fit this one."""
        if snapshot.world != self.world.id:
            raise WorldError(
                f"A snapshot of world {snapshot.world} cannot be restored in {self.world.name} ({self.world.id}).",
                way_out="Use the tool repository of the run that made it.",
            )
        wanted = {(table, key): tuple(row) if row is not None else None for table, key, row in snapshot.rows}
        if not self._become(wanted):
            self._load()
            self._overwrite(wanted)
        self._begin_anew()
        self.clock = snapshot.clock
        self._counter = snapshot.counter
        if self.state != snapshot.state:
            raise WorldError(f"Snapshot {snapshot.ref} does not restore to its state hash.")

    def _become(self, wanted: Mapping[Key, Row | None]) -> bool:
        """Turns the present rows into the seed's with those of `wanted` in place, in an order that foreign keys like:
        new rows of parents first, old rows of children first. False when that does not work out; then the rows may be
        in between, and only `_load` helps."""
        seed = {key: old for key, (old, _) in self._ledger.rows.items() if key not in wanted}
        present = {key: new for key, (_, new) in self._ledger.rows.items()}
        targets = {**seed, **wanted}
        if len(targets) > _UNDOABLE:
            return False
        tables = self.runtime.image.tables
        order = sorted(targets, key=lambda key: (tables[key[0]].rank, key))
        self._guard.refill()
        if not wanted:
            self._ledger.count_only()
        try:
            with self._guard.as_("engine"):
                self._execute("begin")
                for key in order:
                    if targets[key] is not None and not same(present.get(key), targets[key]):
                        self._put(key, targets[key] or ())
                for key in reversed(order):
                    if targets[key] is None:
                        self._drop(key)
                if not wanted and self._ledger.counted != len(
                    targets
                ):  # something else has changed with them
                    self._rollback()
                    return False
                self._commit()
        except (sqlite3.Error, MemoryError):
            self._rollback()
            return False
        if not wanted:
            self._ledger.clear()
        rows = self._ledger.rows
        return len(rows) == len(wanted) and all(
            key in rows and same(rows[key][1], row) for key, row in wanted.items()
        )

    def _put(self, key: Key, row: Row) -> None:
        """A row as it shall be, in place of the one with its key."""
        parts = [row[i] for i in self.runtime.image.tables[key[0]].key]
        if self._execute(self.runtime.edits[key[0]].update, [*row, *parts]).rowcount == 0:
            self._insert(key[0], row)

    def _insert(self, name: str, row: Row) -> None:
        self._execute(self.runtime.edits[name].insert, row)

    def _drop(self, key: Key) -> None:
        table = self.runtime.image.tables[key[0]]
        self._execute(self.runtime.edits[key[0]].delete, table.key_parts(key[1]))

    def _overwrite(self, wanted: Mapping[Key, Row | None]) -> None:
        """Puts rows in place of the seed's with the same keys; foreign keys rest, since any order must do."""
        with self._guard.call("engine"):
            self._execute("pragma foreign_keys=off")
            self._execute("begin")
            for key in wanted:
                self._drop(key)
            for key, row in wanted.items():
                if row is not None:
                    self._insert(key[0], row)
            self._commit()
            self._execute("pragma foreign_keys=on")

    def changes(self) -> list[RowChange]:
        """All rows that differ from the seed, in order of table and key."""
        return self._ledger.changes()

    def _commit(self) -> bool:
        """Ends a transaction; whether it has changed anything."""
        self._execute("commit")
        if not self._ledger.noted:
            return False
        self._ledger.book()
        self._ref = ""
        return True

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
            refused = self._steps(tool, bound)
            if refused is not None:
                self._rollback()
                return CallResult(False, None, (refused.code, refused.message), before, before)
            value = self._result(tool, execute(tool.result, bound))
            if not tool.writes:
                return CallResult(True, value, None, before, before)
            if self._commit() and tool.uses_new_id:
                self._counter += 1
        except _FAILURES as error:
            problem = self._ledger.problem or error
            self._rollback()
            return _refusal(*_classify(problem), before)
        return CallResult(True, value, None, before, self.ref)

    def _steps(self, tool: Compiled, bound: dict[str, Json]) -> DeclaredError | None:
        """Runs what comes before the result; the error of a requirement that does not hold."""
        for kind, sql, error in tool.steps:
            cursor = self._execute(sql, bound)
            if kind == "require":
                row = cursor.fetchone()
                if row is None or not row[0]:
                    return error
        return None

    def _result(self, tool: Compiled, cursor: sqlite3.Cursor) -> Json:
        limit = self.runtime.limits.rows
        rows = cursor.fetchmany(limit + 1) if tool.many else cursor.fetchmany(1)
        if len(rows) > limit:
            raise _TooMuch(f"the result has more than {limit} rows")
        objects = tool.objects(rows, [column[0] for column in cursor.description])
        if tool.many:
            return objects
        if not objects:
            raise ValueError("the result query of returns_one found no row")
        return objects[0]

    def _rollback(self) -> None:
        if self._connection.in_transaction:
            self._execute("rollback")
        self._ledger.forget()

    def apply(self, statements: Iterable[str]) -> None:
        """Turns the seed into a task's initial state. Raises WorldError naming the statement that fails."""
        for statement in statements:
            check_statement(statement, writes=True, where=f"World {self.world.name}, initial state")
            self._guard.refill()
            try:
                self._execute("begin")
                self._execute(statement, {"now": self.clock})
                self._commit()
            except _FAILURES as error:
                problem = self._ledger.problem or error
                self._rollback()
                raise WorldError(
                    f"World {self.world.name}: initial statement fails: {problem}: {statement}"
                ) from error

    def change(
        self, edits: Iterable[tuple[str, Sequence[Json]]], prove: Callable[[], str] = lambda: "", ids: int = 0
    ) -> str:
        """Runs parameterised statements in one transaction; empty, or why nothing was changed.

        Foreign keys are looked at in the end, so that any order will do. `prove` sees the new state before it is
        committed and may object. `ids` numbers are taken from the id counter.
        """
        self._guard.refill()
        self._guard.mode = "program"
        try:
            with self._guard.as_("engine"):
                self._execute("begin")
                self._execute("pragma defer_foreign_keys=on")
            for sql, values in edits:
                self._execute(sql, values)
            objection = prove()
            if objection:
                self._rollback()
                return objection
            self._commit()
        except _FAILURES as error:
            problem = self._ledger.problem or error
            self._rollback()
            return str(problem) or "out of memory"
        if ids:
            self._counter += ids
            self._ref = ""
        return ""

    @property
    def new_id(self) -> int:
        """The number that the next `:new_id` will be."""
        return self._counter

    # ---- questions about the state ----------------------------------------------------------------------

    def ask(
        self, sql: str, parameters: Mapping[str, Json] | None = None, limit: int = 1_000
    ) -> list[dict[str, Json]]:
        """Rows of a read-only query in the present state; `:now` is bound.

        Raises WorldError when the query is broken or reaches outside the world.
        """
        check_statement(sql, writes=False, where=f"World {self.world.name}, query")
        try:
            with self._guard.call("check"):  # the comment keeps the driver from reusing a program's statement
                cursor = self._execute(f"/* check */ {sql}", {"now": self.clock, **(parameters or {})})
                names = [column[0] for column in cursor.description]
                return [dict(zip(names, row, strict=True)) for row in cursor.fetchmany(limit)]
        except _FAILURES as error:
            raise WorldError(f"World {self.world.name}: the query fails: {error}: {sql}") from error

    def rows_of(self, sql: str, values: Sequence[Json] = ()) -> list[Row]:
        """Rows of a query that the engine itself has written, with `?` for each value."""
        with self._guard.call("read"):
            return list(self._execute(f"/* engine */ {sql}", values).fetchall())

    def holds(self, sql: str) -> bool:
        """Whether the first value of a query is true."""
        rows = self.ask(sql, limit=1)
        return bool(rows and next(iter(rows[0].values()), None))

    def broken_invariant(self) -> str | None:
        """The name of an invariant that does not hold, or None."""
        return next((one.name for one in self.world.invariants if not self.holds(one.sql)), None)

    def list_changes(self, since: Iterable[RowChange] = ()) -> None:
        """Fills the table `changes` that checks may read: the rows changed after the state described by `since`."""
        with self._guard.call("engine"):
            self._execute("delete from temp.changes")
            self._connection.executemany(
                "insert into temp.changes values (?,?,?,?,?,?)",
                changed_columns(self.changes(), list(since), self.runtime.image.tables),
            )

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


_FAILURES = (sqlite3.Error, MemoryError, OverflowError, ValueError, TypeError, RecursionError, _TooMuch)
"""What a program can raise; `_classify` says what it means."""


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
