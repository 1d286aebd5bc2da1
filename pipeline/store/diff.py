"""What changed between two runs: configuration, versions, figures."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from typing import Any

import yaml

from pipeline.records import Json
from pipeline.store.catalog import Catalog
from pipeline.store.folder import RunFolder

Key = tuple[str, ...]


@dataclass(frozen=True)
class Change:
    """A setting or version that differs; None where one run has none."""

    name: str
    before: Json
    after: Json


@dataclass(frozen=True)
class Rate:
    """A share in both runs: passed of scored. `z` is the two-proportion statistic; beyond ±1.96 it is hardly chance."""

    group: str
    name: str
    before: float | None
    before_n: int
    after: float | None
    after_n: int
    z: float | None


@dataclass(frozen=True)
class Share:
    """Part of the attempts with a certain value, in both runs."""

    group: str
    name: str
    before: float
    after: float


@dataclass(frozen=True)
class Difference:
    """Everything in which two runs differ; pass rates and shares are given also where they are equal."""

    runs: tuple[str, str]
    settings: tuple[Change, ...]
    versions: tuple[Change, ...]
    funnel: tuple[Change, ...]
    rates: tuple[Rate, ...]
    shares: tuple[Share, ...]
    means: tuple[Change, ...]

    def text(self) -> str:
        """For eyes: one line per difference, the largest movement of a rate first."""
        lines = [f"{self.runs[0]} → {self.runs[1]}"]
        for title, changes in (
            ("configuration", self.settings),
            ("versions", self.versions),
            ("funnel", self.funnel),
            ("means per attempt", self.means),
        ):
            if changes:
                lines += ["", title]
                lines += [f"  {each.name}: {_said(each.before)} → {_said(each.after)}" for each in changes]
        rates = sorted(self.rates, key=lambda rate: (rate.group, -abs(rate.z or 0), rate.name))
        if rates:
            lines += ["", "pass rate (scored attempts)"]
            lines += [
                f"  {' '.join(filter(None, (rate.group, rate.name)))}: {_percent(rate.before)} of {rate.before_n} →"
                f" {_percent(rate.after)} of {rate.after_n}{'  *' if abs(rate.z or 0) > 1.96 else ''}"
                for rate in rates
            ]
            lines.append("  * more than chance would explain (|z| > 1.96)")
        moved = [share for share in self.shares if abs(share.before - share.after) >= 0.005]
        if moved:
            lines += ["", "shares of attempts"]
            lines += [
                f"  {share.group} {share.name}: {_percent(share.before)} → {_percent(share.after)}"
                for share in moved
            ]
        return "\n".join(lines) + "\n"


def diff(before: RunFolder, after: RunFolder) -> Difference:
    """Compares two runs of one data folder. Raises RunError for a damaged shard."""
    catalog = Catalog(before.data_dir)
    names = before.name, after.name
    return Difference(
        runs=names,
        settings=_changes(
            _flat(yaml.safe_load(before.config_yaml)), _flat(yaml.safe_load(after.config_yaml))
        ),
        versions=_changes(*(_versions(catalog, run) for run in (before, after))),
        funnel=_changes(*(_funnel(catalog, name) for name in names)),
        rates=tuple(_rates(catalog, names)),
        shares=tuple(_shares(catalog, names)),
        means=_changes(*(_means(catalog, name) for name in names)),
    )


def _changes(before: dict[str, Json], after: dict[str, Json]) -> tuple[Change, ...]:
    return tuple(
        Change(name, before.get(name), after.get(name))
        for name in dict.fromkeys([*before, *after])
        if before.get(name) != after.get(name)
    )


def _flat(value: Json, prefix: str = "") -> dict[str, Json]:
    if not isinstance(value, dict) or not value:
        return {prefix: value} if prefix else {}
    flat: dict[str, Json] = {}
    for key, item in value.items():
        flat |= _flat(item, f"{prefix}.{key}" if prefix else str(key))
    return flat


def _versions(catalog: Catalog, run: RunFolder) -> dict[str, Json]:
    rows = catalog.query(
        "select distinct unnest(map_entries(from_json(record->'versions'->'prompts', '\"MAP(VARCHAR, VARCHAR)\"')))"
        f" as prompt from trajectories where run = '{run.name}'"
    ).rows()
    found: dict[str, Json] = {"schema and program": run.version, "flow": run.flow, "seed": run.seed}
    for (prompt,) in rows:
        found[f"prompt {prompt['key']}"] = prompt["value"]
    for role in ("code", "tools", "policy", "user", "simulator", "judge"):
        sql = f"select distinct record->'versions'->>'{role}' as v from trajectories where run = '{run.name}' order by v"
        found[role] = _few([row[0] for row in catalog.query(sql).rows() if row[0]])
    return found


def _few(values: list[str]) -> str | None:
    """The values themselves, or of many how many there are, with a hash to tell them apart."""
    if len(values) > _MANY:
        return f"{len(values)} of them ({hashlib.blake2b(repr(values).encode(), digest_size=4).hexdigest()})"
    return ", ".join(values) or None


_MANY = 4


def _funnel(catalog: Catalog, run: str) -> dict[str, Json]:
    sql = f"select stage, entered, kept, rejected, failed, pending from funnel where run = '{run}' order by step"
    names = ("entered", "kept", "rejected", "failed", "pending")
    return {
        stage: ", ".join(f"{value:,} {name}" for name, value in zip(names, counts, strict=True) if value)
        for stage, *counts in catalog.query(sql).rows()
    }


def _means(catalog: Catalog, run: str) -> dict[str, Json]:
    names = ("turns", "calls", "failed_calls", "tokens", "cost", "reward")
    columns = ", ".join(f"round(avg({name}), 4)" for name in names)
    row = catalog.query(f"select {columns} from trajectories where run = '{run}'").rows()[0]
    return dict(zip(names, row, strict=True))


_GROUPS = {"all": "''", "difficulty": "difficulty", "world": "world", "goals": "kinds", "style": "style"}


def _rates(catalog: Catalog, runs: tuple[str, str]) -> list[Rate]:
    found = []
    for group, column in _GROUPS.items():
        counts: dict[str, dict[str, tuple[int, int]]] = {}
        sql = (
            f"select {column}, run, count(*) filter (passed), count(passed) from trajectories"
            f" where run in {runs!r} and passed is not null group by all order by all"
        )
        for name, run, passed, scored in catalog.query(sql).rows():
            counts.setdefault(name or "", {})[run] = passed, scored
        for name, by_run in counts.items():
            found.append(_rate(group, name, *(by_run.get(run, (0, 0)) for run in runs)))
    return found


def _rate(group: str, name: str, before: tuple[int, int], after: tuple[int, int]) -> Rate:
    shares = [passed / scored if scored else None for passed, scored in (before, after)]
    z = None
    if before[1] and after[1]:
        pooled = (before[0] + after[0]) / (before[1] + after[1])
        spread = math.sqrt(pooled * (1 - pooled) * (1 / before[1] + 1 / after[1]))
        z = (after[0] / after[1] - before[0] / before[1]) / spread if spread else 0.0
    return Rate(group, name, shares[0], before[1], shares[1], after[1], z)


def _shares(catalog: Catalog, runs: tuple[str, str]) -> list[Share]:
    found = []
    for column in ("end_reason", "value", "owner", "difficulty", "kinds", "world"):
        parts: dict[str, dict[str, float]] = {}
        sql = (
            f"select coalesce({column}, '-'), run, count(*) / sum(count(*)) over (partition by run)"
            f" from trajectories where run in {runs!r} group by {column}, run order by all"
        )
        for name, run, share in catalog.query(sql).rows():
            parts.setdefault(name, {})[run] = share
        found += [
            Share(column, name, by_run.get(runs[0], 0.0), by_run.get(runs[1], 0.0))
            for name, by_run in parts.items()
        ]
    return found


def _said(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return "(none)" if value is None else f"{value:,}" if isinstance(value, int | float) else str(value)


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{share:.1%}"
