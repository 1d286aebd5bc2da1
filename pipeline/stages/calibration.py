"""Calibration of a run's judges against flaws planted in its own good trajectories, and what follows from it."""

from __future__ import annotations

from typing import Any

from pipeline.config.judging import JudgingConfig
from pipeline.judging.calibration import RULES, Calibration, JudgeError, calibrate
from pipeline.judging.intervals import Share
from pipeline.judging.planting import Story
from pipeline.records import RunError, Value
from pipeline.stages.context import Context, call_rows
from pipeline.stages.judging import unreached
from pipeline.stages.players import Players
from pipeline.stages.stored import latest_judgements, stored
from pipeline.store import Row, RunFolder
from pipeline.store.shards import read_rows

STAGE = "calibration"


def good_stories(context: Context) -> list[Story]:
    """The attempts of a run in which flaws are planted: passed by the latest judging, and honest."""
    latest = latest_judgements(context.folder)
    return [
        Story(one.world, one.task, one.trajectory, one.final.state)
        for one in stored(context)
        if latest.get(one.trajectory.id, one.row)["value"] == Value.PASS
        and not one.trajectory.planted
        and one.final is not None
        and one.world is not None
    ]


async def calibrate_run(
    context: Context, *, seed: int | None = None, per_kind: int | None = None
) -> Calibration:
    """Plants flaws into the good trajectories of a run, measures all configured judges, and stores the figures.

    Raises RunError when the run has no good trajectory, EndpointDown when a judge cannot be reached; then nothing is
    stored.
    """
    folder, config = context.folder, context.config.judging
    stories = good_stories(context)
    if not stories:
        raise RunError(
            f"The run {folder.name} has no honest trajectory that passed, so nothing can be planted.",
            way_out="Calibrate a run of the flow trajectories or all in which attempts passed; `tracemill stats` shows pass"
            " rates.",
        )
    with folder.lock():
        number = 1 + max((number for _, number in folder.units(STAGE)), default=0)
        with folder.journal(STAGE, number) as journal:
            async with context.models(journal) as models:
                players = Players(context.config, models, STAGE)
                with unreached(f"tracemill judge calibrate {folder.name}"):
                    measured = await calibrate(
                        stories,
                        judges=players.all_judges(),
                        seed=context.config.seed if seed is None else seed,
                        per_kind=per_kind or config.calibration_per_kind,
                        per_judge=config.calibration_per_judge,
                        spent=lambda: models.ledger.totals.cost,
                    )
                calls = call_rows(models.ledger.drain())
        if len(measured.unlike) == len(stories):
            raise RunError(
                f"None of the {len(stories)} good trajectories of {folder.name} ends in its recorded state when it is told"
                f" again, so no flaw can be planted in them; the first is {measured.unlike[0]}.",
                way_out=f"`tracemill replay {measured.unlike[0]}` names the first difference.",
            )
        rows = [row for one in (measured.rules, *measured.judges) for row in _measures(one)]
        folder.write_shard(STAGE, number, {"measures": rows, "model_calls": calls})
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
        "stage": STAGE,
        "name": name,
        "part": part,
        "value": share.value,
        "n": share.of,
        "detail": {"ci95": share.ci95, "count": share.count, **about},
    }


def measured_errors(folder: RunFolder) -> dict[str, float | None]:
    """For each judge that gave verdicts of the run's latest judging the larger of its shares of misses and of false
    alarms, by the latest calibration: what only one judge decides is as sure as that judge. None for one that was not
    measured or never gave a verdict then."""
    shares: dict[str, list[float | None]] = {}
    for unit in folder.units(STAGE)[-1:]:
        for row in read_rows(folder.unit(*unit) / "measures.parquet", ["name", "part", "value"]):
            if row["name"] in ("judge_misses", "judge_false_alarms"):
                shares.setdefault(row["part"], []).append(row["value"])
            elif row["name"] == "judge_abstentions" and row["value"] == 1:
                shares.setdefault(row["part"], []).append(None)
    found: dict[str, float | None] = {}
    for name in judges_used(folder):
        known = [share for share in shares.get(name, ()) if share is not None]
        found[name] = max(known) if known and len(known) == len(shares[name]) else None
    return found


def measured_error(folder: RunFolder) -> float | None:
    """The largest of the judges' errors; None when one of them was not measured."""
    errors = list(measured_errors(folder).values())
    known = [error for error in errors if error is not None]
    return max(known) if known and len(known) == len(errors) else None


def judges_used(folder: RunFolder) -> list[str]:
    """Names of the judges that gave the verdicts of a run's latest judging; the rules always take part."""
    latest = max((number for _, number in folder.units("judging")), default=0)
    names = {
        row["judge"]
        for row in folder.rows("verdicts", columns=("judge", "round", "value"))
        if row["round"] == latest and row["value"] != Value.UNSCORED
    }
    return sorted({RULES} | {one for name in names if name for one in name.split("+")})


def refuse_unsure(folder: RunFolder, config: JudgingConfig) -> None:
    """Raises RunError when `judging.max_error` is set and the judging's error is larger or was never measured."""
    if config.max_error is None:
        return
    errors = measured_errors(folder)
    unmeasured = [name for name, error in errors.items() if error is None]
    if unmeasured:
        raise RunError(
            f"The run {folder.name} demands a judging error of at most {config.max_error:.2%}, and none was measured for"
            f" {', '.join(unmeasured)}.",
            way_out=f"`tracemill judge calibrate {folder.name}` measures it.",
        )
    past = {name: error for name, error in errors.items() if error is not None and error > config.max_error}
    if past:
        said = ", ".join(f"{name} ({error:.2%})" for name, error in past.items())
        raise RunError(
            f"The run {folder.name} demands a judging error of at most {config.max_error:.2%}, and more was measured for"
            f" {said}: nothing is published.",
            way_out="Mend the checks or judges, judge again and calibrate again.",
        )
