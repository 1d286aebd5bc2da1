"""Small records for the tests of the store."""

from __future__ import annotations

from typing import Any

from pipeline.records import (
    AgentProfile,
    Domain,
    EndReason,
    Event,
    Fault,
    Goal,
    InjectedFault,
    Judgement,
    Owner,
    Persona,
    Provenance,
    Rubric,
    Snapshot,
    StateCheck,
    Task,
    ToolAnnotations,
    ToolCall,
    Toolset,
    ToolSpec,
    Trajectory,
    Usage,
    Value,
    Verdict,
    Versions,
    World,
    trajectory_id,
)


def tool(name: str = "cancel_visit", **changes: Any) -> ToolSpec:
    schema = {"type": "object", "properties": {"visit_id": {"type": "string"}}, "required": ["visit_id"]}
    fields: dict[str, Any] = {
        "name": name,
        "description": f"{name.replace('_', ' ')}.",
        "input_schema": schema,
        "provenance": Provenance(source="evolved", domain="health/animal care/clinic", author="hand"),
        "annotations": ToolAnnotations(destructive=name.startswith("cancel")),
    }
    return ToolSpec(**{**fields, **changes})


def world(name: str = "clinic", table: str = "visits", **changes: Any) -> World:
    fields: dict[str, Any] = {
        "name": name,
        "domain": Domain(path="health/animal care/clinic"),
        "clock": "2026-03-02T08:00:00",
        "schema_sql": f"create table {table}({table}_id text primary key, status text not null check (status in ('a', 'b')));",
        "seed": {table: ({f"{table}_id": "V1", "status": "a"},)},
        "tools": (tool("find_visit"), tool()),
    }
    return World(**{**fields, **changes})


def task(number: int = 0, of: World | None = None, difficulty: str = "simple") -> Task:
    place = of or world()
    agent = AgentProfile(
        name="desk", system_prompt="You are the desk of a clinic.", toolset=Toolset(tools=place.tools)
    )
    return Task(
        world=place.id,
        world_name=place.name,
        agent=agent,
        persona=Persona(name="Ana", style="terse"),
        goals=(Goal(intent=f"cancel visit V{number}", kind="act"),),
        axes={"calls": 2.0},
        difficulty=difficulty,  # type: ignore[arg-type]
        faults=(Fault(tool="find_visit", nth=1, kind="rate_limit", wait=5.0),),
        rubric=Rubric(
            checks=(StateCheck(name="gone", sql=f"select count(*) = 0 from visits where id = 'V{number}'"),)
        ),
    )


def _call(number: int, name: str, **arguments: Any) -> ToolCall:
    import json

    return ToolCall(id=f"call_{number}", name=name, raw=json.dumps(arguments), arguments=arguments)


def trajectory(of: Task, attempt: int = 0, seed: int = 7) -> Trajectory:
    """A user asks, a read meets a rate limit, is tried again, a write works, the agent says so."""
    intent = of.goals[0].intent
    visit = intent.split()[-1]
    fault = InjectedFault(tool="find_visit", nth=1, kind="rate_limit")
    events = (
        Event(index=0, turn=0, role="system", content=of.agent.system_prompt),
        Event(index=1, turn=0, role="user", content=f"Please {intent}, attempt {attempt}."),
        Event(index=2, turn=0, role="assistant", calls=(_call(0, "find_visit", visit_id=visit),)),
        Event(
            index=3,
            turn=0,
            role="tool",
            content='{"error":{"code":"RATE_LIMITED","message":"wait 5 s"}}',
            call_id="call_0",
            name="find_visit",
            ok=False,
            error_code="RATE_LIMITED",
            fault=fault,
            before="s0",
            after="s0",
        ),
        Event(
            index=4,
            turn=0,
            role="assistant",
            content="One moment.",
            calls=(_call(0, "find_visit", visit_id=visit), _call(1, "cancel_visit", visit_id=visit)),
            loss=True,
            usage=Usage(tokens_in=90, tokens_out=12, cost=0.001),
            logprobs=(-0.5, -0.25),
        ),
        Event(
            index=5,
            turn=0,
            role="tool",
            content='{"visit_id":"V1"}',
            call_id="call_0",
            name="find_visit",
            ok=True,
            before="s0",
            after="s0",
        ),
        Event(
            index=6,
            turn=0,
            role="tool",
            content='{"status":"cancelled"}',
            call_id="call_1",
            name="cancel_visit",
            ok=True,
            before="s0",
            after="s1",
        ),
        Event(index=7, turn=0, role="assistant", content=f"{visit} is cancelled.", loss=True),
    )
    return Trajectory(
        id=trajectory_id(of.id, attempt, seed),
        task=of.id,
        world=of.world,
        world_name=of.world_name,
        attempt=attempt,
        seed=seed,
        events=events,
        end_reason=EndReason.USER_DONE,
        versions=Versions(world=of.world, policy="teacher", seed=seed),
        usage=Usage(tokens_in=90, tokens_out=12, cost=0.001),
    )


def judgement(of: Trajectory, value: Value = Value.PASS, owner: Owner | None = None) -> Judgement:
    return Judgement(
        trajectory=of.id,
        verdicts=(Verdict(check="gone", kind="state", value=value, evidence=(6,)),),
        value=value,
        owner=owner,
        reward=1.0 if value is Value.PASS else 0.0,
    )


def snapshot(ref: str) -> Snapshot:
    return Snapshot(
        ref=ref, state=f"h_{ref}", world="w", clock="2026-03-02T08:00:00", rows=(["visits", "V1", None],)
    )
