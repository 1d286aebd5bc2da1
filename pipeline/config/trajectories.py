"""Trajectories: attempts and limits of an episode."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from pipeline.config.section import Section


class LimitsConfig(Section):
    """Where an episode ends, and where it pauses (`seconds`, `pause_after_…`)."""

    turns: int = Field(default=60, ge=1)
    """Assistant messages."""
    calls: int = Field(default=120, ge=1)
    calls_per_turn: int = Field(default=32, ge=1)
    equal_calls: int = Field(default=5, ge=2)
    """The same call with the same arguments so many times in a row is a loop."""
    tokens: int = Field(default=200_000, ge=1)
    cost: float = Field(default=10.0, gt=0)
    result_chars: int = Field(default=20_000, ge=200)
    """A longer tool result is cut, with a marker."""
    argument_chars: int = Field(default=100_000, ge=1_000)
    """Longer arguments of a call are refused, and not kept in full."""
    user_chars: int = Field(default=20_000, ge=200)
    """A longer message of the user is no message, and asked for once more."""
    seconds: float = Field(default=1_800.0, gt=0)
    """Wall time; then the episode pauses."""
    pause_after_turns: int | None = Field(default=None, ge=1)
    """Pause after so many assistant messages (partial rollout). A paused episode is set aside, its unit goes on
    without it, and `--resume-paused` takes it up where it stood; the limits then count anew."""
    pause_after_tokens: int | None = Field(default=None, ge=1)
    pause_after_cost: float | None = Field(default=None, gt=0)


class LiveConfig(Section):
    """Real MCP servers as tool hosts; how they are launched stands in `tools.ingest`."""

    tasks: int = Field(default=0, ge=0)
    """Tasks to propose on the run's MCP servers themselves (`--mcp`), spread evenly; each is proven there. 0: none."""
    servers: tuple[str, ...] = ()
    """Names of the servers that tasks are made for; empty: all that could be listed."""
    tools: int = Field(default=14, ge=1, le=64)
    """Tools of one server that an agent is given, at most."""
    session: Literal["episode", "shared"] = "episode"
    """Whether each episode has a server to itself, or all episodes of a process use one."""
    episodes: int = Field(default=8, ge=1)
    """Episodes with live servers at once, per process."""
    seconds: float = Field(default=3_600.0, gt=0)
    """How long a server may live."""
    stateless: tuple[str, ...] = ()
    """Names of servers that keep no state: they serve one episode after the other without a restart."""


class TrajectoriesConfig(Section):
    attempts: int = Field(default=2, ge=1)
    """Attempts per task (k of pass@k)."""
    shard_tasks: int = Field(default=40, ge=1)
    """Tasks per shard: the unit of work and of resuming."""
    concurrency: int = Field(default=64, ge=1)
    """Live episodes per process."""
    flaw_rate: float = Field(default=0.15, ge=0, le=1)
    """Share of teacher attempts with a planted, labeled flaw, so that the filter has something to reject."""
    temperature: float | tuple[float, ...] | None = 0.8
    """Of model players: one for all attempts, or one for each (the last also for further ones). Every attempt has a
    seed of its own, which follows from the run's."""
    limits: LimitsConfig = LimitsConfig()
    live: LiveConfig = LiveConfig()

    def temperature_of(self, attempt: int) -> float | None:
        """The temperature of an attempt (from 0)."""
        if not isinstance(self.temperature, tuple):
            return self.temperature
        return self.temperature[min(attempt, len(self.temperature) - 1)] if self.temperature else None
