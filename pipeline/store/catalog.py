"""The catalog: SQL over all runs, while they run.

Views over the Parquet files of all run folders. `data/catalog.duckdb` holds them for any DuckDB client; it is only
ever replaced as a whole, so that it can be read, rebuilt or deleted at any time. `query` does not open it at all: it
makes the same views in memory, so that no lock of any process matters.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import duckdb

from pipeline.records import InputError, RunError
from pipeline.store.files import sync_file, told_when_full
from pipeline.store.folder import names
from pipeline.store.result import Result, told_of_sql
from pipeline.store.shards import to_arrow, write_parquet
from pipeline.store.tables import REPEATED, SCHEMA_VERSION, STAGES, TABLES

BUILDING = ".catalog-"
"""How the names of folders begin in which a catalog is being made."""
DAMAGED = -1
"""The version of a run whose facts cannot be read."""
_EMPTY = ".empty"
"""A run that is none: it holds a typed shard without rows of every table, since DuckDB refuses an empty glob."""

_RUNS = """
select parse_filename(parse_dirpath(filename)) as run, flow, seed, started, status, version, "schema"
from read_json([{files}], filename = true, format = 'unstructured', columns = {{
    flow: 'VARCHAR', seed: 'BIGINT', started: 'TIMESTAMPTZ', status: 'VARCHAR', version: 'VARCHAR', "schema": 'INTEGER'
}}) where not starts_with(run, '.')
"""
_LATEST = "select run, trajectory, max(round) as round from all_judgements group by all"
_SELECTED = "select run, max(coalesce(round, 0)) as latest from all_selections group by run"
_UNITS = f"""
select run, stage, max(unit) as latest from
    (select run, stage, unit from all_funnel union all select run, stage, unit from all_measures)
