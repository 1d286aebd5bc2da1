"""From verdicts to one judgement: a pure function.

- A mandatory check that fails fails the whole, owned by whoever owns that check (the agent first, if several fail).
- So does a weighted share of passed optional checks, among those that were decided, below the rubric's threshold.
- Otherwise a mandatory check that is unscored leaves the whole unscored, and so do unscored optional ones without which
  the threshold is not reached: nothing unscored is ever counted as passed.
- The reward is the weighted share of passed optional checks, unscored ones counted as not passed, when the whole
  passes, else 0.

Two properties follow, and are tested: adding an unscored check never raises a judgement, and taking a verdict back for
want of evidence never turns fail into pass.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from pipeline.records import Judgement, Owner, Value, Verdict

_ORDER = (Owner.AGENT, Owner.USER, Owner.TOOL, Owner.JUDGE, Owner.INFRA)


def aggregate(trajectory: str, verdicts: Sequence[Verdict], threshold: float = 1.0) -> Judgement:
    """The judgement on one trajectory. An empty list is unscored."""
    if (
        verdicts
        and all(one.value is Value.PASS for one in verdicts)
        and any(one.mandatory for one in verdicts)
    ):
        return Judgement(trajectory=trajectory, verdicts=tuple(verdicts), value=Value.PASS, reward=1.0)
    mandatory = [one for one in verdicts if one.mandatory]
    failed = sorted((v for v in mandatory if v.value is Value.FAIL), key=lambda v: _ORDER.index(v.owner))
    unscored = [v for v in mandatory if v.value is Value.UNSCORED]
    if failed:
        return _judgement(trajectory, verdicts, Value.FAIL, failed[0])
    optional = [one for one in verdicts if not one.mandatory]
    decided = [one for one in optional if one.value is not Value.UNSCORED]
    if _share(decided) < threshold - 1e-9:
        worst = next(one for one in decided if one.value is Value.FAIL)
        return _judgement(trajectory, verdicts, Value.FAIL, worst)
    if unscored or not mandatory:
        return _judgement(trajectory, verdicts, Value.UNSCORED, unscored[0] if unscored else None)
    if _share(optional) < threshold - 1e-9:
        missing = next(one for one in optional if one.value is Value.UNSCORED)
        return _judgement(trajectory, verdicts, Value.UNSCORED, missing)
    return _judgement(trajectory, verdicts, Value.PASS, None)


def _share(verdicts: Sequence[Verdict]) -> float:
    total = sum(one.weight for one in verdicts)
    return sum(one.weight for one in verdicts if one.value is Value.PASS) / total if total else 1.0


def _judgement(
    trajectory: str, verdicts: Sequence[Verdict], value: Value, because: Verdict | None
) -> Judgement:
    return Judgement(
        trajectory=trajectory,
        verdicts=tuple(verdicts),
        value=value,
        owner=because.owner if because else None,
        reward=_share(verdicts) if value is Value.PASS else 0.0,
        reason=f"{because.check}: {because.reason}" if because else "",
    )


@lru_cache(maxsize=100_000)
def verdict(
    check: str,
    kind: str,
    value: Value,
    owner: Owner = Owner.AGENT,
    evidence: tuple[int, ...] = (),
    reason: str = "",
    mandatory: bool = True,
    weight: float = 1.0,
) -> Verdict:
    """A verdict of the rules. Equal ones are one object, since most of a run's are."""
    return Verdict(
        check=check,
        kind=kind,
        value=value,
        owner=owner,
        evidence=evidence,
        reason=reason,
        mandatory=mandatory,
        weight=weight,
    )
