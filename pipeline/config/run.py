"""Sections about the run as a whole, and the small ones."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field

from pipeline.config.section import Section


class RunConfig(Section):
    """How work is spread and when it stops."""

    workers: int = Field(default=0, ge=0)
    """Processes for shards; 0: one per core."""
    runner: Literal["process", "thread", "ray", "dask"] = "process"
    """Prefect task runner; `thread` does one unit after the other in this process. Ray and Dask need their package,
    and workers with one thread each."""
    max_cost: float | None = Field(default=None, gt=0)
    max_tokens: int | None = Field(default=None, gt=0)
    max_errors: int | None = Field(default=None, ge=0)
    deadline: float | None = Field(default=None, gt=0)
    """Seconds after which an execution of the run pauses; live episodes stop before their next turn."""
    resume_paused: bool = False
    """Whether episodes that paused at a limit of one part are taken up (`--resume-paused`)."""
    accept_changes: bool = False
    """Whether begun episodes go on although something that shaped them has changed (`--accept-changes`)."""


class WorldsConfig(Section):
    """Hand-written worlds."""

    paths: tuple[Path, ...] = ()
    """World files or folders; empty: those that ship with tracemill."""
    only: tuple[str, ...] = ()
    """Names of worlds to use; empty: all."""


class EvolveConfig(Section):
    """Worlds made by the author."""

    tools: int = Field(default=0, ge=0)
    """How many evolved tools to make, in worlds of 6 to 15 tools each."""
    mcp: bool = False
    """Whether `run tools` also launches the MCP servers of `tools.ingest`."""


class CodeConfig(Section):
    """Code tasks in containers."""

    enabled: bool = True
    """Whether the flow `all` has them; `tracemill run all` says no by itself where no Docker engine answers."""
    tasks: tuple[Path, ...] = ()
    """Task files or folders; empty: those that ship with tracemill, or none when `authored` asks for some."""
    authored: int = Field(default=0, ge=0, le=10_000)
    """Code tasks to ask the model in `roles.author` for; each is admitted by its runs, and `author.repairs` says how
    often the model is shown why it was not."""
    authored_tokens: int = Field(default=6000, ge=256)
    """Tokens of one such answer."""
    attempts: int = Field(default=2, ge=1)
    shard_tasks: int = Field(default=5, ge=1)
    flaw_rate: float = Field(default=0.3, ge=0, le=1)
    """Share of teacher attempts that fail in a labeled way."""