where stage in {REPEATED} group by run, stage
"""
_STANDING = f"""
select t.*, (t.unit = coalesce(u.latest, t.unit))::int as stands from all_{{table}} t left join ({_UNITS}) u using (run, stage)
"""
_UNIT = ("funnel", "failures", "measures")
"""Tables of which the latest unit counts, where a stage looks at the run anew."""
_DERIVED = {
    "judgements": f"select j.* from all_judgements j semi join ({_LATEST}) l using (run, trajectory, round)",
    "trajectories": """
        select t.* replace (
            if(j.round is null, t.passed, j.passed) as passed, if(j.round is null, t.value, j.value) as value,
            if(j.round is null, t.owner, j.owner) as owner, if(j.round is null, t.reward, j.reward) as reward,
            if(j.round is null, t.reason, j.reason) as reason)
        from all_trajectories t left join judgements j on j.run = t.run and j.trajectory = t.id""",
    "verdicts": f"""
        select v.* from all_verdicts v left join ({_LATEST}) l using (run, trajectory)
        where v.round = coalesce(l.round, 0)""",
    "selections": f"""
        select s.* from all_selections s left join ({_SELECTED}) l using (run) where coalesce(s.round, 0) = l.latest""",
    "pairs": f"""
        select p.* from all_pairs p left join ({_SELECTED}) l using (run)
        where coalesce(p.round, 0) = coalesce(l.latest, 0)""",
    "funnel": f"""
        select run, stage, coalesce(list_position({STAGES}, stage), {len(STAGES) + 1}) as step,
            sum(entered * stands)::bigint as entered, sum(kept * stands)::bigint as kept,
            sum(rejected * stands)::bigint as rejected, sum(failed * stands)::bigint as failed,
            sum(pending * stands)::bigint as pending, sum(tokens)::bigint as tokens, sum(cost) as cost
        from ({_STANDING.format(table="funnel")}) group by run, stage""",
    **{
        name: f"select * exclude (unit, stands) from ({_STANDING.format(table=name)}) where stands = 1"
        for name in ("failures", "measures")
    },
}
"""Views that say more than their table; the table itself is then the view `all_NAME`."""


class Catalog:
    """SQL over the runs of one data folder."""

    def __init__(self, data_dir: Path) -> None:
        self.data_dir = Path(data_dir).resolve()
        self.path = self.data_dir / "catalog.duckdb"
        self._database: duckdb.DuckDBPyConnection | None = None
        self._left_out: dict[str, int] = {}
        self._made: set[str] = set()
        if any(character in str(self.data_dir) for character in "*?[]{}"):
            raise RunError(
                f"The data folder {self.data_dir} has a character in its path that stands for others in patterns.",
                way_out="Choose a folder without * ? [ ] { }.",
            )

    def rebuild(self) -> Path:
        """Writes `catalog.duckdb` anew beside the old one and swaps them. Raises RunError when the disk is full."""
        self._lay_empty()
        with told_when_full(self.path), self._building() as folder:
            building = folder / self.path.name
            with told_of_sql(), closing(duckdb.connect(str(building))) as connection:
                for statement in self.views().values():
                    connection.execute(statement)
            sync_file(building)
            building.replace(self.path)
            sync_file(self.data_dir)
        return self.path

    @contextmanager
    def _building(self) -> Iterator[Path]:
        """A folder of this process's own beside what is to be replaced: several may do so at once."""
        self.data_dir.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=BUILDING, dir=self.data_dir) as folder:
            yield Path(folder)

    def connect(self, sql: str = "") -> duckdb.DuckDBPyConnection:
        """A connection to an in-memory database with all views, or with those that `sql` names.

        Views see rows as they are at each query. Making one takes a look at all run folders, so only what is named is
        made; a statement that names none (`show tables`) may mean any.
        """
        others = self.other_versions()
        if self._database is None or others != self._left_out:
            self._lay_empty()
            self._left_out = others
            self._made = set()
            self._database = self._closed_database()
        views = self.views()
        wanted = _words(sql) & views.keys() or set(views)
        for name in reversed(
            views
        ):  # a view is made after those it rests on, so they come earlier in the order
            if name in wanted:
                wanted |= _words(views[name]) & views.keys() if name in _DERIVED else set()
        for name, statement in views.items():
            if name in wanted - self._made:
                self._database.execute(statement)
                self._made.add(name)
        return self._database.cursor()

    def _closed_database(self) -> duckdb.DuckDBPyConnection:
        """An empty database that reads files below the runs and exports alone, loads nothing, and stays so."""
        database = duckdb.connect(config={"autoinstall_known_extensions": False, "TimeZone": "UTC"})
        places = ", ".join(f"'{_quoted(self.data_dir / name)}/'" for name in ("runs", "exports"))
        database.execute(f"set allowed_directories = [{places}]")
        database.execute("set enable_external_access = false")
        database.execute("set lock_configuration = true")
        return database

    def query(self, sql: str) -> Result:
        """The result of one reading statement.

        Raises InputError for a statement that writes, for several statements, for a file outside the data folder and
        for an error in the SQL, and RunError for a damaged shard.
        """
        with told_of_sql():
            connection = self.connect(sql)
            statements = connection.extract_statements(sql)
        if len(statements) != 1:
            raise InputError(f"{len(statements)} statements were given.", way_out="Give exactly one query.")
        kind = _kind(connection, statements[0])
        if kind != "SELECT":
            raise InputError(
                f"Only queries are allowed here, and this is {kind}: runs are never changed by SQL.",
                way_out="For tables of your own, attach the catalog read-only in a DuckDB of yours:"
                f" attach '{self.path}' (read_only).",
            )
        with told_of_sql():
            return Result(connection, statements[0].query)

    def other_versions(self) -> dict[str, int]:
        """Runs that the views leave out, since they were written with another schema version: name to version.

        DAMAGED stands for a run whose facts cannot be read.
        """
        versions = {name: self._version(name) for name in names(self.data_dir)}
        return {name: version for name, version in versions.items() if version != SCHEMA_VERSION}

    def left_out(self) -> str:
        """A sentence on the runs that the views leave out; empty when there are none."""
        others = self.other_versions()
        return (
            f"Left out are runs that cannot be read: {', '.join(others)} (see `tracemill status`)."
            if others
            else ""
        )

    def _version(self, run: str) -> int:
        try:
            facts = json.loads((self.data_dir / "runs" / run / "run.json").read_bytes())
        except (OSError, ValueError):
            return DAMAGED
        version = facts.get("schema", 0) if isinstance(facts, dict) else DAMAGED
        return version if isinstance(version, int) else DAMAGED

    # -- views -------------------------------------------------------------------------------------------------

    def views(self) -> dict[str, str]:
        """The statement that makes each view; a view rests only on earlier ones."""
        runs = self.data_dir / "runs"
        others = self.other_versions()
        folders = (
            [_EMPTY, *(name for name in names(self.data_dir) if name not in others)] if others else ["*"]
        )
        told = [_EMPTY, *(name for name in names(self.data_dir) if others.get(name) != DAMAGED)]
        files = ", ".join(
            f"'{_quoted(runs / name)}/run.json'" for name in (told if DAMAGED in others.values() else ["*"])
        )
        made = {"runs": f"create view runs as {_RUNS.format(files=files)}"}
        for table in TABLES.values():
            globs = ", ".join(
                f"'{_quoted(runs / folder / 'shards')}/*/{table.name}.parquet'"
                for folder in folders
                if folder in ("*", _EMPTY) or any((runs / folder / "shards").glob(f"*/{table.name}.parquet"))
            )
            name = f"all_{table.name}" if table.name in _DERIVED else table.name
            unit = " split_part(filename, '/', -2) as unit," if table.name in _UNIT else ""
            distinct = f"distinct on (run, {', '.join(table.key)}) " if table.shared else ""
            made[name] = (
                f"create view {name} as select {distinct}split_part(filename, '/', -4) as run,{unit}"
                f" * exclude (filename) from read_parquet([{globs}], filename = true, hive_partitioning = false)"
            )
        for name, sql in _DERIVED.items():
            made[name] = f"create view {name} as {sql}"
        return made

    def _lay_empty(self) -> None:
        """Makes sure that every table has one typed shard without rows, of the present schema."""
        run = self.data_dir / "runs" / _EMPTY
        shard = run / "shards" / "empty-00000"
        facts = run / "run.json"
        wanted = {
            "schema": SCHEMA_VERSION,
            "flow": "",
            "seed": 0,
            "started": None,
            "status": "",
            "version": "",
            "tables": {name: str(table.schema) for name, table in TABLES.items()},
        }
        if facts.exists() and json.loads(facts.read_bytes()) == wanted:
            return
        shard.mkdir(parents=True, exist_ok=True)
        with told_when_full(run), self._building() as folder:
            for table in TABLES.values():
                building = folder / f"{table.name}.parquet"
                write_parquet(building, to_arrow(table, []))
                building.replace(shard / building.name)
            building = folder / facts.name
            building.write_text(json.dumps(wanted))
            building.replace(facts)


_EXPLAIN = re.compile(r"\s*explain\s*(\([^)]*\)|analyze\b)?", re.I)
_READING = re.compile(r"\s*\(*\s*(pivot|from|select|with)\b", re.I)


def _kind(connection: duckdb.DuckDBPyConnection, statement: duckdb.Statement) -> str:
    """SELECT for what only reads, also in an EXPLAIN (which may execute) and for a PIVOT (which makes a type first)."""
    if statement.type is duckdb.StatementType.EXPLAIN and (prefix := _EXPLAIN.match(statement.query)):
        with told_of_sql():
            (inner,) = connection.extract_statements(statement.query[prefix.end() :])
        return _kind(connection, inner)
    if statement.type is duckdb.StatementType.MULTI and _READING.match(statement.query):
        return "SELECT"
    return str(statement.type.name)


def _words(sql: str) -> set[str]:
    return set(re.findall(r"\w+", sql.lower()))


def _quoted(path: Path) -> str:
    return str(path).replace("'", "''")
