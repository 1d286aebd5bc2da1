"""Tasks: how many, of which kinds, with which faults."""

from __future__ import annotations

from pydantic import Field

from pipeline.config.section import Section


class TasksConfig(Section):
    count: int = Field(default=240, ge=1)
    """Tasks to propose, spread evenly over the worlds."""
    goal_counts: dict[int, float] = {1: 0.5, 2: 0.35, 3: 0.15}
    """Weight of tasks with so many goals."""
    goal_kinds: dict[str, float] = {"act": 0.58, "ask": 0.2, "refuse": 0.1, "unserved": 0.06, "talk": 0.06}
    """Weights of what the user wants."""
    fault_rate: float = Field(default=0.3, ge=0, le=1)
    """Share of tasks with an injected fault."""
    max_passing_mutations: float = Field(default=0.2, ge=0, le=1)
    """A task is rejected when more of its non-equivalent mutated references pass."""
