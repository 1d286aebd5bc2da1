"""Tasks: how many, of which kinds, with which tools and faults."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, field_validator

from pipeline.config.section import Section, Weights

FAULTS = (
    "error", "rate_limit", "timeout_before", "timeout_after", "partial", "truncated", "stale", "denied", "outage",
    "changed",
)  # fmt: skip


class TasksConfig(Section):
    count: int = Field(default=240, ge=1)
    """Tasks to propose, spread evenly over the worlds."""
    goal_counts: Weights[Annotated[int, Field(ge=1, le=8)]] = {1: 0.5, 2: 0.35, 3: 0.15}
    """Weight of tasks with so many goals."""
    goal_kinds: Weights[Literal["act", "ask", "refuse", "unserved", "talk"]] = {
        "act": 0.58,
        "ask": 0.2,
        "refuse": 0.1,
        "unserved": 0.06,
        "talk": 0.06,
    }
    """Weights of what the user wants."""
    axes: dict[str, dict[int, float]] = {}
    """How often a task with such a value of an axis is kept when it is drawn, from 0 to 1, for any axis (calls, hops,
    entities, parallel, hidden_facts, corrections, changes_of_mind, user_lookups, user_deeds, consents, policy_conflicts,
    impossible, unserved, talk, recoveries, worlds, tools, distractors): `hops: {0: 0.2, 2: 1}` keeps a fifth of those
    with no or one hop. A value takes the chance of the largest smaller one that is listed; axes left out are free."""
    toolsets: Weights[Literal["own", "mixed", "two"]] = {"own": 0.5, "mixed": 0.35, "two": 0.15}
    """Weights: the tools of the task's world alone; with distractors from other worlds; goals in two worlds that begin
    on the same day (most have such a neighbor), with distractors. `tracemill stats` sets what was reached beside it."""
    distractors: Weights[Annotated[int, Field(ge=0)]] = {3: 0.3, 8: 0.35, 15: 0.25, 30: 0.1}
    """Weight of toolsets of several worlds with so many distractors, found by similarity."""
    neighbors: int = Field(default=48, ge=0)
    """Worlds among which a unit of work looks for distractors and second worlds."""
    fault_rate: float = Field(default=0.3, ge=0, le=1)
    """Share of tasks with injected faults, as far as one fits."""
    fault_counts: Weights[Annotated[int, Field(ge=1, le=8)]] = {1: 0.7, 2: 0.2, 3: 0.1}
    """Weight of so many faults in a task that has some, each at a call of its own, as far as they fit together."""
    faults: Weights[str] = {
        "error": 1.0,
        "rate_limit": 1.0,
        "timeout_before": 1.0,
        "timeout_after": 1.0,
        "partial": 0.6,
        "truncated": 0.3,
        "stale": 0.6,
        "denied": 0.5,
        "outage": 0.5,
        "changed": 0.6,
    }
    """Weights of the kinds of faults: passing errors, rate limits, time-outs before and after the commit, lists cut
    with and without a word, answers from the past, permission lost, a lasting outage, somebody else being first."""
    fault_tools: dict[str, Annotated[float, Field(ge=0, allow_inf_nan=False)]] = {}
    """Factors by tool name, for patterns like `find_*`: where faults happen more often, less often, or never (0)."""
    languages: Weights[str] = {"en": 0.4, "de": 0.2, "es": 0.2, "fr": 0.2}
    """Weights of the user's language in worlds that can be had in it (the files of `tools_repo/speech/worlds`: the town
    library, the clinic, the credit union, the hotel); users of all other worlds speak English."""
    change_rate: float = Field(default=0.25, ge=0, le=1)
    """Share of tasks in which the user changes their mind when asked for a yes, as far as the agent has to ask."""
    device_rate: float = Field(default=0.3, ge=0, le=1)
    """Share of numbers and codes that the user looks up with a tool of their own when asked."""
    max_passing_mutations: float = Field(default=0.2, ge=0, le=1)
    """A task is rejected when more of its non-equivalent mutated references pass."""

    @field_validator("faults")
    @classmethod
    def _known_faults(cls, value: dict[str, float]) -> dict[str, float]:
        unknown = sorted(set(value) - set(FAULTS))
        if unknown:
            raise ValueError(f"unknown kind {unknown[0]!r}; kinds: {', '.join(FAULTS)}")
        return value

    @field_validator("axes")
    @classmethod
    def _known_axes(cls, value: dict[str, dict[int, float]]) -> dict[str, dict[int, float]]:
        unknown = sorted(set(value) - set(AXES))
        if unknown:
            raise ValueError(f"unknown axis {unknown[0]!r}; axes: {', '.join(AXES)}")
        return value

    def keeps(self, values: dict[str, float]) -> float:
        """The chance that a task with these values of the axes is kept."""
        chance = 1.0
        for axis, listed in self.axes.items():
            below = [number for number in listed if number <= values.get(axis, 0.0)]
            chance *= listed[max(below)] if below else 0.0
        return chance


AXES = (
    "goals", "calls", "hops", "entities", "parallel", "hidden_facts", "corrections", "changes_of_mind", "user_lookups",
    "user_deeds", "consents", "policy_conflicts", "impossible", "unserved", "talk", "recoveries", "worlds", "tools", "distractors",
)  # fmt: skip
"""The axes along which tasks differ, as they stand in the column `axes` of `tasks`."""
