"""The figures of `tracemill stats`: the funnel and the measures, each on its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pipeline.config import load_config
from pipeline.report import yields
from pipeline.report.asked import asked_and_reached, asked_lines
from pipeline.report.attempts import pass_at_k, pass_at_k_line
from pipeline.report.axes import lines as axis_lines
from pipeline.report.axes import spread
from pipeline.report.environment import environment, environment_lines
from pipeline.store import Catalog, RunFolder


def collect(data: Path, run: str | None) -> dict[str, Any]:
    """Figures of one run, or of all runs together. Raises RunError for a run that is not there."""
    if run is not None:
        RunFolder.open(data, run)
    catalog = Catalog(data)
    where = "where run = '" + run.replace("'", "''") + "'" if run else ""

    def rows(sql: str) -> list[dict[str, Any]]:
        return catalog.query(sql.format(where=where, also=f"{where} and" if where else "where")).dicts()

    def one(sql: str) -> dict[str, Any]:
        return rows(sql)[0]

    return {
        "run": run,
        "funnel": rows(
            "select stage, sum(entered)::bigint as entered, sum(kept)::bigint as kept, sum(rejected)::bigint as rejected, "
            "sum(failed)::bigint as failed, sum(pending)::bigint as pending, sum(tokens)::bigint as tokens, sum(cost) as cost "
            "from funnel {where} group by stage order by min(step), stage"
        ),
        "pass_rate": rows(
            "select difficulty, count(*) as attempts, sum(passed::int)::bigint as kept, avg(passed::int) as pass_rate "
            "from trajectories {where} group by 1 order by 1"
        ),
        "pass_at_k": pass_at_k(
            rows(
                "select run, task, count(passed) as n, coalesce(sum(passed::int), 0)::bigint as passed from trajectories {where} "
                "group by all"
            )
        ),
        "asked": _asked(data, run, rows),
        "axes": spread(row["axes"] for row in rows("select axes from tasks {also} admitted") if row["axes"]),
        "tool_coverage": {
            **one(
                "select count(*) filter (source = 'mcp') as mcp, count(*) filter (source = 'evolved') as evolved, "
                "count(distinct split_part(domain, '/', 1)) as categories from tools {where}"
            ),
            "used": one("select count(distinct name) as n from calls {where}")["n"],
        },
        "state_persistence": _persistence(rows),
        "environment": environment(rows),
        "planted_flaws": one(
            "select count(*) filter (flawed) as attempts, count(*) filter (flawed and passed) as missed, "
            "count(*) filter (not flawed and not passed) as failed_without_flaw from "
            "(select passed, json_array_length(record->'planted') > 0 as flawed from trajectories {where})"
        ),
        "rejected": rows(
            # What was judged again is counted as it is judged now.
            "select stage, kind, count(*) as n from failures {also} not (kind = 'judged failed' and stage <> 'judging' "
            "and run in (select run from funnel where stage = 'judging')) group by all order by n desc, stage, kind limit 12"
        ),
        "model_calls": one(
            "select count(*) as calls, count(*) filter (cached) as cached, coalesce(sum(tokens_in), 0)::bigint as tokens_in, "
            "coalesce(sum(tokens_out), 0)::bigint as tokens_out, coalesce(sum(cost), 0.0) as cost from model_calls {where}"
        ),
        "authoring": yields.authoring(rows),
    }


def _asked(data: Path, run: str | None, rows: Any) -> list[dict[str, Any]]:
    """What one run's configuration asked of the teacher's tasks, and what was reached; nothing for all runs together."""
    if run is None:
        return []
    config = load_config(RunFolder.open(data, run).path / "config.yaml", {}, {})
    found = rows("select record from tasks {also} admitted and record->>'author' = 'teacher'")
    return asked_and_reached(config.tasks, (row["record"] for row in found))


def _persistence(rows: Any) -> dict[str, Any]:
    """Snapshots make state exact: the state before each call is the one after the call before it."""
    found = rows(
        "select count(*) as pairs, count(*) filter (before = previous) as kept from (select before, lag(after) over "
        "(partition by hash(run, trajectory) order by index) as previous from events {also} role = 'tool' and before is not null "
        "and before <> '') where previous is not null"
    )[0]
    share = found["kept"] / found["pairs"] if found["pairs"] else None
    return {**found, "share": share}


def text(figures: dict[str, Any]) -> str:
    """The figures for a terminal."""
    lines = [
        f"{'stage':<14}{'entered':>9}{'kept':>9}{'rejected':>9}{'failed':>9}{'pending':>9}{'tokens':>12}{'cost':>10}"
    ]
    for row in figures["funnel"]:
        counts = "".join(f"{row[key]:>9}" for key in ("entered", "kept", "rejected", "failed", "pending"))
        lines.append(f"{row['stage']:<14}{counts}{row['tokens']:>12}{row['cost']:>10.4f}")
    lines.append("")
    for row in figures["pass_rate"]:
        rate = "-" if row["pass_rate"] is None else f"{row['pass_rate']:.3f}"
        lines.append(f"pass rate {row['difficulty']:<10} {rate}  of {row['attempts']} attempts")
    lines.append(pass_at_k_line(figures["pass_at_k"]))
    lines.extend(axis_lines(figures["axes"]))
    lines.extend(asked_lines(figures["asked"]))
    coverage, kept = figures["tool_coverage"], figures["state_persistence"]
    lines.append(
        f"tool coverage    {coverage['mcp']} real, {coverage['evolved']} evolved, {coverage['categories']} categories, {coverage['used']} used"
    )
    share = "not measured" if kept["share"] is None else f"{kept['share']:.4f} of {kept['pairs']}"
    lines.append(f"state persistence {share}")
    lines.extend(environment_lines(figures["environment"]))
    flaws = figures["planted_flaws"]
    lines.append(
        f"planted flaws    {flaws['attempts']}, missed {flaws['missed']}; failed without one {flaws['failed_without_flaw']}"
    )
    calls = figures["model_calls"]
    lines.append(
        f"model calls      {calls['calls']} ({calls['cached']} cached), {calls['tokens_in']}+{calls['tokens_out']} tokens, cost {calls['cost']:.4f}"
    )
    lines += yields.text(figures["authoring"])
    for row in figures["rejected"]:
        lines.append(f"  {row['n']:>6}  {row['stage']}: {row['kind']}")
    return "\n".join(lines)
