"""Environment fidelity and the real replay rate, from the rows of compared calls, with 95 % Wilson intervals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pipeline.judging.intervals import Share

Rows = list[dict[str, Any]]
Ask = Callable[[str], Rows]
"""SQL to rows; `{where}` and `{also}` stand for the condition that picks the run."""

_SHARES = (
    "count(*) as n, count(*) filter (agreed) as agreed, avg(same_outcome::int) as outcome, avg(fits_schema::int) as fits,"
    " avg(same_values::int) as same_values, avg(same_state::int) as state"
)
_FIDELITY = f"select simulator, bucket, {_SHARES} from environment {{also}} source in ('sql', 'server') group by all order by simulator, bucket"
_REPLAY = (
    f"select source, world as server, tool, {_SHARES}, string_agg(distinct detail, ', ' order by detail) as differs"
    " from environment {also} source not in ('sql', 'server') group by all order by source, server, tool"
)


def environment(ask: Ask) -> dict[str, Rows]:
    """`fidelity`: by simulator and number of changed rows; `replay`: by server and tool, and what the others differ in."""
    found = {"fidelity": ask(_FIDELITY), "replay": ask(_REPLAY)}
    for row in [*found["fidelity"], *found["replay"]]:
        share = Share(row["agreed"], row["n"])
        row["share"], row["ci95"] = share.value, share.ci95
    return found


def environment_lines(figures: dict[str, Rows]) -> list[str]:
    """The same for a terminal: each simulator by changed rows, each host's replay rate as a whole and by tool."""
    lines = [
        f"environment fidelity  {row['simulator']}, {_of(row['bucket'])}: {_said(row)}; outcome {_part(row, 'outcome')},"
        f" schema {_part(row, 'fits')}, values {_part(row, 'same_values')}, state {_part(row, 'state')}"
        for row in figures["fidelity"]
    ]
    for source in dict.fromkeys(row["source"] for row in figures["replay"]):
        own = [row for row in figures["replay"] if row["source"] == source]
        share = Share(sum(row["agreed"] for row in own), sum(row["n"] for row in own))
        total = {"share": share.value, "ci95": share.ci95, "n": share.of}
        lines.append(f"real replay rate      {source} trajectories: {_said(total)}")
        for row in own:
            differs = f"; differs in {row['differs']}" if row["differs"] else ""
            lines.append(f"                      {row['server']}: {row['tool']}: {_said(row)}{differs}")
    return lines


def _of(bucket: str) -> str:
    return bucket if " " in bucket else f"{bucket} rows"


def _said(row: dict[str, Any]) -> str:
    if row["share"] is None:
        return "not measured"
    low, high = row["ci95"]
    return f"{row['share']:.3f} of {row['n']} (95 %: {low:.3f} to {high:.3f})"


def _part(row: dict[str, Any], name: str) -> str:
    return "-" if row[name] is None else f"{row[name]:.2f}"
