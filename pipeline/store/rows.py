"""Trajectories as rows and back: what happened, flattened for SQL, without losing anything."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from pipeline.records import (
    AgentProfile,
    Event,
    Judgement,
    RunError,
    Snapshot,
    Task,
    ToolCall,
    ToolSpec,
    Trajectory,
    Usage,
    Value,
    canonical_json,
)
from pipeline.store.tables import Row

Tables = dict[str, list[Row]]
"""Table name to rows, as `RunFolder.write_shard` takes them."""


def gather(parts: Iterable[Tables]) -> Tables:
    """One mapping with the rows of all parts, in order."""
    together: Tables = {}
    for part in parts:
        for table, rows in part.items():
            together.setdefault(table, []).extend(rows)
    return together


def trajectory_rows(
    trajectory: Trajectory,
    judgement: Judgement | None,
    task: Task,
    *,
    snapshots: Iterable[Snapshot] = (),
    seconds: float | None = None,
) -> Tables:
    """All rows of one attempt: trajectories, events, calls, verdicts, faults, toolsets, snapshots, timings.

    `seconds`, the wall time of the episode, goes to `timings` alone. An attempt without a judgement, or with an
    unscored one, has null in `passed` and `reward`.
    """
    calls = _call_rows(trajectory)
    faults = _fault_rows(trajectory, task)
    tables: Tables = {
        "trajectories": [_trajectory_row(trajectory, judgement, task, calls, faults)],
        "events": [event_row(trajectory.id, event) for event in trajectory.events],
        "calls": calls,
        "verdicts": verdict_rows(judgement) if judgement else [],
        "faults": faults,
        "toolsets": [toolset_row(task.agent)],
        "snapshots": [snapshot_row(snapshot) for snapshot in snapshots],
    }
    if seconds is not None:
        tables["timings"] = [
            {"stage": "trajectories", "id": trajectory.id, "part": "episode", "seconds": seconds}
        ]
    return tables


def _trajectory_row(
    trajectory: Trajectory,
    judgement: Judgement | None,
    task: Task,
    calls: Sequence[Row],
    faults: Sequence[Row],
) -> Row:
    scored = judgement is not None and judgement.value is not Value.UNSCORED
    owner = (judgement.owner if judgement else None) or trajectory.end_reason.owner
    usage = trajectory.usage
    return {
        "id": trajectory.id,
        "task": trajectory.task,
        "world": trajectory.world_name or task.world_name,
        "world_id": trajectory.world,
        "difficulty": task.difficulty,
        "style": task.persona.style,
        "kinds": kinds(task),
        "attempt": trajectory.attempt,
        "seed": trajectory.seed,
        "passed": judgement.passed if judgement and scored else None,
        "value": str(judgement.value) if judgement else None,
        "owner": str(owner) if owner and not (judgement and judgement.passed) else None,
        "reason": judgement.reason if judgement else None,
        "reward": judgement.reward if judgement and scored else None,
        "end_reason": str(trajectory.end_reason),
        "turns": 1 + max((event.turn for event in trajectory.events), default=-1),
        "calls": len(calls),
        "failed_calls": sum(call["ok"] is False for call in calls),
        "faults": len(faults),
        "tokens": usage.tokens_in + usage.tokens_out,
        "tokens_in": usage.tokens_in,
        "tokens_out": usage.tokens_out,
        "cost": usage.cost,
        "planted": canonical_json(trajectory.planted),
        "host": task.host,
        "proof": task.proof,
        "policy": trajectory.versions.policy,
        "author": task.author,
        "toolset": task.agent.toolset.id,
        "content": trajectory.content_hash,
        "record": canonical_json(trajectory.model_dump(mode="json", exclude={"events"})),
    }


def kinds(task: Task) -> str:
    """The kinds of a task's goals, each once, in order: `ask+act`."""
    return "+".join(dict.fromkeys(goal.kind for goal in task.goals))


def event_row(trajectory: str, event: Event) -> Row:
    """Every field of an event; `event_of` is its inverse."""
    return {
        "trajectory": trajectory,
        "index": event.index,
        "turn": event.turn,
        "role": event.role,
        "content": event.content,
        "reasoning": event.reasoning,
        "calls": canonical_json([call.model_dump(mode="json") for call in event.calls])
        if event.calls
        else "[]",
        "call_id": event.call_id,
        "name": event.name,
        "ok": event.ok,
        "error_code": event.error_code,
        "fault": event.fault.to_json() if event.fault else None,
        "before": event.before,
        "after": event.after,
        "loss": event.loss,
        "tokens_in": event.usage.tokens_in,
        "tokens_out": event.usage.tokens_out,
        "cost": event.usage.cost,
        "logprobs": canonical_json(event.logprobs) if event.logprobs else "[]",
        "lookups": canonical_json([one.model_dump(mode="json") for one in event.lookups]),
        "note": event.note,
    }


def event_of(row: Row) -> Event:
    """The event that a row of `events` holds."""
    fields = {name: row[name] for name in _PLAIN}
    usage = Usage(tokens_in=row["tokens_in"], tokens_out=row["tokens_out"], cost=row["cost"])
    return Event.model_validate(
        {
            **fields,
            "calls": json.loads(row["calls"]),
            "fault": json.loads(row["fault"]) if row["fault"] else None,
            "usage": usage,
            "logprobs": json.loads(row["logprobs"]),
            "lookups": json.loads(row["lookups"]),
        }
    )


_PLAIN = (
    *("index", "turn", "role", "content", "reasoning", "call_id", "name", "ok"),
    *("error_code", "before", "after", "loss", "note"),
)


