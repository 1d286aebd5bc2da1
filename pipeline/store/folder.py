"""The run folder: the truth about a run.

A unit of work is (stage, number). Its tables are written to `partial/`, synced, and the folder is renamed to
`shards/STAGE-NNNNN/`: one atomic step makes the unit finished, and nothing else says whether it is.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import secrets
import shutil
import socket
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

from pipeline.records import RunError, canonical_json
from pipeline.store.files import sync_file, told_when_full, write_atomically
from pipeline.store.journal import Journal
from pipeline.store.shards import digest, read_rows, to_arrow, write_parquet
from pipeline.store.tables import REPEATED, SCHEMA_VERSION, TABLES, Row

STATUSES = ("running", "paused", "interrupted", "failed", "finished")
_STOP = "stop"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")
_UNIT = re.compile(r"(.+)-(\d{5,})")
_MANNERS = (
    "amber brisk calm deft eager fair gentle hardy keen lucid mellow nimble quiet rapid sunny tidy".split()
)
_BIRDS = "avocet bunting curlew dunlin egret finch gannet heron ibis jay kestrel lark merlin osprey plover wren".split()


class RunFolder:
    """One run on disk. Any number of processes may read it and write different units; one holds `lock()`."""

    def __init__(self, path: Path, facts: Mapping[str, Any]) -> None:
        self.path = path
        self.name = path.name
        self.flow: str = facts["flow"]
        self.seed: int = facts["seed"]
        self.started: str = facts["started"]
        self.version: str = facts["version"]

    # -- opening -----------------------------------------------------------------------------------------------

    @classmethod
    def create(
        cls, data_dir: Path, name: str | None, flow: str, seed: int, config_yaml: str, *, version: str = ""
    ) -> RunFolder:
        """A new run folder, complete or not there at all. Without `name` it gets a readable unique one.

        Raises RunError for a taken or unusable name and for a full disk.
        """
        runs = Path(data_dir) / "runs"
        runs.mkdir(parents=True, exist_ok=True)
        name = name or _fresh_name(runs, flow)
        if not _NAME.fullmatch(name):
            raise RunError(
                f"{name!r} cannot name a run.",
                way_out="Use up to 80 letters, digits, dots, hyphens and underscores, beginning with a letter or digit.",
            )
        path = runs / name
        _refuse_taken(path)
        facts = {
            "schema": SCHEMA_VERSION,
            "flow": flow,
            "seed": seed,
            "version": version,
            "started": datetime.now(UTC).isoformat(timespec="seconds"),
            "status": "running",
        }
        building = Path(tempfile.mkdtemp(prefix=".new-", dir=runs))
        try:
            for folder in ("shards", "partial", "journal"):
                (building / folder).mkdir()
            write_atomically(building / "config.yaml", config_yaml.encode())
            write_atomically(building / "run.json", _facts_text(facts))
            building.chmod(0o755)
            try:
                building.rename(path)
            except OSError:
                _refuse_taken(path)
                raise
            sync_file(runs)
        finally:
            shutil.rmtree(building, ignore_errors=True)
        return cls(path, facts)

    @classmethod
    def open(cls, data_dir: Path, name: str) -> RunFolder:
        """An existing run. Raises RunError when it is missing, no run, or of another schema version."""
        path = Path(data_dir) / "runs" / name
        if not _NAME.fullmatch(name) or not path.is_dir():
            known = [run for run in names(data_dir) if run != name]
            hint = f"Known runs: {', '.join(known[:8])}{' …' if len(known) > 8 else ''}." if known else ""
            raise RunError(f"There is no run {name!r} in {Path(data_dir) / 'runs'}.", way_out=hint)
        facts = _read_facts(path)
        if facts["schema"] != SCHEMA_VERSION:
            raise RunError(
                f"The run {name} was written with schema version {facts['schema']}"
                f" (tracemill {facts['version'] or 'unknown'}); this tracemill reads version {SCHEMA_VERSION}.",
                way_out=f"Read or finish it with tracemill {facts['version'] or 'of that time'} (schema {facts['schema']}),"
                f" or make it anew from its first stage: tracemill run {facts['flow']} --config {path / 'config.yaml'}"
                f" --run {name}-again; answers of models that are in the cache are not paid for again.",
            )
        return cls(path, facts)

    @property
    def data_dir(self) -> Path:
        return self.path.parent.parent

    @property
    def config_yaml(self) -> str:
        """The resolved configuration, as it was when the run began."""
        return (self.path / "config.yaml").read_text(encoding="utf-8")

    @property
    def status(self) -> str:
        """One of STATUSES. A run that is `running` while nobody holds its lock was killed."""
        return str(_read_facts(self.path)["status"])

    @status.setter
    def status(self, value: str) -> None:
        if value not in STATUSES:
            raise ValueError(f"{value!r} is no status: {', '.join(STATUSES)}")
        write_atomically(self.path / "run.json", _facts_text({**_read_facts(self.path), "status": value}))

    def stop(self) -> None:
        """Asks all processes at work on the run to start nothing more that costs. Taking the lock takes it back."""
        (self.path / _STOP).touch()

    @property
    def stopping(self) -> bool:
        """Whether the run was asked to stop."""
        return (self.path / _STOP).exists()

    # -- one writer --------------------------------------------------------------------------------------------

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Holds the run for this process and clears what an interrupted write left behind.

        Raises RunError, naming the holder, when another process has it. The lock goes with the process.
        """
        with (self.path / "lock").open("a+") as file:
            if not _locked(file):
                raise RunError(
                    f"The run {self.name} is being written by {self.holder() or 'another process'}.",
                    way_out="Wait for it or stop it first; then `tracemill resume` goes on where it stands.",
                )
            file.truncate(0)
            file.write(
                f"process {os.getpid()} on {socket.gethostname()} since"
                f" {datetime.now(UTC).isoformat(timespec='seconds')}"
            )
            file.flush()
            self._clear_partial()
            (self.path / _STOP).unlink(missing_ok=True)
            try:
                yield
            finally:
                file.truncate(0)

    def holder(self) -> str:
        """Who holds the lock, in words; empty when nobody does."""
        try:
            with (self.path / "lock").open("r") as file:
                try:
                    fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
                except BlockingIOError:
                    return file.read() or "another process"
        except FileNotFoundError:
            pass
        return ""

    def _clear_partial(self) -> None:
        for left in (self.path / "partial").iterdir():
            shutil.rmtree(left)

    # -- units of work -----------------------------------------------------------------------------------------

    def unit(self, stage: str, number: int) -> Path:
        """The folder of a finished unit of work (whether or not it is there)."""
        return self.path / "shards" / f"{stage}-{number:05d}"

    def units(self, stage: str | None = None) -> list[tuple[str, int]]:
        """The finished units, by stage and number."""
        found = []
        for folder in (self.path / "shards").iterdir():
            match = _UNIT.fullmatch(folder.name)
            if match and stage in (None, match[1]):
                found.append((match[1], int(match[2])))
        return sorted(found)

    def shard_done(self, stage: str, number: int) -> bool:
        """Whether the unit stands, whole."""
        return self.unit(stage, number).is_dir()

    def journal(self, stage: str, number: int) -> Journal:
        """The journal of an unfinished unit; it goes when the unit stands."""
        return Journal(self.path / "journal" / f"{stage}-{number:05d}.db")

    def write_shard(self, stage: str, number: int, tables: Mapping[str, Sequence[Row]]) -> bool:
        """Finishes a unit: all its tables or none. Its journal is removed.

        A unit that stands already is immutable: nothing is written and False is returned. Tables without rows
        get no file. Raises KeyError for an unknown table, ValueError for rows that do not fit, RunError when
        the disk is full; in each case nothing of the unit is left.
        """
        target = self.unit(stage, number)
        if target.is_dir():
            return False
        with told_when_full(target):
            building = Path(tempfile.mkdtemp(prefix=f"{target.name}.", dir=self.path / "partial"))
        try:
            contents: dict[str, Any] = {}
            for name in sorted(tables):
                data = to_arrow(TABLES[name], tables[name])
                if data.num_rows:
                    written = write_parquet(building / f"{name}.parquet", data)
                    contents[name] = {"rows": data.num_rows, "blake2b": written}
            write_atomically(building / "unit.json", canonical_json(contents).encode())
            building.chmod(0o755)
            try:
                building.rename(target)
            except OSError:
                if not target.is_dir():
                    raise
                return False
            sync_file(target.parent)
        finally:
            shutil.rmtree(building, ignore_errors=True)
        Journal.remove(self.path / "journal" / f"{target.name}.db")
        return True

    def check(self) -> None:
        """Compares every file of the finished units with the hash it had when it was written. Raises RunError, naming
        the first that differs, is missing or came later: damage in the middle of a file may still read as rows."""
        for stage, number in self.units():
            folder = self.unit(stage, number)
            try:
                contents: dict[str, dict[str, Any]] = json.loads((folder / "unit.json").read_bytes())
                written = {f"{name}.parquet": about["blake2b"] for name, about in contents.items()}
            except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
                raise _damaged_unit(folder, f"its unit.json cannot be read ({error})") from error
            found = {path.name: path for path in folder.glob("*.parquet")}
            for name in sorted(written.keys() | found.keys()):
                if name not in found:
                    raise _damaged_unit(folder, f"{name} is missing")
                if digest(found[name]) != written.get(name):
                    raise _damaged_unit(folder, f"{name} is not what was written")

    def rows(
        self,
        table: str,
        *,
        stage: str | None = None,
        columns: Iterable[str] | None = None,
        latest: bool = False,
    ) -> Iterator[Row]:
        """The rows of a table over all finished units, in the order of units; with `latest` those of stages that look
        at the run anew from their last unit only. Raises RunError for a damaged shard."""
        names = None if columns is None else list(columns)
        schema = TABLES[table]
        units = self.units(stage)
        last = dict(units)
        for unit_stage, number in units:
            if latest and unit_stage in REPEATED and number != last[unit_stage]:
                continue
            path = self.unit(unit_stage, number) / f"{schema.name}.parquet"
            if path.exists():
                yield from read_rows(path, names)

    def funnel(self) -> Iterator[Row]:
        """The rows of `funnel` as they stand: of a stage that looks at the run anew, the latest unit counts, and the
        earlier ones have nothing but tokens and cost."""
        for stage in dict.fromkeys(stage for stage, _ in self.units()):
            rows = list(self.rows("funnel", stage=stage))
            earlier = len(rows) - 1 if stage in REPEATED else 0
            for row in rows[:earlier]:
                yield {**row, **dict.fromkeys(("entered", "kept", "rejected", "failed", "pending"), 0)}
            yield from rows[earlier:]


