"""How hard a task is, along named axes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pipeline.records import Fact, Fault, Goal, ReferenceCall, Toolset, World


def axes_of(
    world: World,
    goals: Sequence[Goal],
    calls: Sequence[ReferenceCall],
    facts: Sequence[Fact],
    faults: Sequence[Fault],
    toolset: Toolset,
    worlds: int,
    distractors: int,
) -> dict[str, float]:
    """The values of all axes; `worlds` are those the goals are about."""
    values = {
        "goals": len(goals),
        "calls": sum(not call.withdrawn for call in calls),
        "hops": sum(any(source.kind == "read" for source in call.sources.values()) for call in calls),
        "entities": _entities(world, calls),
        "parallel": _parallel(world, calls),
        "hidden_facts": sum(fact.disclosure != "open" for fact in facts),
        "corrections": sum(fact.disclosure == "corrected" for fact in facts),
        "changes_of_mind": sum(fact.disclosure == "changed" for fact in facts)
        + sum(goal.kind == "withdrawn" for goal in goals),
        "user_lookups": sum(bool(fact.device) for fact in facts),
        "user_deeds": sum(len(goal.devices) for goal in goals),
        "consents": sum(len(goal.consent) for goal in goals),
        "policy_conflicts": sum(goal.kind == "refuse" for goal in goals),
        "impossible": sum(goal.kind == "blocked" for goal in goals),
        "unserved": sum(goal.kind == "unserved" for goal in goals),
        "talk": sum(goal.kind == "talk" for goal in goals),
        "recoveries": sum(not fault.permanent and fault.kind != "changed" for fault in faults),
        "worlds": worlds,
        "tools": len(toolset.tools),
        "distractors": distractors,
    }
    return {name: float(value) for name, value in values.items()}


def _entities(world: World, calls: Sequence[ReferenceCall]) -> int:
    """Rows of the worlds that the calls name."""
    named = set()
    for call in calls:
        words = world.words.tools.get(call.tool)
        for name, value in call.arguments.items():
            about = words.arguments.get(name) if words else None
            if about is not None and about.source and isinstance(value, str | int | float):
                named.add((about.source, value))
    return len(named)


def _parallel(world: World, calls: Sequence[ReferenceCall]) -> int:
    """The most lookups of one goal that need no result of another, hence fit into one turn."""
    ready: dict[int, int] = {}
    for call in calls:
        free = all(source.kind != "read" for source in call.sources.values())
        if free and world.tool_by_name[call.tool].annotations.read_only:
            ready[call.goal] = ready.get(call.goal, 0) + 1
    return max(ready.values(), default=0)


def difficulty(axes: Mapping[str, float]) -> str:
    """One of four steps, by a weighted sum of the axes."""
    score = (
        axes["calls"]
        + 1.5 * (axes["goals"] - 1)
        + 0.5 * axes["hidden_facts"]
        + axes["corrections"]
        + axes["changes_of_mind"]
        + axes["consents"]
        + axes["policy_conflicts"]
        + axes["impossible"]
        + 1.5 * axes["recoveries"]
        + 1.5 * (axes["worlds"] - 1)
        + 0.05 * axes["distractors"]
    )
    return "simple" if score < 3 else "moderate" if score < 5.5 else "hard" if score < 9 else "expert"
