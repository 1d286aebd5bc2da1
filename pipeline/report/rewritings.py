"""The rewritings of the report: source and text beside each other, findings, and the sample for the audit."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

from pipeline.rephrase.audit import draw
from pipeline.report.blocks import block, columns
from pipeline.store import RunFolder

PER_BLOCK = 24
_INDEX = (
    "id", "document", "chunk", "style", "verdict", "fidelity", "reason", "heading", "score", "coverage", "overlap",
    "findings", "attempts", "tokens", "tokens_source",
)  # fmt: skip
_FINDING = (
    "kind", "direction", "severity", "message", "source_text", "rewrite_text", "source_start", "source_end",
    "rewrite_start", "rewrite_end",
)  # fmt: skip


@dataclass(frozen=True)
class Rewritings:
    """Index and blocks of a run's rewritings; both are empty where there are none."""

    index: str
    blocks: list[str]
    shown: int


def rewritings(folder: RunFolder, limit: int, share: float, seed: int) -> Rewritings:
    """At most `limit` rewritings with the seeded, stratified audit sample of `pipeline.rephrase.audit`."""
    rows = sorted(
        folder.rows("rewrites"), key=lambda row: (row["document"], row["chunk"], row["style"], row["id"])
    )
    sample = {row["id"] for row in draw(rows, share, seed)} if rows else set()
    if len(rows) > limit:
        rows = [row for row in rows if row["id"] in sample][:limit]
    found: dict[str, list[list[Any]]] = defaultdict(list)
    for finding in folder.rows("findings"):
        found[finding["rewrite"]].append([finding[key] for key in _FINDING])
    for row in rows:
        row |= {key: row[key] or "" for key in ("fidelity", "reason", "heading")}
    titles = {
        row["id"]: row["title"] or row["source"]
        for row in folder.rows("documents", columns=("id", "title", "source"))
    }
    index = block(
        "rewrite-index",
        {
            "rows": len(rows),
            "per_block": PER_BLOCK,
            "columns": columns(rows, _INDEX),
            "titles": titles,
            "sample": [number for number, row in enumerate(rows) if row["id"] in sample],
        },
    )
    blocks = [
        block(
            f"rewrite-block-{start // PER_BLOCK}",
            [
                [row["source_text"] or "", row["refused_text"] or row["text"] or "", found[row["id"]]]
                for row in rows[start : start + PER_BLOCK]
            ],
        )
        for start in range(0, len(rows), PER_BLOCK)
    ]
    return Rewritings(index, blocks, len(rows))
