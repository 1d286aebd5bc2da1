"""The figures on the first page of the report: everything that is counted, by SQL over one run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from pipeline.judging.intervals import Share
from pipeline.report.stats import collect
from pipeline.store import Catalog, RunFolder
from pipeline.store.shards import read_rows

Rows = list[dict[str, Any]]
Ask = Callable[[str], Rows]
"""SQL to rows; `{run}` stands for the condition that picks the run, of a table named or aliased `t`."""

_DIMENSIONS = {
    "difficulty": "select t.difficulty as name, t.passed from trajectories t where {run}",
    "category": "select split_part(k.domain, '/', 1) as name, t.passed from trajectories t"
    " join tasks k on k.run = t.run and k.id = t.task where {run}",
    "world": "select t.world as name, t.passed from trajectories t where {run}",
    "persona": "select t.style as name, t.passed from trajectories t where {run}",
    "fault": "select coalesce(f.kind, 'no fault') as name, t.passed from trajectories t left join"
    " (select distinct run, trajectory, kind from faults) f on f.run = t.run and f.trajectory = t.id where {run}",
    "goal": "select t.kinds as name, t.passed from trajectories t where {run}",
    "player": "select t.policy || if(json_array_length(t.planted) > 0, ', flaw planted', '') as name, t.passed"
    " from trajectories t where {run}",
}
_SPREADS = {
    "calls": ("calls of a trajectory", "t.calls"),
    "turns": ("turns of a trajectory", "t.turns"),
    "tokens": ("tokens of a trajectory", "t.tokens"),
}


def figures(data: Path, run: str) -> dict[str, Any]:
    """All figures of a run, ready for JSON. Raises RunError for a run that is not there."""
    general = collect(data, run)
    catalog = Catalog(data)
    where = "t.run = '" + run.replace("'", "''") + "'"

    def ask(sql: str) -> Rows:
        return catalog.query(sql.replace("{run}", where)).dicts()

    about = ask("select flow, seed, started::varchar as started, status, version from runs t where {run}")[0]
    return {
        "run": {"name": run, **about},
        "funnel": general["funnel"],
        "model_calls": general["model_calls"],
        "state_persistence": general["state_persistence"],
        "environment": general["environment"],
        "totals": _totals(ask),
        "pass_by": {name: _rates(ask, sql) for name, sql in _DIMENSIONS.items()},
        "failures": ask(
            "select stage, kind, count(*) as n, min(message) as example from failures t where {run}"
            " group by all order by n desc, stage, kind limit 40"
        ),
        "failed_checks": ask(
            r"""select t.kind, regexp_replace(t."check", ' \(\d+\)$', '') as "check", count(distinct t.trajectory) as n,"""
            " min(t.reason) as example from verdicts t where {run} and t.value = 'fail'"
            " group by all order by n desc, 1, 2 limit 40"
        ),
        "endings": ask(
            "select end_reason as name, coalesce(value, 'unscored') as value, count(*) as n from trajectories t"
            " where {run} group by all order by all"
        ),
        "tools": _tools(ask),
        "models": ask(
            "select role, model, count(*) as calls, count(*) filter (cached) as cached,"
            " count(*) filter (outcome in ('failed', 'invalid')) as failed, sum(tokens_in)::bigint as tokens_in,"
            " sum(tokens_out)::bigint as tokens_out, sum(cost) as cost, median(seconds) as median_seconds"
            " from model_calls t where {run} group by all order by cost desc, calls desc, role, model limit 60"
        ),
        "spreads": [_spread(ask, title, column) for title, column in _SPREADS.values()],
        "calibration": _calibration(RunFolder.open(data, run)),
        "measures": ask(
            "select stage, name, part, value, n from measures t where {run} and stage not in ('calibration', 'environment')"
            " and name <> 'task_pass_rate' order by all limit 200"
        ),
        "code": ask(
            "select solution, status, count(*) as n from code_reports t where {run} group by all order by all"
        ),
        "rewrites": ask(
            "select style, count(*) as n, count(*) filter (verdict = 'kept') as kept,"
            " count(*) filter (fidelity = 'unfaithful') as unfaithful, avg(score) as score, sum(tokens)::bigint as tokens,"
            " sum(tokens_source)::bigint as tokens_source from rewrites t where {run} group by all order by all"
        ),
        "kept_sources": ask(
            r"""select regexp_replace(reason, '( \(|:| as ).*$', '') as name, count(*) as n, min(reason) as example"""
            " from rewrites t where {run} and verdict <> 'kept' group by all order by n desc, name limit 20"
        ),
        "findings": ask(
            "select kind, severity, count(*) as n from findings t where {run} group by all order by n desc, kind limit 40"
        ),
    }


def _totals(ask: Ask) -> dict[str, Any]:
    trajectories = ask(
        "select count(*) as trajectories, count(*) filter (passed) as passed, count(passed) as scored,"
        " coalesce(sum(calls), 0)::bigint as calls, coalesce(sum(tokens), 0)::bigint as tokens, coalesce(sum(cost), 0.0) as cost,"
        " count(*) filter (faults > 0) as with_faults, count(distinct world) as worlds from trajectories t where {run}"
    )[0]
    share = Share(trajectories["passed"], trajectories["scored"])
    more = {
        name: ask(f"select count(*) as n from {table} t where {{run}}")[0]["n"]
        for name, table in (("tasks", "tasks"), ("tools", "tools"), ("rewrites", "rewrites"))
    }
    kept = ask("select count(*) as n from rewrites t where {run} and verdict = 'kept'")[0]["n"]
    return {**trajectories, "pass_rate": share.value, "ci95": share.ci95, **more, "rewrites_kept": kept}


def _rates(ask: Ask, sql: str) -> Rows:
    """Pass rates with 95 % Wilson intervals; attempts that nothing could score are counted apart."""
    rows = ask(
        "select name, count(passed) as n, count(*) filter (passed) as passed, count(*) - count(passed) as unscored"
        f" from ({sql}) group by name order by n desc, name limit 60"
    )
    for row in rows:
        share = Share(row["passed"], row["n"])
        row["share"], row["ci95"] = share.value, share.ci95
    return rows


def _tools(ask: Ask) -> Rows:
    """Every tool with how often it was called; the calls of a tool that several worlds have are told apart."""
    return ask(
        "select t.name, coalesce(nullif(t.world, ''), t.server, '') as place, t.source, split_part(t.domain, '/', 1) as category,"
        " coalesce(sum(c.n), 0)::bigint as calls, coalesce(sum(c.failed), 0)::bigint as failed from tools t left join"
        " (select c.run, t.world_id, c.name, count(*) as n, count(*) filter (not c.ok) as failed from calls c"
        " join trajectories t on t.run = c.run and t.id = c.trajectory where {run} group by all) c"
        " on c.run = t.run and c.world_id = t.world_id and c.name = t.name where {run}"
        " group by all order by category, place, name"
    )


def _spread(ask: Ask, title: str, column: str) -> dict[str, Any]:
    """A histogram with at most 24 bars of equal width: `[lowest value, count]` each."""
    top = ask(f"select coalesce(max({column}), 0)::bigint as top from trajectories t where {{run}}")[0]["top"]
    width = max(1, -(-(top + 1) // 24))
    bars = ask(
        f"select ({column} // {width}) * {width} as low, count(*) as n from trajectories t where {{run}}"
        " group by all order by all"
    )
    found = {int(bar["low"]): bar["n"] for bar in bars if bar["low"] is not None}
    return {
        "title": title,
        "width": width,
        "bars": [[low, found.get(low, 0)] for low in range(0, top + 1, width)] if found else [],
    }


def _calibration(folder: RunFolder) -> Rows:
    """The latest calibration of the judges: misses, false alarms and abstentions by judge and kind of flaw."""
    units = folder.units("calibration")
    path = folder.unit(*units[-1]) / "measures.parquet" if units else None
    if path is None or not path.exists():
        return []
    return [
        {key: row[key] for key in ("name", "part", "value", "n")}
        for row in read_rows(path, ["name", "part", "value", "n"])
    ]
