"""Judging a run that stands: again, calibrated, compared, selected from, and held against people's labels.

Each writes a unit of its own beside what is there; nothing of a run is ever changed. Judgings again count rounds from
1 (0 is the run's own), and views and exports follow the latest.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from pipeline.config import Config, parse_config
from pipeline.config.judging import JudgingConfig
from pipeline.judging.agreement import Labelled, read_labels, sample, to_csv
from pipeline.judging.calibration import RULES, Calibration, JudgeError, calibrate
from pipeline.judging.compare import Comparison, Judging, compare
from pipeline.judging.intervals import Share
from pipeline.judging.judge import judge
from pipeline.judging.planting import Story
from pipeline.judging.quality import AttemptOutcome, TaskQuality, task_quality
from pipeline.judging.selection import Candidate, preference_pairs, select
from pipeline.models.players.judge import event_line
from pipeline.records import (
    InputError,
    Judgement,
    Owner,
    PolicyCheck,
    ReplyCheck,
    RunError,
    Snapshot,
    Task,
    Trajectory,
    Value,
    World,
)
from pipeline.stages.context import Context, Tally, call_rows
from pipeline.stages.players import Players
from pipeline.stages.worlds import read_worlds
from pipeline.store import Row, RunFolder, gather, judgement_rows, snapshot_of, trajectory_of
from pipeline.store.shards import read_rows

JUDGING, CALIBRATION, SELECTION, AGREEMENT = "judging", "calibration", "selection", "agreement"


@dataclass(frozen=True, slots=True)
class Stored:
    """A trajectory of a run with all that judging needs."""

    task: Task
    trajectory: Trajectory
    final: Snapshot | None
    row: Row


def open_run(data: Path, name: str, changes: Path | None = None) -> Context:
    """A run with its configuration; the file of `--with` may replace any of its sections.

    Raises RunError for a run that is not there, ConfigError for a file that does not fit.
    """
    context = Context.open(RunFolder.open(data, name).path)
    if changes is None:
        return context
    try:
        given = yaml.safe_load(changes.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise InputError(f"{changes} cannot be read as YAML: {error}.") from error
    base = yaml.safe_load(context.folder.config_yaml)
    if isinstance(given, dict) and not set(given) <= set(Config.model_fields):
        given = {"judging": given}
    if not isinstance(given, dict):
        raise InputError(f"{changes} holds no mapping.", way_out="Give keys of the section `judging`.")
    return Context(context.folder, parse_config({**base, **given}, where=str(changes)))


def stored(context: Context, world_tasks_only: bool = True) -> Iterator[Stored]:
    """The trajectories of a run, unit by unit. Those of containers are graded by their tests and left out."""
    tasks = {row["id"]: row["record"] for row in context.folder.rows("tasks", columns=("id", "record"))}
    parsed: dict[str, Task] = {}
    for stage, number in context.folder.units():
        unit = context.folder.unit(stage, number)
        if not (unit / "trajectories.parquet").exists():
            continue
        events: dict[str, list[Row]] = defaultdict(list)
        for event in read_rows(unit / "events.parquet", None):
            events[event["trajectory"]].append(event)
        snapshots = (
            {row["ref"]: row for row in read_rows(unit / "snapshots.parquet", None)}
            if (unit / "snapshots.parquet").exists()
            else {}
        )
        for row in read_rows(unit / "trajectories.parquet", None):
            if row["host"] != "sql" and world_tasks_only:
                continue
            if row["task"] not in tasks:
                raise RunError(f"The task {row['task']} of trajectory {row['id']} is not in the run.")
            task = parsed.setdefault(row["task"], Task.model_validate_json(tasks[row["task"]]))
            trajectory = trajectory_of(row, events[row["id"]])
            yield Stored(task, trajectory, _final(trajectory, snapshots), row)


def _final(trajectory: Trajectory, snapshots: dict[str, Row]) -> Snapshot | None:
    """The state after the last call, or the seed where there was none."""
    last = next((e.after for e in reversed(trajectory.events) if e.after), "")
    if last:
        return snapshot_of(snapshots[last]) if last in snapshots else None
    return next(
        (
            found
            for row in snapshots.values()
            if row["world_id"] == trajectory.world and not (found := snapshot_of(row)).rows
        ),
        None,
    )


# ---- again --------------------------------------------------------------------------------------------------


async def judge_again(context: Context) -> int:
    """Judges all trajectories of a run anew, as configured; the number of the round. Raises TaskError naming a
    trajectory whose state does not fit its world."""
    folder = context.folder
    with folder.lock():
        round = 1 + max((number for _, number in folder.units(JUDGING)), default=0)
        tally, parts = Tally(JUDGING), []
        worlds: dict[str, World] = {}
        with folder.journal(JUDGING, round) as journal:
            async with context.models(journal) as models:
                players = Players(context.config, models, JUDGING)
                judges, escalation = players.judges(), players.escalation()
                for one in stored(context):
                    if one.trajectory.world not in worlds:
                        worlds |= read_worlds(context, {one.trajectory.world})
                    world = worlds[one.trajectory.world]
                    judgement = await judge(one.task, one.trajectory, one.final, world, judges, escalation)
                    _count(tally, judgement)
                    parts.append(judgement_rows(judgement, round))
                calls = call_rows(models.ledger.drain())
        tally.tokens = sum(row["tokens_in"] + row["tokens_out"] for row in calls)
        tally.cost = sum(row["cost"] for row in calls)
        folder.write_shard(JUDGING, round, gather([*parts, {"model_calls": calls}, tally.tables()]))
    return round


def _count(tally: Tally, judgement: Judgement) -> None:
    owner = str(judgement.owner or "")
    if judgement.value is Value.PASS:
        tally.keep()
    elif judgement.value is Value.FAIL:
        tally.reject("judged failed", judgement.reason, subject=judgement.trajectory, owner=owner)
    else:
        tally.fail("unscored", judgement.reason, subject=judgement.trajectory, owner=owner)


def judging_of(data: Path, which: str) -> Judging:
    """The judging that `RUN` (its latest) or `RUN@ROUND` names. Raises RunError when there is none."""
    name, _, given = which.partition("@")
    folder = RunFolder.open(data, name)
    rounds = [0, *(number for _, number in folder.units(JUDGING))]
    if given and (not given.isdigit() or int(given) not in rounds):
        raise RunError(
            f"The run {name} has no judging {given!r}.", way_out=f"It has {', '.join(map(str, rounds))}."
        )
    round = int(given) if given else max(rounds)
    rows = (
        ((row["id"], row) for row in folder.rows("trajectories", columns=("id", "value", "reason")))
        if round == 0
        else ((row["trajectory"], row) for row in folder.rows("judgements") if row["round"] == round)
    )
    judged = {id: row for id, row in rows if row["value"]}
    verdicts = {
        (row["trajectory"], row["check"]): row["value"]
        for row in folder.rows("verdicts", columns=("trajectory", "round", "check", "value"))
        if row["round"] == round
    }
    return Judging(
        {id: row["value"] for id, row in judged.items()},
        verdicts,
        {id: row["reason"] or "" for id, row in judged.items()},
    )


def judge_diff(data: Path, a: str, b: str) -> Comparison:
    """Two judgings compared; each is `RUN` or `RUN@ROUND`. One run twice compares its own judging with its latest."""
    return compare(judging_of(data, f"{a}@0" if a == b else a), judging_of(data, b))


# ---- calibration --------------------------------------------------------------------------------------------


def good_stories(context: Context) -> list[Story]:
    """The attempts of a run in which flaws are planted: passed by the latest judging, and honest."""
    latest = _latest(context.folder)
    found = []
    for one in stored(context):
        value = latest.get(one.trajectory.id, (one.row["value"], ""))[0]
        if value == Value.PASS and not one.trajectory.planted and one.final is not None:
            found.append((one, one.final))
    worlds = read_worlds(context, {one.trajectory.world for one, _ in found})
    return [
        Story(worlds[one.trajectory.world], one.task, one.trajectory, final.state) for one, final in found
    ]


async def calibrate_run(
    context: Context, *, seed: int | None = None, per_kind: int | None = None
) -> Calibration:
    """Plants flaws into the good trajectories of a run, measures all configured judges, and stores the figures.

    Raises RunError when the run has no good trajectory.
    """
    folder, config = context.folder, context.config.judging
    stories = good_stories(context)
    if not stories:
        raise RunError(
            f"The run {folder.name} has no honest trajectory that passed, so nothing can be planted.",
            way_out="Calibrate a run of the flow trajectories or all.",
        )
    with folder.lock():
        number = 1 + max((number for _, number in folder.units(CALIBRATION)), default=0)
        with folder.journal(CALIBRATION, number) as journal:
            async with context.models(journal) as models:
                players = Players(context.config, models, CALIBRATION)
                measured = await calibrate(
                    stories,
                    judges=players.judges(),
                    seed=context.config.seed if seed is None else seed,
                    per_kind=per_kind or config.calibration_per_kind,
                    per_judge=config.calibration_per_judge,
                    spent=lambda: models.ledger.totals.cost,
                )
                calls = call_rows(models.ledger.drain())
        rows = [row for one in (measured.rules, *measured.judges) for row in _measures(one)]
        folder.write_shard(CALIBRATION, number, {"measures": rows, "model_calls": calls})
    return measured


def _measures(error: JudgeError) -> list[Row]:
    about = {"version": error.version, "cost": error.cost}
    rows = [
        _measure("judge_misses", error.judge, error.misses(), about),
        _measure("judge_false_alarms", error.judge, error.false_alarms(), about),
        _measure("judge_abstentions", error.judge, error.abstentions(), about),
    ]
    rows += [
        _measure("judge_misses", f"{error.judge}/{kind}", Share(one.passed, one.n), about)
        for kind, one in sorted(error.flawed.items())
    ]
    rows += [
        _measure("judge_false_alarms", f"{error.judge}/{kind}", Share(one.failed, one.n), about)
        for kind, one in sorted(error.clean.items())
    ]
    return rows


def _measure(name: str, part: str, share: Share, about: dict[str, Any]) -> Row:
    return {
        "stage": CALIBRATION,
        "name": name,
        "part": part,
        "value": share.value,
        "n": share.of,
        "detail": {"ci95": share.ci95, "count": share.count, **about},
    }


def measured_error(folder: RunFolder) -> float | None:
    """The larger of the rules' shares of misses and false alarms in the latest calibration; None without one."""
    units = folder.units(CALIBRATION)
    if not units:
        return None
    path = folder.unit(*units[-1]) / "measures.parquet"
    shares = [
        row["value"]
        for row in read_rows(path, ["name", "part", "value"])
        if row["part"] == RULES and row["name"] in ("judge_misses", "judge_false_alarms")
    ]
    return None if None in shares or len(shares) < 2 else max(shares)