def _damaged_unit(folder: Path, what: str) -> RunError:
    return RunError(
        f"The unit {folder} is damaged: {what}.",
        way_out="Delete that folder and run `tracemill resume`: the unit is made again.",
    )


def _locked(file: IO[str]) -> bool:
    """Takes the lock. Whoever only asks for the holder touches it for an instant, hence some more attempts."""
    for attempt in range(5):
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(0.02 * (attempt + 1))
        else:
            return True
    return False


def names(data_dir: Path) -> list[str]:
    """The names of all runs of a data folder, whatever their version."""
    runs = Path(data_dir) / "runs"
    if not runs.is_dir():
        return []
    return sorted(path.name for path in runs.iterdir() if _NAME.fullmatch(path.name) and path.is_dir())


def readable(data_dir: Path) -> Iterator[RunFolder]:
    """All runs that can be opened; a damaged one, or one of another version, costs the others nothing."""
    for name in names(data_dir):
        with suppress(RunError):
            yield RunFolder.open(data_dir, name)


def _facts_text(facts: Mapping[str, Any]) -> bytes:
    return (json.dumps(dict(facts), indent=2) + "\n").encode()


def _read_facts(path: Path) -> dict[str, Any]:
    file = path / "run.json"
    try:
        facts: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        return {
            **facts,
            **{key: facts[key] for key in ("schema", "flow", "seed", "version", "started", "status")},
        }
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise RunError(
            f"{path} is no run folder: {file.name} {_wrong(error)}.",
            way_out="If nothing in it is needed, remove the folder; otherwise restore the file.",
        ) from error


def _wrong(error: Exception) -> str:
    match error:
        case FileNotFoundError():
            return "is not there"
        case KeyError():
            return f"does not say {error}"
        case OSError():
            return f"cannot be read ({error.strerror})"
        case _:
            return "holds no JSON object"


def _refuse_taken(path: Path) -> None:
    if path.exists():
        raise RunError(
            f"The run {path.name} exists already ({path}).",
            way_out=f"Go on with it by `tracemill resume {path.name}`, or choose another --run name.",
        )


def _fresh_name(runs: Path, flow: str) -> str:
    day = datetime.now(UTC).strftime("%m%d")
    while True:
        name = f"{flow}-{day}-{secrets.choice(_MANNERS)}-{secrets.choice(_BIRDS)}"
        if not (runs / name).exists():
            return name
        name = f"{name}-{secrets.token_hex(2)}"
        if not (runs / name).exists():
            return name
