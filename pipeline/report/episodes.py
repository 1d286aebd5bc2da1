"""The trajectories of the report: a small index of all, and their whole content in blocks."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from pipeline.report.blocks import block, columns
from pipeline.report.changes import Differences
from pipeline.store import Catalog

PER_BLOCK = 48
_INDEX = (
    "id", "task", "world", "category", "difficulty", "goal", "persona", "fault", "value", "owner", "reason", "ending",
    "attempt", "turns", "calls", "failed_calls", "tokens", "reward", "planted", "intent", "tools",
)  # fmt: skip


@dataclass(frozen=True)
class Episodes:
    """What of a run's trajectories stands in the page: `shown` of `total`."""

    index: str
    blocks: list[str]
    shown: int
    total: int


def episodes(data: Path, run: str, limit: int) -> Episodes:
    """At most `limit` trajectories; of more, those whose hashed ids come first, which is an even draw."""
    catalog = Catalog(data)
    name = run.replace("'", "''")
    total = catalog.query(f"select count(*) from trajectories where run = '{name}'").rows()[0][0]
    chosen = (
        f"(select * from trajectories where run = '{name}' order by md5(id), id limit {int(limit)})"
        if total > limit
        else f"(select * from trajectories where run = '{name}')"
    )
    rows = catalog.query(_index_sql(chosen, name)).dicts()
    for row in rows:
        row["planted"] = ", ".join(_labels(row["planted"]))
    index = block(
        "index", {"rows": len(rows), "per_block": PER_BLOCK, "columns": columns(rows, _INDEX), "total": total}
    )
    return Episodes(index, list(_blocks(catalog, name, chosen, rows)), len(rows), total)


def _index_sql(chosen: str, run: str) -> str:
    """Sorted so that attempts at one task, and tasks of one world, stand together: they compress well."""
    return f"""
        select t.id, t.task, t.world, coalesce(split_part(k.domain, '/', 1), '') as category, t.difficulty,
            t.kinds as goal, coalesce(t.style, '') as persona, coalesce(f.kinds, '') as fault,
            coalesce(t.value, 'unscored') as value, coalesce(t.owner, '') as owner, coalesce(t.reason, '') as reason,
            t.end_reason as ending, t.attempt, t.turns, t.calls, t.failed_calls, t.tokens, t.reward, t.planted,
            coalesce(k.intent, '') as intent, coalesce(c.names, '') as tools
        from {chosen} t
        left join (select id, any_value(domain) as domain, any_value(intent) as intent from tasks
            where run = '{run}' group by id) k on k.id = t.task
        left join (select trajectory, string_agg(distinct kind, ' ' order by kind) as kinds from faults
            where run = '{run}' group by trajectory) f on f.trajectory = t.id
        left join (select trajectory, string_agg(distinct name, ' ' order by name) as names from calls
            where run = '{run}' group by trajectory) c on c.trajectory = t.id
        order by t.world, t.task, t.attempt, t.id"""


def _labels(planted: str | None) -> list[str]:
    """Kinds of planted flaws, without the word before them."""
    return [str(label).removeprefix("flaw:") for label in json.loads(planted or "[]")]


def _blocks(catalog: Catalog, run: str, chosen: str, rows: list[dict[str, Any]]) -> Iterator[str]:
    differences = Differences.of(catalog, run)
    tasks = _tasks(catalog, run, chosen)
    some = f"semi join {chosen} t on t.id = e.trajectory where e.run = '{run}'"
    events = _grouped(
        catalog,
        "select e.trajectory, e.role, e.content, e.turn, e.calls, e.name, e.ok, e.error_code, e.fault, e.before, e.after,"
        f" e.reasoning, e.note, e.index from events e {some} order by e.trajectory, e.index",
    )
    verdicts = _grouped(
        catalog,
        'select e.trajectory, e."check", e.kind, e.value, e.owner, e.evidence, e.reason, e.judge, e.mandatory'
        f' from verdicts e {some} order by e.trajectory, e.value, e."check", e.judge',
    )
    for start in range(0, len(rows), PER_BLOCK):
        part = rows[start : start + PER_BLOCK]
        texts: dict[str, int] = {}
        content = [
            [
                [_event(row, texts, differences) for row in events.pop(row["id"], [])],
                [_verdict(row) for row in verdicts.pop(row["id"], [])],
            ]
            for row in part
        ]
        used = {row["task"]: tasks[row["task"]] for row in part if row["task"] in tasks}
        yield block(
            f"block-{start // PER_BLOCK}", {"texts": list(texts), "tasks": used, "trajectories": content}
        )


def _grouped(catalog: Catalog, sql: str) -> dict[str, list[tuple[Any, ...]]]:
    rows = catalog.query(sql).rows()
    return {key: [row[1:] for row in group] for key, group in groupby(rows, key=itemgetter(0))}


def _event(row: tuple[Any, ...], texts: dict[str, int], differences: Differences) -> list[Any]:
    """A list for the page, cut where only empty values follow. System prompts stand once in a block."""
    role, content, turn, calls, name, ok, error, fault, before, after, reasoning, note, index = row
    if role == "system":
        content = texts.setdefault(content, len(texts))
    changed = differences.between(before, after) if after and before != after else 0
    kind = json.loads(fault)["kind"] if fault and fault != "null" else 0
    made: list[Any] = [
        index, role, content, turn, 0 if calls == "[]" else calls, name or 0, ok, error or 0, kind, changed,
        reasoning or 0, note or 0,
    ]  # fmt: skip
    while made[-1] in (0, None, ""):
        made.pop()
    return made


def _verdict(row: tuple[Any, ...]) -> list[Any]:
    check, kind, value, owner, evidence, reason, judge, mandatory = row
    return [check, kind, value, owner or "", json.loads(evidence or "[]"), reason or "", judge, mandatory]


def _tasks(catalog: Catalog, run: str, chosen: str) -> dict[str, Any]:
    """What a reader wants to know of a task: goals, what the user knows, the reference calls."""
    rows = catalog.query(
        "select k.id, any_value(json_extract(k.record, ['$.goals', '$.facts', '$.reference'])), any_value(k.evidence)"
        f" from tasks k semi join {chosen} t on t.task = k.id where k.run = '{run}' group by k.id"
    ).rows()
    return {id: _task(parts, evidence) for id, parts, evidence in rows}


def _task(parts: list[str | None], evidence: str | None) -> dict[str, Any]:
    goals, facts, reference = (json.loads(part or "[]") for part in parts)
    return {
        "goals": [(goal["kind"], goal["intent"]) for goal in goals],
        "facts": [(fact["label"], fact["spoken"], fact["disclosure"]) for fact in facts],
        "reference": [(call["tool"], call["arguments"], call["error"]) for call in reference],
        "gate": json.loads(evidence or "null"),
    }
