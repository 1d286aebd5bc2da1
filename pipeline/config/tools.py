"""Configuration of the tools stage: ingestion of MCP servers, and the repository."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field

from pipeline.config.section import Section


class IngestConfig(Section):
    """How MCP servers are launched and listed."""

    servers: Path | None = None
    """A file in the `mcpServers` form; not given: the shipped `tools_repo/mcp_servers.json`."""
    dumps: tuple[Path, ...] = ()
    """Saved `tools/list` answers (`.json`, `.jsonl`, also gzipped)."""
    parallel: int = Field(default=4, ge=1, le=64)
    """Servers running at once."""
    start_timeout: float = Field(default=30.0, gt=0)
    """Seconds until the handshake has to be answered; installing does not count."""
    call_timeout: float = Field(default=30.0, gt=0)
    """Seconds for each further request."""
    server_timeout: float = Field(default=120.0, gt=0)
    """Seconds that a server may live altogether."""
    install_timeout: float = Field(default=300.0, gt=0)
    """Seconds for installing one package."""
    memory_mb: int = Field(default=1024, ge=64)
    """Resident memory of one server and all its children."""
    max_line_mb: int = Field(default=8, ge=1)
    """Size of one message; a longer one costs the server its listing."""
    max_pages: int = Field(default=200, ge=1)
    max_tools: int = Field(default=20_000, ge=1)
    cache: Path | None = None
    """Where environments of packages are kept; not given: `~/.cache/tracemill/servers`."""
    isolate: Literal["process", "docker"] = "process"
    """`docker` runs each server in a container without network."""


class RepositoryConfig(Section):
    """When two tools count as one."""

    near_duplicate: float = Field(default=0.8, gt=0, le=1)
    """Jaccard similarity of description and argument shingles from which tools are near-duplicates."""
    permutations: int = Field(default=64, ge=16)
    """Length of the MinHash signature."""


class ToolsConfig(Section):
    """The tools stage."""

    ingest: IngestConfig = IngestConfig()
    repository: RepositoryConfig = RepositoryConfig()
