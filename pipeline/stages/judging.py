"""Judging a run that stands again, and comparing two judgings.

Each judging writes a unit of its own beside what is there; nothing of a run is ever changed. Judgings again count rounds
from 1 (0 is the run's own), and views and exports follow the latest.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pipeline.judging.compare import Comparison, Judging, compare
from pipeline.judging.judge import judge
from pipeline.records import EndpointDown, Judgement, RunError, Value
from pipeline.stages.context import Context, Tally, call_rows
from pipeline.stages.players import Players
from pipeline.stages.selection import write_selection
from pipeline.stages.stored import stored
from pipeline.store import RunFolder, gather, judgement_rows

STAGE = "judging"


async def judge_again(context: Context) -> int:
    """Judges all trajectories of a run anew, as configured, and selects from them anew; the number of the round.

    Raises TaskError naming a trajectory whose state does not fit its world, EndpointDown when a judge cannot be
    reached; then nothing is stored.
    """
    folder = context.folder
    with folder.lock():
        round = 1 + max((number for _, number in folder.units(STAGE)), default=0)
        tally, parts = Tally(STAGE), []
        with folder.journal(STAGE, round) as journal:
            async with context.models(journal) as models:
                players = Players(context.config, models, STAGE)
                judges, escalation = players.judges(), players.escalation()
                with unreached(f"tracemill judge {folder.name}"):
                    for one in stored(context):
                        judgement = await judge(
                            one.task, one.trajectory, one.final, one.world, judges, escalation, one.states
                        )
                        _count(tally, judgement)
                        parts.append(judgement_rows(judgement, round))
                calls = call_rows(models.ledger.drain())
        tally.tokens = sum(row["tokens_in"] + row["tokens_out"] for row in calls)
        tally.cost = sum(row["cost"] for row in calls)
        folder.write_shard(STAGE, round, gather([*parts, {"model_calls": calls}, tally.tables()]))
        write_selection(context)
    return round


@contextmanager
def unreached(command: str) -> Iterator[None]:
    """What an endpoint that stays down means for a command that pauses no run: it is said to be given again."""
    try:
        yield
    except EndpointDown as error:
        what = error.what.removesuffix("; the run pauses.").rstrip(".")
        raise EndpointDown(
            f"{what}; nothing was judged and nothing is stored.",
            way_out=f"Look after the endpoint, then give `{command}` again.",
        ) from error


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
    rounds = [0, *(number for _, number in folder.units(STAGE))]
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
