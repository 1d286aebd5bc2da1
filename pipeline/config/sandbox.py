"""The `sandbox` section: engines, limits of one container, and how many run at once."""

from __future__ import annotations

from pydantic import Field

from pipeline.config.section import Section


class SandboxSection(Section):
    """Containers for code. The defaults suit tests of small repositories on a 2-core machine."""

    hosts: tuple[str, ...] = ()
    """Engines to share the work, each as DOCKER_HOST writes it (`unix://…`, `tcp://…`, `ssh://…`).
    Empty: what the environment says, else the local engine."""
    runtime: str = ""
    """A container runtime the engine knows, e.g. `runsc` for gVisor. Empty: the engine's default."""
    memory_mb: int = Field(default=768, ge=64)
    """Memory of one container, its work areas included; there is no swap."""
    cpus: float = Field(default=1.0, gt=0)
    pids: int = Field(default=128, ge=16)
    open_files: int = Field(default=1024, ge=64)
    file_mb: int = Field(default=128, ge=1)
    """Largest single file."""
    work_mb: int = Field(default=192, ge=1)
    """Size of the work area, where the repository lies."""
    tmp_mb: int = Field(default=64, ge=1)
    output_kb: int = Field(default=256, ge=1)
    """How much of each output stream is kept; beyond it head and tail stay, with a marker between."""
    grace: float = Field(default=5.0, gt=0)
    """Seconds between the deadline inside the container and its destruction from outside."""
    lifetime: float = Field(default=3600.0, gt=0)
    """Seconds after which a container may be swept, whoever owns it."""
    parallel: int = Field(default=4, ge=1)
    """Containers in use at once, per engine."""
    ahead: int = Field(default=2, ge=0)
    """Containers started ahead, per engine."""
    patience: float = Field(default=120.0, gt=0)
    """Seconds for which an engine that went away (a restart, an upgrade) is waited for, when no other one answers."""
    retries: int = Field(default=2, ge=0)
    """How often a grade is tried again, on another engine where there is one, when the engine failed."""
    cache: str = ""
    """Folder of finished images. Empty: `tracemill/images` in the user's cache folder."""
