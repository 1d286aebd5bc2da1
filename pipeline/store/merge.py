"""Several runs as one: each thing once, and no near-copy of a conversation from another run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import yaml

from pipeline.records import InputError
from pipeline.store.export.splits import Signature, near_copies, signature
from pipeline.store.folder import RunFolder
from pipeline.store.shards import read_rows
from pipeline.store.spec_rows import failure_row, funnel_row
from pipeline.store.tables import TABLES, Row

STAGE = "merge"
_THINGS = ("trajectories", "tasks", "documents", "code_tasks", "rewrites")
"""Tables of things that exist once, whatever unit of whatever run holds them."""
_OWNERS = {
    **dict.fromkeys(("trajectory", "chosen", "rejected"), "trajectories"),
    "rewrite": "rewrites",
}
"""Columns by which other rows say whose they are: they go where their owner goes."""
_PER_RUN = frozenset({"funnel", "failures", "model_calls", "timings", "measures", "exports"})
"""Tables that are taken over as they are: they tell of the run, not of things."""


@dataclass(frozen=True)
class Merged:
    """The new run, and per source run how many trajectories were kept and why others were not."""

    run: RunFolder
    kept: dict[str, int]
    dropped: dict[str, dict[str, int]]


def merge(
    runs: Sequence[RunFolder],
    data_dir: Path,
    name: str | None,
    *,
    near_duplicate: float = 0.9,
    version: str = "",
) -> Merged:
    """A new finished run with the rows of `runs`, in their order; the runs themselves stay as they are.

    A thing with an id (tool, world, task, trajectory, document …) is taken from the first run that has it. An attempt
    whose user says nearly the same as in an attempt taken from an earlier run (estimated Jaccard similarity of word
    5-grams, from `near_duplicate` on; attempts of one run are never compared) is left out with all its rows, and is a
    row in `failures`. Raises InputError for fewer than two runs, RunError for a taken name or a damaged shard.
    """
    if len({run.path for run in runs}) < 2:
        raise InputError(
            "A merge needs at least two different runs.", way_out="Name them all: tracemill merge A B."
        )
    unfinished = [run.name for run in runs if run.status != "finished"]
    if unfinished:
        raise InputError(
            f"Not finished: {', '.join(unfinished)}.",
            way_out="`tracemill resume` them first; what is missing in a merge cannot be resumed there.",
        )
    config = yaml.safe_dump(
        {"merged": [{"run": run.name, "flow": run.flow, "seed": run.seed} for run in runs]}, sort_keys=False
    )
    target = RunFolder.create(data_dir, name, STAGE, runs[0].seed, config, version=version)
    with target.lock():
        merged = _Merge(target, near_duplicate)
        for run in runs:
            merged.take(run)
        target.status = "finished"
    return Merged(target, dict(merged.kept), {run: dict(why) for run, why in merged.dropped.items()})


class _Merge:
    def __init__(self, target: RunFolder, threshold: float) -> None:
        self._target = target
        self._threshold = threshold
        self._numbers: Counter[str] = Counter()
        self._things: dict[str, set[str]] = {table: set() for table in _THINGS}
        self._seen: dict[str, set[tuple[object, ...]]] = {}
        self._said: list[Signature] = []
        self.kept: Counter[str] = Counter()
        self.dropped: dict[str, Counter[str]] = {}

    def take(self, run: RunFolder) -> None:
        """All units of one run, without what is known already."""
        run.check()
        copies, signatures = self._copies(run)
        gone = self._gone(run, copies)
        for stage, number in run.units():
            paths = sorted(run.unit(stage, number).glob("*.parquet"))
            tables = {path.stem: self._left(path.stem, read_rows(path), gone) for path in paths}
            self.kept[run.name] += len(tables.get("trajectories", ()))
            self._target.write_shard(stage, self._numbers[stage], tables)
            self._numbers[stage] += 1
        dropped = gone["trajectories"]
        self._said += [value for name, value in signatures.items() if name not in dropped]
        self._account(run, dropped)

    def _gone(self, run: RunFolder, copies: set[str]) -> dict[str, dict[str, str]]:
        """Per table of things: ids of this run that are not taken, and why."""
        gone: dict[str, dict[str, str]] = {}
        for table in _THINGS:
            gone[table] = {}
            for row in run.rows(table, columns=["id"]):
                if row["id"] in self._things[table]:
                    gone[table][row["id"]] = "in an earlier run"
                elif table == "trajectories" and row["id"] in copies:
                    gone[table][row["id"]] = "nearly the same as one of an earlier run"
        return gone

    def _left(self, table: str, rows: Iterable[Row], gone: dict[str, dict[str, str]]) -> list[Row]:
        """The rows that are taken: of a thing, of what happened to an attempt that is taken, or with a new key."""
        if table in _PER_RUN:
            return list(rows)
        if table in _THINGS:
            left = [row for row in rows if row["id"] not in gone[table]]
            self._things[table].update(row["id"] for row in left)
            return left
        owners = [column for column in TABLES[table].schema.names if column in _OWNERS]
        owned = (row for row in rows if not any(row[column] in gone[_OWNERS[column]] for column in owners))
        key = TABLES[table].key
        if not key or "trajectory" in key:
            return list(owned)
        seen = self._seen.setdefault(table, set())
        left = []
        for row in owned:
            name = tuple(row[column] for column in key)
            if name not in seen:
                seen.add(name)
                left.append(row)
        return left

    def _copies(self, run: RunFolder) -> tuple[set[str], dict[str, Signature]]:
        """Attempts whose user says nearly the same as in an attempt already taken, and all signatures."""
        texts: dict[str, list[str]] = {}
        for row in run.rows("events", columns=["trajectory", "role", "content"]):
            if row["role"] == "user":
                texts.setdefault(row["trajectory"], []).append(row["content"])
        signatures = {name: signature("\n".join(parts)) for name, parts in texts.items()}
        if not signatures or not self._said:
            return set(), signatures
        names = list(signatures)
        found = near_copies(
            np.stack([signatures[name] for name in names]), np.stack(self._said), self._threshold
        )
        return {names[index] for index in found}, signatures

    def _account(self, run: RunFolder, dropped: dict[str, str]) -> None:
        self.dropped[run.name] = Counter(dropped.values())
        kept = self.kept[run.name]
        self._target.write_shard(
            STAGE,
            self._numbers[STAGE],
            {
                "funnel": [
                    funnel_row(STAGE, entered=kept + len(dropped), kept=kept, rejected=len(dropped), failed=0)
                ],
                "failures": [
                    failure_row(STAGE, "duplicate", f"{why} ({run.name})", subject=subject)
                    for subject, why in sorted(dropped.items())
                ],
            },
        )
        self._numbers[STAGE] += 1