def refuse_unsure(folder: RunFolder, config: JudgingConfig) -> None:
    """Raises RunError when `judging.max_error` is set and the judging's error is larger or was never measured."""
    if config.max_error is None:
        return
    error = measured_error(folder)
    way_out = f"`tracemill judge calibrate {folder.name}` measures it."
    if error is None:
        raise RunError(
            f"The run {folder.name} demands a judging error of at most {config.max_error:g}, and none was measured.",
            way_out=way_out,
        )
    if error > config.max_error:
        raise RunError(
            f"The judging of the run {folder.name} errs in {error:.2%} of cases, more than the {config.max_error:.2%}"
            " of judging.max_error: nothing is published.",
            way_out="Mend the checks or judges, judge again and calibrate again.",
        )


# ---- quality and selection ----------------------------------------------------------------------------------


def _latest(folder: RunFolder) -> dict[str, tuple[str, str]]:
    """Value and owner of each trajectory in the latest judging again."""
    found: dict[str, tuple[int, str, str]] = {}
    for row in folder.rows("judgements"):
        if row["round"] >= found.get(row["trajectory"], (0, "", ""))[0]:
            found[row["trajectory"]] = (row["round"], row["value"], row["owner"] or "")
    return {name: (value, owner) for name, (_, value, owner) in found.items()}


