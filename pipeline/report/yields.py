"""What a model as author yields: per stage and model how much held, and what each admitted thing cost."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Rows = Callable[[str], list[dict[str, Any]]]
"""Runs a query in which `{where}` and `{also}` stand for the choice of the run."""

_STAGES = """
select detail->>'model' as model, detail->>'part' as part, sum(n)::bigint as begun,
    sum((detail->>'first')::bigint)::bigint as first, sum((detail->>'repaired')::bigint)::bigint as repaired,
    sum((detail->>'lost')::bigint)::bigint as lost, sum((detail->>'asked')::bigint)::bigint as asked,
    sum((detail->>'repairs')::bigint)::bigint as repairs, sum((detail->>'tokens')::bigint)::bigint as tokens,
    sum((detail->>'cost')::double) as cost
from measures {also} name = 'yield' group by all
"""
_SPENT = """
select model, stage, sum(tokens_in + tokens_out)::bigint as tokens, sum(cost) as cost from model_calls {also}
role = 'author' and not cached group by all
"""
_MADE = {
    "world": (
        "evolve",
        "select author, count(*) as n from worlds {also} admitted and author like 'model:%' group by 1",
    ),
    "tool": (
        "evolve",
        "select author, count(*) as n from tools {also} admitted and author like 'model:%' group by 1",
    ),
    "task": (
        "tasks",
        "select author, count(*) as n from tasks {also} admitted and author like 'model:%' group by 1",
    ),
    "kept trajectory": (
        "all",
        "select author, count(*) as n from trajectories {also} passed and author like 'model:%' group by 1",
    ),
}


def authoring(rows: Rows) -> dict[str, Any]:
    """`stages`: begun, kept at once, repaired, lost, requests, repairs, tokens and cost per stage and model;
    `admitted`: for each kind of thing and model how many, and tokens and cost of its author for one of them.

    A world and a tool carry what `domains` and `evolve` spent, a task what `tasks` spent, a kept trajectory all of it.
    What was lost on the way is in the price of what was admitted.
    """
    spent: dict[tuple[str, str], tuple[int, float]] = {}
    for row in rows(_SPENT):
        for group in (_group(row["stage"]), "all"):
            tokens, cost = spent.get((row["model"], group), (0, 0.0))
            spent[row["model"], group] = (tokens + row["tokens"], cost + row["cost"])
    admitted = []
    for what, (group, sql) in _MADE.items():
        for row in rows(sql):
            model = row["author"].removeprefix("model:")
            tokens, cost = spent.get((model, group), (0, 0.0))
            admitted.append(
                {
                    "what": what,
                    "model": model,
                    "n": row["n"],
                    "tokens": tokens / row["n"],
                    "cost": cost / row["n"],
                }
            )
    return {"stages": sorted(rows(_STAGES), key=_place), "admitted": admitted}


_MANY = {"world": "worlds", "tool": "tools", "task": "tasks", "kept trajectory": "kept trajectories"}
_PARTS = (
    *("branches", "world", "schema", "rows", "tools", "tool", "policy", "invariants", "words"),
    *("cast", "wish", "facts", "checks", "gate"),
)
"""The stages of authoring in the order in which they come."""


def _place(row: dict[str, Any]) -> tuple[str, int]:
    return row["model"], _PARTS.index(row["part"]) if row["part"] in _PARTS else len(_PARTS)


def _group(stage: str) -> str:
    return "evolve" if stage in ("domains", "evolve") else stage


def text(figures: dict[str, Any]) -> list[str]:
    """The figures for a terminal; nothing where no model was an author."""
    lines = []
    for row in figures["stages"]:
        lines.append(
            f"author {row['model']}: {row['part']:<11}{row['begun']:>6} begun, {row['first']:>5} at once, {row['repaired']:>5} repaired, "
            f"{row['lost']:>5} lost; {row['asked']} requests, {row['repairs']} repairs, {row['tokens']} tokens, cost {row['cost']:.4f}"
        )
    for row in figures["admitted"]:
        what = row["what"] if row["n"] == 1 else _MANY[row["what"]]
        lines.append(
            f"author {row['model']}: {row['n']} {what}, {row['tokens']:.0f} tokens and {row['cost']:.5f} each"
        )
    return lines
