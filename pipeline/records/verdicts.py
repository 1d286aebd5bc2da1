"""Verdicts: three values, an owner, evidence."""

from __future__ import annotations

from enum import StrEnum

from pipeline.records.base import Record
from pipeline.records.errors import Owner


class Value(StrEnum):
    PASS = "pass"
    FAIL = "fail"
    UNSCORED = "unscored"


class Verdict(Record):
    """What one check says of one trajectory."""

    check: str
    kind: str
    value: Value
    owner: Owner = Owner.AGENT
    evidence: tuple[int, ...] = ()
    """Indexes of events."""
    reason: str = ""
    judge: str = "rules"
    prompt: str = ""
    mandatory: bool = True
    weight: float = 1.0


class Judgement(Record):
    """The verdicts on one trajectory, taken together."""

    trajectory: str
    verdicts: tuple[Verdict, ...]
    value: Value
    owner: Owner | None = None
    reward: float = 0.0
    reason: str = ""

    @property
    def passed(self) -> bool:
        return self.value is Value.PASS