def trajectory_of(row: Row, events: Iterable[Row]) -> Trajectory:
    """The trajectory that a row of `trajectories` and its rows of `events` hold."""
    ordered = sorted(events, key=lambda event: int(event["index"]))
    read: list[Event] = []
    try:
        for one in ordered:
            read.append(event_of(one))
        return Trajectory.model_validate({**json.loads(row["record"]), "events": read})
    except ValueError as error:  # JSON or values that were never written
        what = f"event {ordered[len(read)]['index']}" if len(read) < len(ordered) else "record"
        raise RunError(
            f"The {what} of trajectory {row['id']} cannot be read: {str(error).splitlines()[0]}.",
            way_out="Its shard was changed after it was written; delete the unit's folder and resume the run.",
        ) from error


def _call_rows(trajectory: Trajectory) -> list[Row]:
    rows: list[Row] = []
    for event in trajectory.events:
        for call in event.calls:
            answer = _answer(trajectory.events[event.index + 1 :], call.id)
            rows.append(_call_row(trajectory.id, len(rows), event, call, answer))
    return rows


def _answer(later: Sequence[Event], call_id: str) -> Event | None:
    """The tool event that answers a call; endpoints may use a call id again in a later turn."""
    for event in later:
        if event.role != "tool":
            return None
        if event.call_id == call_id:
            return event
    return None


def _call_row(trajectory: str, position: int, asked: Event, call: ToolCall, answer: Event | None) -> Row:
    return {
        "trajectory": trajectory,
        "index": answer.index if answer else asked.index,
        "position": position,
        "turn": asked.turn,
        "asked_in": asked.index,
        "id": call.id,
        "name": call.name,
        "arguments": canonical_json(call.arguments) if call.arguments is not None else None,
        "raw": call.raw,
        "answered": answer is not None,
        "ok": answer.ok if answer else None,
        "error_code": answer.error_code or None if answer else None,
        "fault": answer.fault.kind if answer and answer.fault else None,
        "changed": answer.before != answer.after if answer and answer.after else None,
        "result": answer.content if answer else None,
    }


def _fault_rows(trajectory: Trajectory, task: Task) -> list[Row]:
    planned = {(fault.tool, fault.nth): fault for fault in task.faults}
    rows: list[Row] = []
    for event in trajectory.events:
        if event.fault is None:
            continue
        plan = planned.get((event.fault.tool, event.fault.nth))
        later = [
            other
            for other in trajectory.events
            if other.role == "tool" and other.index > event.index and other.name == event.fault.tool
        ]
        rows.append(
            {
                "trajectory": trajectory.id,
                "index": event.index,
                "tool": event.fault.tool,
                "nth": event.fault.nth,
                "kind": event.fault.kind,
                "committed": event.fault.committed,
                "explicit": plan.explicit if plan else None,
                "permanent": plan.permanent if plan else None,
                "retried": bool(later),
                "recovered": any(other.ok and other.fault is None for other in later),
            }
        )
    return rows


def verdict_rows(judgement: Judgement, round: int = 0) -> list[Row]:
    """The verdicts of one judging; `round` counts judgings of the same run, 0 being the run's own."""
    return [
        {
            "trajectory": judgement.trajectory,
            "round": round,
            "check": verdict.check,
            "kind": verdict.kind,
            "value": str(verdict.value),
            "owner": str(verdict.owner),
            "evidence": canonical_json(verdict.evidence),
            "reason": verdict.reason,
            "judge": verdict.judge,
            "prompt": verdict.prompt,
            "mandatory": verdict.mandatory,
            "weight": verdict.weight,
        }
        for verdict in judgement.verdicts
    ]


def judgement_rows(judgement: Judgement, round: int) -> Tables:
    """Rows of judging a trajectory again; from `round` 1 on the views show the latest."""
    scored = judgement.value is not Value.UNSCORED
    row = {
        "trajectory": judgement.trajectory,
        "round": round,
        "value": str(judgement.value),
        "passed": judgement.passed if scored else None,
        "owner": str(judgement.owner) if judgement.owner else None,
        "reward": judgement.reward if scored else None,
        "reason": judgement.reason,
    }
    return {"judgements": [row], "verdicts": verdict_rows(judgement, round)}


def toolset_row(agent: AgentProfile) -> Row:
    """What the agent was offered, as it goes to a model, with the origin of each tool that is a real one."""
    tools = agent.toolset.tools
    return {
        "id": agent.toolset.id,
        "tools": canonical_json([tool.for_model() for tool in tools]),
        "sources": canonical_json([_source(tool) for tool in tools if tool.provenance.source == "mcp"]),
    }


def _source(tool: ToolSpec) -> dict[str, Any]:
    origin = tool.provenance
    return {
        "tool": tool.name,
        "server": origin.server,
        "package": origin.package,
        "version": origin.version,
        "license": origin.license,
    }


def snapshot_row(snapshot: Snapshot) -> Row:
    return {
        "ref": snapshot.ref,
        "state": snapshot.state,
        "world_id": snapshot.world,
        "clock": snapshot.clock,
        "counter": snapshot.counter,
        "rows": canonical_json(snapshot.rows),
        "parts": canonical_json([part.model_dump(mode="json") for part in snapshot.parts]),
    }


def snapshot_of(row: Row) -> Snapshot:
    """The snapshot that a row of `snapshots` holds."""
    return Snapshot(
        ref=row["ref"],
        state=row["state"],
        world=row["world_id"],
        clock=row["clock"],
        counter=row["counter"],
        rows=tuple(json.loads(row["rows"])),
        parts=tuple(Snapshot.model_validate(part) for part in json.loads(row["parts"])),
    )
