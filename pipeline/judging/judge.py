"""The cascade: cheap and certain checks first, model judges for what is left."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pipeline.judging.checks import decide, protocol
from pipeline.judging.differences import differences
from pipeline.judging.evidence import Evidence
from pipeline.judging.facts import says_what_it_knows
from pipeline.judging.hacks import hack_checks
from pipeline.judging.invariants import invariant_verdicts
from pipeline.judging.states import state_verdicts
from pipeline.judging.verdict import aggregate
from pipeline.judging.voting import unscored, vote
from pipeline.records import (
    Check,
    Judge,
    Judgement,
    PolicyCheck,
    ReplyCheck,
    Snapshot,
    StateCheck,
    Task,
    TaskError,
    Trajectory,
    Value,
    Verdict,
    World,
)


async def judge(
    task: Task,
    trajectory: Trajectory,
    final: Snapshot | None,
    world: World | None,
    judges: Sequence[Judge] = (),
    escalation: Judge | None = None,
    states: Mapping[str, Snapshot] | None = None,
) -> Judgement:
    """All verdicts on one trajectory, and the judgement they add up to.

    `states` are the snapshots it went through, by reference: the world's invariants have to hold in all of them;
    without them only the final one is looked at. Model judges are asked only when nothing certain has failed. Raises TaskError for a rubric without a
    mandatory check or with contradictory ones, and for a trajectory of another world or version of it.
    """
    if task.rubric.faults:
        raise TaskError(
            f"Task {task.id} cannot be judged: {'; '.join(task.rubric.faults)}.",
            way_out="Mend its rubric, or leave the task out.",
        )
    if trajectory.world != task.world:
        raise TaskError(
            f"Trajectory {trajectory.id} was made in world {trajectory.world or 'none'}, its task {task.id} belongs to"
            f" {task.world or 'none'}.",
            way_out="Judge it with the tasks and worlds of the run that made it.",
        )
    evidence = Evidence(task, trajectory)
    ended = protocol(evidence)
    if ended.value is Value.UNSCORED:
        return aggregate(
            trajectory.id, [ended, *(_not_reached(check, ended) for check in task.rubric.checks)]
        )
    verdicts = [ended, says_what_it_knows(evidence), *hack_checks(evidence, world)]
    open_checks: list[ReplyCheck | PolicyCheck] = []
    for check in task.rubric.checks:
        if isinstance(check, StateCheck):
            continue
        verdict = decide(check, evidence)
        if verdict is not None:
            verdicts.append(verdict)
        elif isinstance(check, ReplyCheck | PolicyCheck):
            open_checks.append(check)
    verdicts.extend(
        state_verdicts(
            [c for c in task.rubric.checks if isinstance(c, StateCheck)], world, final, task.initial
        )
    )
    verdicts.extend(invariant_verdicts(trajectory.events, world, final, states))
    failed = any(one.value is Value.FAIL and one.mandatory for one in verdicts)
    if open_checks and not failed:
        changes = differences(world, final, task.initial) if judges else ""
        verdicts.extend(await vote(judges, escalation, task, trajectory, open_checks, changes))
    elif open_checks:
        verdicts.extend(unscored(check, "a certain check has failed already") for check in open_checks)
    return aggregate(trajectory.id, verdicts, task.rubric.threshold)


def _not_reached(check: Check, ended: Verdict) -> Verdict:
    """What an episode that others broke off never came to is nobody's failure."""
    return unscored(check, f"the episode was broken off: {ended.reason}").replace(owner=ended.owner)
