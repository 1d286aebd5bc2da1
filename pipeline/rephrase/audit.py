"""The human audit: a drawn sample of rewritings goes out, answers come back and measure the checker.

Plain JSON Lines: one row a rewriting (the refused one where the source text was kept), with source and findings; a person fills `answer` with
`accept`, or `reject` and the kind of error.
"""

from __future__ import annotations

import json
import math
import random
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pipeline.records import ConfigError, InputError

Row = dict[str, Any]

ANSWERS = ("accept", "reject")
_Z95 = 1.959964


def draw(rewrites: Sequence[Mapping[str, Any]], share: float, seed: int, *, least: int = 1) -> list[Row]:
    """A stratified sample of rewriting rows: `share` of each (style, verdict), at least `least` where there are any."""
    strata: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in rewrites:
        strata[str(row["style"]), str(row["fidelity"] or row["verdict"])].append(dict(row))
    drawn: list[Row] = []
    for (style, verdict), rows in sorted(strata.items()):
        rows.sort(key=lambda row: str(row["id"]))
        count = min(len(rows), max(least, math.ceil(share * len(rows))))
        drawn += random.Random(f"{seed} {style} {verdict}").sample(rows, count)
    return sorted(drawn, key=lambda row: str(row["id"]))


def export_audit(
    rewrites: Sequence[Mapping[str, Any]],
    findings: Iterable[Mapping[str, Any]],
    file: Path,
    *,
    share: float = 0.05,
    seed: int = 0,
) -> int:
    """Writes a sample of `rewrites` with their `findings` to `file` (JSON Lines); returns the number of rows.

    Rows are those of the tables `rewrites` and `findings`. Raises ConfigError when the file exists.
    """
    if file.exists():
        raise ConfigError(f"{file} exists.", way_out="Give a new file name; answers are never overwritten.")
    by_rewrite: dict[str, list[Row]] = defaultdict(list)
    for finding in findings:
        by_rewrite[str(finding["rewrite"])].append({key: finding[key] for key in _FINDING if key in finding})
    rows = draw(rewrites, share, seed)
    text = "".join(_line(row, by_rewrite[str(row["id"])]) for row in rows)
    file.write_text(text, encoding="utf-8")
    return len(rows)


_FINDING = (
    "kind",
    "direction",
    "severity",
    "message",
    "source_text",
    "rewrite_text",
    "source_start",
    "source_end",
)


def _line(row: Row, findings: list[Row]) -> str:
    shown = {
        "id": row["id"],
        "document": row["document"],
        "chunk": row["chunk"],
        "style": row["style"],
        "source": row.get("source_text", ""),
        "rewriting": row.get("refused_text") or row["text"],
        "verdict": row["verdict"],
        "fidelity": row["fidelity"],
        "findings": findings,
        "answer": "",
        "error": "",
        "auditor": "",
    }
    return json.dumps(shown, ensure_ascii=False) + "\n"


def import_audit(file: Path) -> list[Row]:
    """The answered rows of an audit file, for the table `audits`; rows without an answer are left out.

    Raises InputError for a row that is broken or has an answer other than accept or reject.
    """
    rows: list[Row] = []
    for number, line in enumerate(file.read_text(encoding="utf-8").split("\n"), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            answer, key = str(row["answer"]).strip().lower(), str(row["id"])
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(f"{file.name} line {number} is no audit row: {error!r}") from error
        if not answer:
            continue
        if answer not in ANSWERS:
            raise InputError(
                f"{file.name} line {number} answers {answer!r}.",
                way_out="An answer is accept or reject; the kind goes to error.",
            )
        rows.append(
            {
                "rewrite": key,
                "style": str(row.get("style", "")),
                "verdict": str(row.get("verdict", "")),
                "fidelity": str(row.get("fidelity", "")),
                "answer": answer,
                "error": str(row.get("error", "")),
                "auditor": str(row.get("auditor", "")),
            }
        )
    return rows


def measure(audits: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """What the answers say of the checker, over all and by style.

    `misses`: share of rewritings that a person rejects among those the checker passed. `false_alarms`: share that a
    person accepts among those it failed. Each with its count and a 95 % Wilson interval; None where nothing was seen.
    """
    groups: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for row in audits:
        groups[""].append(row)
        groups[str(row["style"])].append(row)
    styles = {style: _measured(rows) for style, rows in sorted(groups.items()) if style}
    return {**_measured(groups[""]), "by_style": styles}


def _measured(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    passed = [row["answer"] == "reject" for row in rows if row["fidelity"] == "faithful"]
    failed = [row["answer"] == "accept" for row in rows if row["fidelity"] == "unfaithful"]
    return {"misses": _share(passed), "false_alarms": _share(failed), "n": len(rows)}


def _share(flags: list[bool]) -> dict[str, Any] | None:
    if not flags:
        return None
    low, high = wilson(sum(flags), len(flags))
    return {
        "share": round(sum(flags) / len(flags), 4),
        "ci95": [round(low, 4), round(high, 4)],
        "n": len(flags),
    }


def wilson(hits: int, count: int) -> tuple[float, float]:
    """95 % interval of a share (Wilson 1927)."""
    share, z2 = hits / count, _Z95**2
    middle = (share + z2 / (2 * count)) / (1 + z2 / count)
    reach = _Z95 * math.sqrt(share * (1 - share) / count + z2 / (4 * count**2)) / (1 + z2 / count)
    return max(0.0, middle - reach), min(1.0, middle + reach)
