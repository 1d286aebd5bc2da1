"""What a run of rewritings came to: coverage and token yield, by style and by document."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

Row = Mapping[str, Any]


def by_style(rewrites: Iterable[Row]) -> list[dict[str, Any]]:
    """One row a style: chunks, kept chunks, mean coverage of the kept, tokens in and out, reasons of the others.

    `yield` is tokens of kept rewritings per token of source; a chunk whose source was kept yields nothing new.
    """
    return [{"style": style, **_figures(rows)} for style, rows in sorted(_grouped(rewrites, "style").items())]


def by_document(rewrites: Iterable[Row]) -> list[dict[str, Any]]:
    """One row a document: the same figures over all its styles."""
    return [
        {"document": name, **_figures(rows)} for name, rows in sorted(_grouped(rewrites, "document").items())
    ]


def _grouped(rows: Iterable[Row], key: str) -> dict[str, list[Row]]:
    groups: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        groups[str(row[key])].append(row)
    return groups


def _figures(rows: list[Row]) -> dict[str, Any]:
    kept = [row for row in rows if row["verdict"] == "kept"]
    covered = [float(row["coverage"]) for row in kept if row["coverage"] is not None]
    source = sum(int(row["tokens_source"]) for row in rows)
    made = sum(int(row["tokens"]) for row in kept)
    reasons = Counter(
        str(row["reason"]).split(":")[0].split("(")[0].strip() for row in rows if row["verdict"] != "kept"
    )
    return {
        "chunks": len(rows),
        "kept": len(kept),
        "coverage": round(sum(covered) / len(covered), 4) if covered else None,
        "tokens_source": source,
        "tokens": made,
        "yield": round(made / source, 4) if source else 0.0,
        "reasons": dict(reasons.most_common()),
    }
