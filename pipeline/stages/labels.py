"""People's labels beside the verdicts of a run: a sample out, the labels in."""

from __future__ import annotations

from typing import Any

from pipeline.judging.agreement import Labelled, read_labels, sample, to_csv, to_html
from pipeline.models.players.judge import event_line
from pipeline.records import InputError, PolicyCheck, ReplyCheck
from pipeline.stages.context import Context
from pipeline.stages.judging import STAGE as JUDGING
from pipeline.stages.stored import stored
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
            row["reason"] or "",
            row["evidence"] or "",
        )
        for row in folder.rows("verdicts")
        if row["round"] == round
    ]


def export_labels(context: Context, count: int, seed: int = 0, *, html: bool = False) -> str:
    """A sheet (CSV, or a page) with a stratified sample of verdicts for people to label."""
    chosen = sample(_labelled(context.folder), count, seed)
    wanted = {one.trajectory for one in chosen}
    criteria: dict[str, str] = {}
    transcripts: dict[str, str] = {}
    for one in stored(context, world_tasks_only=False):
        id = one.trajectory.id
        if id not in wanted:
            continue
        transcripts[id] = "\n".join(event_line(event) for event in one.trajectory.events)
        for check in one.task.rubric.checks:
            if isinstance(check, ReplyCheck):
                criteria[f"{id}/{check.name}"] = check.criterion
            elif isinstance(check, PolicyCheck):
                criteria[f"{id}/{check.name}"] = check.rule
    return (to_html if html else to_csv)(chosen, criteria, transcripts)


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
