"""Two judgings of the same trajectories, compared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pipeline.judging.intervals import Share, kappa


@dataclass(frozen=True, slots=True)
class Difference:
    """One judgement or verdict that came out differently. `check` is empty for the judgement on the whole."""

    trajectory: str
    check: str
    before: str | None
    after: str | None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Comparison:
    """What changed from one judging to another."""

    common: int
    judgements: tuple[Difference, ...]
    verdicts: tuple[Difference, ...]
    agreement: Share
    kappa: float | None
    only_before: int
    only_after: int

    def to_json(self) -> dict[str, Any]:
        moves = Counter(f"{one.before} -> {one.after}" for one in self.judgements)
        checks = Counter(one.check for one in self.verdicts)
        return {
            "common": self.common,
            "only_a": self.only_before,
            "only_b": self.only_after,
            "agreement": self.agreement.to_json(),
            "kappa": self.kappa,
            "moves": dict(moves.most_common()),
            "checks": dict(checks.most_common()),
            "judgements": [_plain(one) for one in self.judgements],
            "verdicts": [_plain(one) for one in self.verdicts],
        }


def _plain(one: Difference) -> dict[str, Any]:
    return {
        "trajectory": one.trajectory,
        "check": one.check,
        "a": one.before,
        "b": one.after,
        "reason": one.reason,
    }


@dataclass(frozen=True, slots=True)
class Judging:
    """One judging: trajectory to value, (trajectory, check) to value, and reasons of the judgements."""

    values: Mapping[str, str]
    verdicts: Mapping[tuple[str, str], str]
    reasons: Mapping[str, str]


def compare(before: Judging, after: Judging) -> Comparison:
    """Differences in the order of the trajectories of `before`; a check that only one side knows is None there."""
    both = [name for name in before.values if name in after.values]
    pairs = [(before.values[name], after.values[name]) for name in both]
    judgements = tuple(
        Difference(name, "", before.values[name], after.values[name], after.reasons.get(name, ""))
        for name in both
        if before.values[name] != after.values[name]
    )
    shared = set(both)
    keys = dict.fromkeys([*before.verdicts, *after.verdicts])
    verdicts = tuple(
        Difference(name, check, before.verdicts.get((name, check)), after.verdicts.get((name, check)))
        for name, check in keys
        if name in shared and before.verdicts.get((name, check)) != after.verdicts.get((name, check))
    )
    return Comparison(
        common=len(both),
        judgements=judgements,
        verdicts=verdicts,
        agreement=Share(sum(left == right for left, right in pairs), len(pairs)),
        kappa=kappa(pairs),
        only_before=len(before.values) - len(both),
        only_after=len(after.values) - len(both),
    )
