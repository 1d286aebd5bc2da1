"""What an export says of itself."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class ExportReport:
    """What an export did: rows per split, why others were dropped, what was scrubbed."""

    out: Path
    format: str
    rows: dict[str, int]
    dropped: dict[str, int]
    scrubbed: dict[str, int]
    groups: dict[str, int]
    """Held-out units (skeletons or documents) per split."""
