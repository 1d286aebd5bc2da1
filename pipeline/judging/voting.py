"""Model judges together: each votes per criterion, abstentions do not count, a tie goes to the escalation judge."""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.records import (
    Check,
    Judge,
    ModelError,
    Owner,
    PolicyCheck,
    ReplyCheck,
    Task,
    Trajectory,
    Value,
    Verdict,
)

Open = ReplyCheck | PolicyCheck


def unscored(check: Check, reason: str, owner: Owner = Owner.JUDGE, judge: str = "rules") -> Verdict:
    """A check that nobody could decide."""
    return Verdict(
        check=check.name,
        kind=check.kind,
        value=Value.UNSCORED,
        owner=owner,
        reason=reason,
        judge=judge,
        mandatory=check.mandatory,
        weight=check.weight,
    )


async def vote(
    judges: Sequence[Judge],
    escalation: Judge | None,
    task: Task,
    trajectory: Trajectory,
    checks: Sequence[Open],
    changes: str = "",
) -> list[Verdict]:
    """One verdict per check: the majority of those who decide; where they disagree evenly, the escalation's.

    Every judge sees all open checks in one request. A judge that fails, answers for a check that was not asked, or
    twice for one, abstains there. EndpointDown and BudgetExceeded pass through.
    """
    if not judges:
        return [unscored(check, "no judge is configured") for check in checks]
    votes: dict[str, list[Verdict]] = {check.name: [] for check in checks}
    for one in judges:
        for verdict in await _ask(one, task, trajectory, checks, changes):
            votes[verdict.check].append(verdict)
    open_still = [check for check in checks if _split(votes[check.name])]
    if escalation is not None and open_still:
        last = {v.check: v for v in await _ask(escalation, task, trajectory, open_still, changes)}
        for check in open_still:
            if last[check.name].value is not Value.UNSCORED:
                votes[check.name] = [last[check.name]]
    return [_majority(check, votes[check.name]) for check in checks]


async def _ask(
    one: Judge, task: Task, trajectory: Trajectory, checks: Sequence[Open], changes: str
) -> list[Verdict]:
    """Exactly one verdict for each check, whatever the judge returned."""
    try:
        answers = await one.judge(task, trajectory, checks, changes)
    except ModelError as error:
        if type(error) is not ModelError:
            raise
        return [unscored(check, error.what, judge=one.name) for check in checks]
    found = []
    for check in checks:
        mine = [_sound(answer, len(trajectory.events)) for answer in answers if answer.check == check.name]
        found.append(
            mine[0]
            if len(mine) == 1
            else unscored(check, f"the judge gave {len(mine)} verdicts", judge=one.name)
        )
    return found


_DOUBT = "its evidence against it does not exist"


def _sound(verdict: Verdict, events: int) -> Verdict:
    """A vote counts only with evidence that exists."""
    if verdict.value is Value.UNSCORED:
        return verdict
    if not verdict.evidence or not all(0 <= index < events for index in verdict.evidence):
        reason = _DOUBT if verdict.value is Value.FAIL else "its evidence does not exist"
        return verdict.replace(value=Value.UNSCORED, owner=Owner.JUDGE, evidence=(), reason=reason)
    return verdict


def _voting(votes: Sequence[Verdict]) -> tuple[list[Verdict], list[Verdict]]:
    return (
        [vote for vote in votes if vote.value is Value.PASS],
        [vote for vote in votes if vote.value is Value.FAIL],
    )


def _split(votes: Sequence[Verdict]) -> bool:
    """Whether those who decided disagree, or nobody did though somebody was asked."""
    passes, fails = _voting(votes)
    return bool(passes and fails) or not (passes or fails)


def _majority(check: Open, votes: Sequence[Verdict]) -> Verdict:
    """More for than against, or more against than for. A vote against that lost its evidence does not count against,
    but still weighs against passing: taking evidence away must never turn fail into pass."""
    passes, fails = _voting(votes)
    doubts = sum(vote.reason == _DOUBT for vote in votes)
    if len(fails) <= len(passes) <= len(fails) + doubts:
        reason = (
            "the judges are divided" if passes else next((v.reason for v in votes if v.reason), "no vote")
        )
        return unscored(check, reason, judge="+".join(dict.fromkeys(v.judge for v in votes)))
    chosen = passes if len(passes) > len(fails) else fails
    return chosen[0].replace(
        judge="+".join(dict.fromkeys(vote.judge for vote in chosen)),
        mandatory=check.mandatory,
        weight=check.weight,
    )
