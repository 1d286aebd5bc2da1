"""Specifications as rows: domains, tools, worlds, agents, personas, tasks, code tasks.

Each row keeps its record as canonical JSON, so that `Record.model_validate_json(row["record"])` gives it back.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from pipeline.records import (
    AgentProfile,
    CodeTask,
    Domain,
    Persona,
    Record,
    Task,
    TestReport,
    ToolSpec,
    World,
    canonical_json,
    content_id,
)
from pipeline.store.rows import kinds
from pipeline.store.tables import Row


def domain_row(domain: Domain) -> Row:
    return {
        "id": domain.id,
        "path": domain.path,
        "description": domain.description,
        "parent": domain.parent,
        "record": domain.to_json(),
    }


def tool_row(tool: ToolSpec, world: World | None = None, *, admitted: bool = True, reason: str = "") -> Row:
    """One tool of the repository, in the world it belongs to."""
    origin = tool.provenance
    return {
        "id": tool.id,
        "name": tool.name,
        "title": tool.title,
        "description": tool.description,
        "source": origin.source,
        "server": origin.server or None,
        "package": origin.package or None,
        "version": origin.version or None,
        "license": origin.license or None,
        "domain": origin.domain or (world.domain.path if world else None),
        "world": world.name if world else None,
        "world_id": world.id if world else None,
        "author": origin.author or None,
        "admitted": admitted,
        "read_only": tool.annotations.read_only,
        "destructive": tool.annotations.destructive,
        "arguments": len(tool.input_schema.get("properties") or {}),
        "flags": canonical_json(tool.flags),
        "reason": reason or None,
        "record": tool.to_json(),
    }


def world_row(world: World, *, admitted: bool = True, reason: str = "", author: str = "") -> Row:
    return {
        "id": world.id,
        "name": world.name,
        "domain": world.domain.path,
        "archetype": world.archetype,
        "skeleton": skeleton(world),
        "tools": len(world.tools),
        "admitted": admitted,
        "reason": reason or None,
        "author": author or None,
        "record": world.to_json(),
    }


_TOKEN = re.compile(r"'(?:[^']|'')*'|\"[^\"]*\"|[A-Za-z_][A-Za-z_0-9]*|\d+(?:\.\d+)?|\S")
_KEPT = frozenset(
    "create table primary key not null unique check references foreign text integer int real numeric blob boolean"
    " default in between and or like on delete cascade without rowid strict".split()
)


def skeleton(world: World) -> str:
    """Equal for worlds that differ in vocabulary only: the archetype, and the schema with its names taken out.

    Worlds written by hand have no archetype; there the shape alone decides. Lists of literals count as one.
    """
    shape: list[str] = []
    for token in _TOKEN.findall(re.sub(r"--[^\n]*", "", world.schema_sql).lower()):
        if token[0] in "'0123456789":
            token = "v"
        elif (token[0].isalpha() or token[0] in '_"') and token not in _KEPT:
            token = "n"
        if token == "v" and shape[-2:] == ["v", ","]:
            shape.pop()
            continue
        shape.append(token)
    tools = Counter(
        f"{tool.annotations.read_only:d}{tool.annotations.destructive:d}{len(tool.input_schema.get('properties') or {})}"
        for tool in world.tools
    )
    archetype = "" if world.archetype == "hand" else world.archetype
    return content_id("skel", [archetype, " ".join(shape), sorted(tools.items())])


def agent_row(agent: AgentProfile) -> Row:
    return {
        "id": agent.id,
        "name": agent.name,
        "system_prompt": agent.system_prompt,
        "expertise": agent.expertise,
        "tone": agent.tone,
        "confirms": agent.confirms,
        "toolset": agent.toolset.id,
        "tools": len(agent.toolset.tools),
        "relevant": len(agent.toolset.relevant),
        "record": agent.to_json(),
    }


def persona_row(persona: Persona) -> Row:
    return {"id": persona.id, **persona.model_dump(exclude={"patience", "upfront", "slips"})} | {
        "patience": persona.patience,
        "upfront": persona.upfront,
        "slips": persona.slips,
        "record": persona.to_json(),
    }


def task_row(
    task: Task, *, admitted: bool = True, reason: str = "", evidence: Any = None, domain: str = ""
) -> Row:
    """One task variant; `evidence` is what the gate saw, as a JSON value."""
    return {
        "id": task.id,
        "world": task.world_name,
        "world_id": task.world,
        "domain": domain or None,
        "difficulty": task.difficulty,
        "agent": task.agent.id,
        "persona": task.persona.id,
        "style": task.persona.style,
        "kinds": kinds(task),
        "intent": "; ".join(goal.intent for goal in task.goals),
        "goals": len(task.goals),
        "calls": len(task.reference),
        "faults": len(task.faults),
        "checks": len(task.rubric.checks),
        "axes": canonical_json(task.axes),
        "host": task.host,
        "proof": task.proof,
        "author": task.author,
        "admitted": admitted,
        "reason": reason or None,
        "evidence": canonical_json(evidence) if evidence is not None else None,
        "record": task.to_json(),
    }


def code_task_row(task: CodeTask, *, admitted: bool = True, reason: str = "", evidence: Any = None) -> Row:
    return {
        "id": task.id,
        "name": task.name,
        "source": task.source,
        "difficulty": task.difficulty,
        "statement": task.statement,
        "admitted": admitted,
        "reason": reason or None,
        "image": task.image,
        "license": task.license,
        "fail_to_pass": len(task.fail_to_pass),
        "pass_to_pass": len(task.pass_to_pass),
        "evidence": canonical_json(evidence) if evidence is not None else None,
        "record": task.to_json(),
    }


def code_report_row(
    report: TestReport, *, attempt: int, solution: str = "agent", trajectory: str = ""
) -> Row:
    """`solution` says whose it is: agent, empty or gold."""
    said = Counter(outcome.outcome for outcome in report.outcomes)
    return {
        "task": report.task,
        "attempt": attempt,
        "solution": solution,
        "trajectory": trajectory or None,
        "status": str(report.status),
        "passed": said["passed"],
        "failed": said["failed"] + said["error"],
        "missing": said["missing"] + said["skipped"],
        "exit_code": report.exit_code,
        "agreed": report.agreed,
        "reason": report.reason,
        "image_digest": report.image_digest,
        "record": report.to_json(),
    }


def model_call_row(call: Record) -> Row:
    """A row of the ledger (`pipeline.models.ModelCall`): its fields are the columns, `latency` is called `seconds`."""
    row: Row = call.model_dump(mode="json")
    row["seconds"] = row.pop("latency")
    return {**row, "error": row["error"] or None}


def failure_row(
    stage: str, kind: str, message: str, *, subject: str = "", owner: str = "", detail: Any = None
) -> Row:
    return {
        "stage": stage,
        "kind": kind,
        "subject": subject or None,
        "owner": owner or None,
        "message": message,
        "detail": canonical_json(detail) if detail is not None else None,
    }


def funnel_row(
    stage: str,
    *,
    entered: int,
    kept: int,
    rejected: int,
    failed: int,
    pending: int = 0,
    tokens: int = 0,
    cost: float = 0.0,
) -> Row:
    """One unit's part of the funnel. Raises ValueError unless entered = kept + rejected + failed + pending."""
    if entered != kept + rejected + failed + pending:
        raise ValueError(
            f"{stage}: {entered} entered, but {kept}+{rejected}+{failed}+{pending} are accounted for"
        )
    return {
        "stage": stage,
        "entered": entered,
        "kept": kept,
        "rejected": rejected,
        "failed": failed,
        "pending": pending,
        "tokens": tokens,
        "cost": cost,
    }