def qualities(context: Context) -> list[TaskQuality]:
    """What the attempts of a run say of its tasks."""
    latest = _latest(context.folder)
    outcomes = []
    for row in context.folder.rows("trajectories"):
        value, owner = latest.get(row["id"], (row["value"], row["owner"] or ""))
        if value:
            outcomes.append(
                AttemptOutcome(
                    row["id"],
                    row["task"],
                    Value(value),
                    Owner(owner) if owner else None,
                    row["reason"] or "",
                    row["planted"] in (None, "", "[]"),
                )
            )
    return task_quality(outcomes, context.config.judging.quality)


async def selection_unit(context: Context, number: int) -> None:
    """Unit 0 of the stage `selection`: pass rates and standings of tasks, kept attempts, preference pairs.

    Passed attempts of a task that is set aside are left out; attempts that did not pass need no row.
    """
    config = context.config.judging.selection
    standing = {one.task: one for one in qualities(context)}
    latest = _latest(context.folder)
    candidates = [
        Candidate(
            one.trajectory,
            Value(latest.get(one.trajectory.id, (one.row["value"], ""))[0]),
            one.row["reward"] or 0.0,
            one.row["reason"] or "",
        )
        for one in stored(context, world_tasks_only=False)
        if one.row["value"]
    ]
    choices = select(candidates, config)
    aside = {
        task: quality.standing
        for task, quality in standing.items()
        if quality.standing in ("hopeless", "trivial", "faulty")
    }
    rows, tally = [], Tally(SELECTION)
    passed = {one.id for one in candidates if one.value is Value.PASS}
    for choice in choices:
        if choice.trajectory not in passed:
            continue
        kept, reason = choice.kept, choice.reason
        if choice.task in aside:
            kept, reason = False, f"the task is {aside[choice.task]}"
        if kept:
            tally.keep()
        else:
            tally.reject("left out", reason, subject=choice.trajectory)
        rows.append(
            {
                "trajectory": choice.trajectory,
                "task": choice.task,
                "kept": kept,
                "rule": config.rule,
                "reason": reason,
                "pass_rate": choice.pass_rate,
            }
        )
    chosen = {row["trajectory"] for row in rows if row["kept"]}
    usable = [one for one in candidates if one.id in chosen or one.value is Value.FAIL]
    pairs = [
        {"task": p.task, "chosen": p.chosen, "rejected": p.rejected, "reason": p.reason}
        for p in preference_pairs(usable, config)
    ]
    measures = [one.row() for one in standing.values()]
    context.folder.write_shard(
        SELECTION,
        number,
        gather([{"selections": rows, "pairs": pairs, "measures": measures}, tally.tables()]),
    )


# ---- people -------------------------------------------------------------------------------------------------


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


def export_labels(context: Context, count: int, seed: int = 0) -> str:
    """A CSV sheet with a stratified sample of verdicts for people to label."""
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
    return to_csv(chosen, criteria, transcripts)


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
                "stage": AGREEMENT,
                "name": "human_agreement",
                "part": part,
                "value": about["agreement"]["share"],
                "n": about["n"],
                "detail": {"ci95": about["agreement"]["ci95"], "kappa": about["kappa"]},
            }
        )
    with folder.lock():
        number = 1 + max((number for _, number in folder.units(AGREEMENT)), default=0)
        folder.write_shard(AGREEMENT, number, {"measures": rows})
    return figures


__all__ = [
    "calibrate_run",
    "export_labels",
    "good_stories",
    "import_labels",
    "judge_again",
    "judge_diff",
    "judging_of",
    "measured_error",
    "open_run",
    "qualities",
    "refuse_unsure",
    "selection_unit",
    "stored",
]
