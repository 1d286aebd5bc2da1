"""What the agent knows at a point of the conversation."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache

from pipeline.judging.standing import Standing
from pipeline.judging.statements import (
    Result,
    Row,
    Stated,
    result_of,
    stated,
)
from pipeline.records import Event, Failure

_PARTS = re.compile(r"""\n+|;\s|(?<=[a-z0-9:.,)"'][a-z0-9:.,)"'][a-z0-9)"'][.!?])\s+(?=[A-ZÀ-Þ¿¡])""")
_DIGIT = re.compile(r"\d")
_PASSING = frozenset({Failure.TIMEOUT, Failure.UNAVAILABLE, Failure.RATE_LIMITED})


@lru_cache(maxsize=50_000)
def parts(text: str) -> tuple[str, ...]:
    return tuple(part for part in _PARTS.split(text) if part and _DIGIT.search(part))


@dataclass
class _Answer:
    """What one call has read."""

    result: Result
    final: bool
    """A result or a refusal, not a passing failure."""
    changed: bool
    """Whether the call changed the state."""

    @property
    def rows(self) -> tuple[Row, ...]:
        return self.result.rows

    @property
    def values(self) -> frozenset[Stated]:
        return self.result.values


@dataclass
class Known:
    """What the agent knows at a point of the conversation."""

    standing: Standing
    language: str = "en"
    """What the user speaks; column names are English."""
    told: set[Stated] = field(default_factory=set)
    read: set[Stated] = field(default_factory=set)
    answers: list[_Answer] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    heard: list[str] = field(default_factory=list)
    """The user's words."""
    results: list[str] = field(default_factory=list)
    heard_values: set[Stated] = field(default_factory=set)
    used: set[Stated] = field(default_factory=set)
    """Values of the arguments since the user spoke."""
    fresh: int = 0
    """The first answer since the user spoke."""

    def asked(self, raw: str) -> None:
        """Arguments the agent used; those it knew are as good as told."""
        self.used |= stated(raw)
        self.told |= stated(raw) & (self.read | self.told | self.standing.values)

    def learn(self, event: Event) -> None:
        self.texts.append(event.content)
        if event.role == "user":
            self.told |= stated(event.content)
            self.heard_values |= stated(event.content)
            self.heard.append(event.content)
            self.fresh, self.used = len(self.answers), set()
        elif event.role == "tool":
            result = result_of(event.content)
            self.read |= result.values
            self.results.append(event.content)
            self.answers.append(
                _Answer(result, event.error_code not in _PASSING, event.before != event.after)
            )
