"""People's labels beside the verdicts of a run: a sample out, the labels in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pipeline.judging.agreement import Labelled, read_labels, sample
from pipeline.judging.differences import differences
from pipeline.judging.labelling import Question, Shown, criterion, to_csv, to_html
from pipeline.models.players.judge import event_line
from pipeline.records import Check, InputError, RunError
from pipeline.stages.context import Context
from pipeline.stages.judging import STAGE as JUDGING
from pipeline.stages.stored import Stored, stored
from pipeline.store import Row, RunFolder

STAGE = "agreement"


def _labelled(folder: RunFolder) -> list[Labelled]:
    """The verdicts of the latest judging."""
    round = max((number for _, number in folder.units(JUDGING)), default=0)
    return [
        Labelled(
            row["trajectory"],
            row["check"],
            row["kind"],
            row["value"],
        )
        for row in folder.rows("verdicts")
        if row["round"] == round
    ]


def export_labels(context: Context, count: int, seed: int = 0, *, html: bool = False) -> str:
    """A sheet (CSV, or a page) with a stratified sample of verdicts for people to label.

    Raises RunError for a run without verdicts.
    """
    folder = context.folder
    chosen = sample(_labelled(folder), count, seed)
    if not chosen:
        raise RunError(
            f"The run {folder.name} has no verdicts to label.",
            way_out="Take a run of the flow trajectories, code or all.",
        )
    wanted = {one.trajectory for one in chosen}
    checks: dict[str, dict[str, Check]] = {}
    shown: dict[str, Shown] = {}
    for one in _found(context, wanted):
        id, task = one.trajectory.id, one.task
        checks[id] = {check.name: check for check in task.rubric.checks}
        shown[id] = Shown(
            tuple(goal.intent for goal in task.goals),
            tuple(event_line(event) for event in one.trajectory.events),
            str(one.trajectory.end_reason),
            differences(one.world, one.final, task.initial),
        )
    questions = [
        Question(one.trajectory, one.check, one.kind, criterion(one.check, checks[one.trajectory].get(one.check)))
        for one in chosen
    ]  # fmt: skip
    return to_html(folder.name, questions, shown) if html else to_csv(questions, shown)


def _found(context: Context, wanted: set[str]) -> Iterator[Stored]:
    """The wanted trajectories, first all as far as it goes without a world, then with their states."""
    for world_tasks_only in (False, True):
        yield from (one for one in stored(context, world_tasks_only) if one.trajectory.id in wanted)


def import_labels(context: Context, text: str) -> dict[str, Any]:
    """Agreement of people and judges, stored as measures. Raises InputError for a sheet that does not fit."""
    folder = context.folder
    found = read_labels(text, _labelled(folder))
    figures = found.to_json()
    if figures["n"] == 0:
        raise InputError("No line of the sheet has a label.", way_out="Fill the column `label`.")
    rows: list[Row] = []
    for part, about in (("all", figures), *figures["by_kind"].items()):
        rows.append(
            {
                "stage": STAGE,
                "name": "human_agreement",
                "part": part,
                "value": about["agreement"]["share"],
                "n": about["n"],
                "detail": {"ci95": about["agreement"]["ci95"], "kappa": about["kappa"]},
            }
        )
    with folder.lock():
        number = 1 + max((number for _, number in folder.units(STAGE)), default=0)
        folder.write_shard(STAGE, number, {"measures": rows})
    return figures
