"""Played tools: tasks on real MCP tools whose state is simulated, and how far a simulator is believed."""

from __future__ import annotations

from pydantic import Field

from pipeline.config.section import Section


class SimulatedConfig(Section):
    """Tools that have no implementation here. The role `simulator` answers their calls, the engine owns the state."""

    tasks: int = Field(default=0, ge=0)
    """Tasks to propose on the MCP tools of the run (`--mcp`, `--mcp-dump`), spread evenly over toolsets; 0: none."""
    tools: int = Field(default=14, ge=4, le=64)
    """Tools of one toolset, at most."""
    toolsets: int = Field(default=60, ge=1)
    """Toolsets to make, at most."""
    repairs: int = Field(default=2, ge=0, le=10)
    """How often a simulator is told what is wrong with its answer to one call, before it counts as a defect."""
    rows: int = Field(default=30, ge=1)
    """Rows of one table that a simulator is shown."""
    characters: int = Field(default=12_000, ge=500)
    """All rows that it is shown, as JSON."""
    fidelity_calls: int = Field(default=0, ge=0)
    """Calls of each SQL world that are also given to the simulator, and compared (the stage `environment`)."""
