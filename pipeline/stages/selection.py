"""The stage `selection`: what a run's attempts say of its tasks, which of them are kept, and preference pairs.

Unit 0 is the run's own. Judging again selects again, and so does a resumed run; the latest unit counts.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence

from pipeline.judging.quality import AttemptOutcome, TaskQuality, task_quality
from pipeline.judging.selection import Candidate, Choice, preference_pairs, select
from pipeline.records import Owner, Value
from pipeline.stages.context import Context, Tally
from pipeline.stages.stored import latest_judgements, stored
from pipeline.store import Row, failure_row, gather

STAGE = "selection"
_NAMES = {"faulty": "task quarantined", "hopeless": "task set aside", "trivial": "task set aside"}


def selection_units(context: Context) -> int:
    """One, where attempts have been made; one more when others have passed since the last."""
    attempts = list(context.folder.rows("trajectories", columns=("id", "value")))
    done = [number for _, number in context.folder.units(STAGE)]
    if not attempts or not done:
        return int(bool(attempts))
    latest = latest_judgements(context.folder)
    passed = {row["id"] for row in attempts if latest.get(row["id"], row)["value"] == Value.PASS}
    known = {row["trajectory"] for row in context.folder.rows("selections") if row["round"] == max(done)}
    return 1 + max(done) + (passed != known)


async def selection_unit(context: Context, number: int) -> None:
    """Pass rates and standings of tasks, kept attempts, preference pairs."""
    _write(context, number)


def write_selection(context: Context) -> int:
    """Selects anew, by the latest judging; the number of the unit."""
    number = 1 + max((number for _, number in context.folder.units(STAGE)), default=-1)
    _write(context, number)
    return number


def qualities(context: Context) -> list[TaskQuality]:
    """What the attempts of a run say of its tasks."""
    latest = latest_judgements(context.folder)
    outcomes = []
    for row in context.folder.rows("trajectories"):
        judged = latest.get(row["id"], row)
        if judged["value"]:
            outcomes.append(
                AttemptOutcome(
                    row["id"],
                    row["task"],
                    Value(judged["value"]),
                    Owner(judged["owner"]) if judged["owner"] else None,
                    judged["reason"] or "",
                    not json.loads(row["planted"] or "[]"),
                )
            )
    return task_quality(outcomes, context.config.judging.quality)


def _write(context: Context, number: int) -> None:
    config, tally = context.config.judging.selection, Tally(STAGE)
    standing = {one.task: one for one in qualities(context)}
    rows: list[Row] = []
    pairs: list[Row] = []
    for candidates in _by_task(context):
        found = _choices(select(candidates, config), candidates, standing, config.rule, number, tally)
        chosen = {row["trajectory"] for row in found if row["kept"]}
        usable = [one for one in candidates if one.id in chosen or one.value is Value.FAIL]
        rows += found
        pairs += [
            {"round": number, "task": p.task, "chosen": p.chosen, "rejected": p.rejected, "shared": p.shared}
            | {"reason": p.reason}
            for p in preference_pairs(usable, config)
        ]
    aside = [_aside(one) for one in standing.values() if one.standing in _NAMES]
    measures = [one.row() for one in standing.values()]
    tables = {"selections": rows, "pairs": pairs, "measures": measures, "failures": aside}
    context.folder.write_shard(STAGE, number, gather([tables, tally.tables()]))


def _by_task(context: Context) -> Iterator[list[Candidate]]:
    """The judged attempts at one task after the other: no more are held than belong to tasks not yet complete."""
    expected = Counter(row["task"] for row in context.folder.rows("trajectories", columns=("task",)))
    latest = latest_judgements(context.folder)
    open_tasks: dict[str, list[Candidate]] = defaultdict(list)
    for one in stored(context, world_tasks_only=False):
        task = one.trajectory.task
        judged = latest.get(one.trajectory.id, one.row)
        if judged["value"]:
            value, reason = Value(judged["value"]), judged["reason"] or ""
            open_tasks[task].append(Candidate(one.trajectory, value, judged["reward"] or 0.0, reason))
        expected[task] -= 1
        if not expected[task] and task in open_tasks:
            yield open_tasks.pop(task)
    yield from open_tasks.values()


def _choices(
    choices: Sequence[Choice],
    candidates: Sequence[Candidate],
    standing: Mapping[str, TaskQuality],
    rule: str,
    number: int,
    tally: Tally,
) -> list[Row]:
    """A row for each attempt that passed; those of a task that is set aside are left out."""
    rows: list[Row] = []
    passed = {one.id for one in candidates if one.value is Value.PASS}
    for choice in choices:
        if choice.trajectory not in passed:
            continue
        kept, reason = choice.kept, choice.reason
        quality = standing.get(choice.task)
        if quality is not None and quality.standing in _NAMES:
            kept, reason = False, f"the task is {quality.standing}"
        if kept:
            tally.keep()
        else:
            tally.reject("left out", reason, subject=choice.trajectory)
        row = {"trajectory": choice.trajectory, "task": choice.task, "round": number, "kept": kept}
        rows.append(row | {"rule": rule, "reason": reason, "pass_rate": choice.pass_rate})
    return rows


def _aside(quality: TaskQuality) -> Row:
    """A task that is not used, with the attempts that speak against it."""
    share = quality.passed
    blamed = ", ".join(f"{count} by {owner}" for owner, count in quality.blamed.items())
    message = f"the task is {quality.standing}: {share.count} of {share.of} attempts passed"
    owner = max(quality.blamed, key=lambda name: quality.blamed[name], default="")
    return failure_row(
        STAGE,
        _NAMES[quality.standing],
        f"{message}; not passed: {blamed}" if blamed else message,
        subject=quality.task,
        owner=owner,
        detail={"standing": quality.standing, "evidence": list(quality.evidence)},
    )
