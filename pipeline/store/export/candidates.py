"""Which rows of the runs may go into a dataset, known from their metadata alone."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from pipeline.store.folder import RunFolder
from pipeline.store.shards import read_rows

Unit = tuple[int, str, int]
"""Index of the run, stage, number."""

_OTHER = re.compile(r"traj_\w+")
_COLUMNS = ("id", "task", "world", "world_id", "attempt", "passed", "owner", "reward", "calls", "toolset")


@dataclass(slots=True)
class Candidate:
    """An attempt (or a document, for text) that may become a row, and what decides about it."""

    id: str
    unit: Unit
    task: str
    group: str
    passed: bool | None
    owner: str | None
    reward: float
    calls: int
    attempt: int
    dropped: str = ""
    """Why it is not taken, a short fixed phrase; `detail` is the particular."""
    detail: str = ""
    partner: str = ""
    """Preference: the rejected attempt."""
    reason: str = ""
    split: str = ""


def attempts(runs: Sequence[RunFolder]) -> list[Candidate]:
    """All attempts of the runs, in order; `dropped` says why one cannot be taken.

    The latest judging counts. Where the selection of a run spoke, what it left out is left out.
    """
    found: list[Candidate] = []
    seen: set[str] = set()
    for index, run in enumerate(runs):
        skeletons = {row["id"]: row["skeleton"] for row in run.rows("worlds", columns=["id", "skeleton"])}
        judged = _latest_judgements(run)
        left_out = _left_out(run)
        for stage, number in run.units():
            path = run.unit(stage, number) / "trajectories.parquet"
            if not path.exists():
                continue
            for row in read_rows(path, _COLUMNS):
                row |= judged.get(row["id"], {})
                found.append(_candidate(row, (index, stage, number), skeletons))
                if row["id"] in seen:
                    found[-1].dropped = "the same attempt is in another run"
                elif row["id"] in left_out:
                    why = left_out[row["id"]]
                    found[-1].detail = why
                    found[-1].dropped = "left out by the selection: " + _OTHER.sub("another attempt", why)
                seen.add(row["id"])
    return found


def _candidate(row: dict[str, Any], unit: Unit, skeletons: dict[str, str]) -> Candidate:
    return Candidate(
        id=row["id"],
        unit=unit,
        task=row["task"],
        group=skeletons.get(row["world_id"]) or f"world:{row['world'] or row['toolset']}",
        passed=row["passed"],
        owner=row["owner"],
        reward=row["reward"] or 0.0,
        calls=row["calls"],
        attempt=row["attempt"],
    )


def _latest_judgements(run: RunFolder) -> dict[str, dict[str, Any]]:
    latest: dict[str, tuple[int, dict[str, Any]]] = {}
    for row in run.rows("judgements"):
        if row["round"] >= latest.get(row["trajectory"], (0, {}))[0]:
            latest[row["trajectory"]] = (
                row["round"],
                {name: row[name] for name in ("passed", "owner", "reward")},
            )
    return {name: values for name, (_, values) in latest.items()}


def _left_out(run: RunFolder) -> dict[str, str]:
    return {
        row["trajectory"]: row["reason"] or row["rule"] or ""
        for row in _latest_round(run, "selections")
        if row["kept"] is False
    }


def _latest_round(run: RunFolder, table: str) -> list[dict[str, Any]]:
    """The rows of a run's latest selection."""
    latest = max((number for _, number in run.units("selection")), default=0)
    return [row for row in run.rows(table) if (row["round"] or 0) == latest]


def only_passed(candidates: Sequence[Candidate]) -> None:
    """Drops what did not pass, with its reason."""
    for candidate in candidates:
        if not candidate.dropped and not candidate.passed:
            candidate.dropped = "not scored" if candidate.passed is None else "did not pass"


def pair_up(candidates: list[Candidate], runs: Sequence[RunFolder]) -> None:
    """Gives each chosen attempt its rejected partner, and drops the others; one that was chosen several times is there
    as often.

    Pairs of the table `pairs` where a run has them; else per task the best attempt that passed (reward, then fewest
    calls) against the first that failed by the agent's own fault.
    """
    by_id = {candidate.id: candidate for candidate in candidates}
    stated = [row for run in runs for row in _latest_round(run, "pairs")]
    if stated:
        for row in stated:
            chosen = by_id.get(row["chosen"])
            if not chosen or row["rejected"] not in by_id:
                continue
            if chosen.partner:
                chosen = replace(chosen)
                candidates.append(chosen)
            chosen.partner, chosen.reason = row["rejected"], row["reason"] or ""
    else:
        by_task: dict[str, list[Candidate]] = defaultdict(list)
        for candidate in candidates:
            by_task[candidate.task].append(candidate)
        for same in by_task.values():
            good = [one for one in same if one.passed and not one.dropped]
            bad = [one for one in same if one.passed is False and one.owner == "agent"]
            if good and bad:
                best = min(good, key=lambda one: (-one.reward, one.calls, one.attempt))
                best.partner = min(bad, key=lambda one: one.attempt).id
                best.reason = "passed against failed"
    for candidate in candidates:
        if not candidate.dropped and not candidate.partner:
            candidate.dropped = "in no pair"
