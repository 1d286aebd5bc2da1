"""Records as text for a terminal."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pipeline.records import Event, RunError, World, canonical_json
from pipeline.report.changes import Differences
from pipeline.store import Catalog, event_of

_TABLES = (
    "trajectories", "tasks", "worlds", "tools", "rewrites", "documents", "code_tasks", "agents", "personas", "domains",
)  # fmt: skip


def show_record(data: Path, id: str, *, state: bool = False, as_json: bool = False) -> str:
    """The record with this id or unique beginning. Raises RunError when there is none, or several."""
    catalog = Catalog(data)
    table, row = _find(catalog, id)
    if as_json:
        return json.dumps({"table": table, **row}, ensure_ascii=False, indent=2, default=str)
    if table == "trajectories":
        return _trajectory(catalog, row, state=state)
    if table == "worlds":
        return world_text(World.model_validate_json(row["record"]))
    if table == "tasks":
        return _task(row)
    return _plain(table, row)


def _find(catalog: Catalog, id: str) -> tuple[str, dict[str, Any]]:
    safe = id.replace("'", "''")
    near: list[tuple[str, str]] = []
    for table in _TABLES:
        exact = catalog.query(f"select * from {table} where id = '{safe}' limit 1").dicts()
        if exact:
            return table, exact[0]
        rows = catalog.query(
            f"select distinct id from {table} where starts_with(id, '{safe}') limit 5"
        ).rows()
        near.extend((table, row[0]) for row in rows)
    if len(near) == 1:
        return near[0][0], catalog.query(
            f"select * from {near[0][0]} where id = '{near[0][1]}' limit 1"
        ).dicts()[0]
    if near:
        raise RunError(f"{id!r} is the beginning of several ids: {', '.join(one for _, one in near[:5])}.")
    raise RunError(
        f"There is no record {id!r}.",
        way_out='Find ids with SQL, e.g. tracemill sql "select id from trajectories". ' + catalog.left_out(),
    )


def _trajectory(catalog: Catalog, row: dict[str, Any], *, state: bool) -> str:
    run, id = row["run"].replace("'", "''"), row["id"]
    where = f"run = '{run}' and trajectory = '{id}'"
    events = [
        event_of(one) for one in catalog.query(f"select * from events where {where} order by index").dicts()
    ]
    verdicts = catalog.query(f"select * from verdicts where {where}").dicts()
    changes = _changes(catalog, run, events) if state else {}
    lines = [
        f"{id}  run {row['run']}  task {row['task']}  world {row['world']}  {row['difficulty']}  attempt {row['attempt']}",
        f"ended {row['end_reason']}  passed {row['passed']}  reward {row['reward']}  {row['turns']} turns  {row['calls']} calls",
        "",
    ]
    for event in events:
        lines.extend(_event(event))
        lines.extend(f"           Δ {text}" for text in changes.get(event.index, []))
    lines.append("")
    for verdict in verdicts:
        mark = {"pass": "✓", "fail": "✗"}.get(verdict["value"], "?")
        reason = f" — {verdict['reason']}" if verdict["reason"] else ""
        lines.append(f"{mark} {verdict['check']} ({verdict['judge']}){reason}")
    return "\n".join(lines)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _event(event: Event) -> list[str]:
    lines = [
        f"    the user's {one.tool} {_json(one.arguments)} → {_json(one.result)}" for one in event.lookups
    ]
    if event.content or event.role != "assistant":
        name = f"{event.role} {event.name}" if event.role == "tool" else event.role
        flag = "" if event.ok is not False else "  [error]"
        fault = f"  [fault: {event.fault.kind}]" if event.fault else ""
        note = f"  [{event.note}]" if event.note.startswith("flaw:") else ""
        lines.append(f"{event.index:>3} {name}{flag}{fault}{note}: {event.content}")
    lines.extend(f"{event.index:>3} assistant → {call.name} {call.raw}" for call in event.calls)
    return lines


def _changes(catalog: Catalog, run: str, events: list[Event]) -> dict[int, list[str]]:
    """For each event that changed the state: the rows that differ between the two snapshots, column by column."""
    changing = [event for event in events if event.before != event.after and event.after]
    differences = Differences.of(
        catalog, run, {ref for event in changing for ref in (event.before, event.after)}
    )
    return {
        event.index: [_change(*change) for change in differences.between(event.before, event.after)]
        for event in changing
    }


def _change(table: str, key: str, kind: str, cells: list[tuple[str, Any, Any]]) -> str:
    def cell(column: str, before: Any, after: Any) -> str:
        shown = {"+": [after], "-": [before]}.get(kind, [before, after])
        return f"{column} {' → '.join(map(_json, shown))}"

    return f"{table} {key} {_VERBS[kind]}: {', '.join(cell(*one) for one in cells)}"


_VERBS = {"+": "new", "-": "removed", "~": "changed"}


def _task(row: dict[str, Any]) -> str:
    task = json.loads(row["record"])
    lines = [
        f"{row['id']}  run {row['run']}  world {row['world']}  {row['difficulty']}  admitted {row['admitted']}",
        "",
    ]
    lines.extend(f"goal ({goal['kind']}): {goal['intent']}" for goal in task["goals"])
    lines.extend(f"fact [{fact['disclosure']}] {fact['label']}: {fact['spoken']}" for fact in task["facts"])
    lines.extend(
        f"call {call['tool']} {canonical_json(call['arguments'])}{' → ' + call['error'] if call['error'] else ''}"
        for call in task["reference"]
    )
    lines.extend(f"fault {fault['kind']} at {fault['tool']} #{fault['nth']}" for fault in task["faults"])
    lines.extend(f"check ({check['kind']}) {check['name']}" for check in task["rubric"]["checks"])
    lines.append(f"gate {row['evidence']}")
    return "\n".join(lines)


def _plain(table: str, row: dict[str, Any]) -> str:
    lines = [f"{table}"]
    for key, value in row.items():
        if value is not None and key != "record":
            lines.append(f"  {key}: {value}")
    return "\n".join(lines)


def world_text(world: World) -> str:
    """A world for reading: policy, tables, tools with arguments and errors."""
    lines = [
        f"{world.name}  {world.id}  {world.domain.path}",
        world.summary,
        "",
        "Policy",
        world.policy_text,
        "",
        "Tables",
    ]
    lines.extend("  " + line for line in world.schema_sql.strip().splitlines())
    lines.append("")
    for tool in world.tools:
        kind = (
            "read"
            if tool.annotations.read_only
            else "destructive"
            if tool.annotations.destructive
            else "write"
        )
        arguments = ", ".join(
            f"{name}{'' if name in tool.input_schema.get('required', []) else '?'}"
            for name in tool.input_schema.get("properties", {})
        )
        lines.append(f"{tool.name}({arguments})  [{kind}]  {tool.description}")
        lines.extend(f"    {error.code}: {error.message}" for error in tool.errors)
    return "\n".join(lines)
