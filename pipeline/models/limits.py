"""How many calls may be in flight at one (endpoint, model): found by watching what the endpoint does.

Plain arithmetic on reported events, without clock or event loop; `lane` applies it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from pipeline.config.models import Limits

_LEAST_ROUND = 12
_STRETCH = 3.0
"""Answers slower than the best round's mean by this factor let the limit grow no further."""
_MOST_NOISE = 0.65
"""A larger share of rejections is always taken for a limit that was exceeded."""
_CALM = 20
"""Rounds between two looks at whether slow answers come from queueing."""


@dataclass(slots=True)
class _Round:
    """Completions since `started`: at least as many as calls may be in flight, and for at least one latency."""

    started: float
    size: int
    good: int = 0
    rejected: int = 0
    seconds: float = 0.0

    @property
    def done(self) -> int:
        return self.good + self.rejected

    @property
    def share(self) -> float:
        return self.rejected / self.done if self.done else 0.0

    @property
    def latency(self) -> float:
        return self.seconds / self.good if self.good else 0.0

    def rate(self, now: float) -> float:
        return self.good / max(now - self.started, 1e-6)


@dataclass(slots=True)
class _Cut:
    """A halving under trial: from which limit, and what the endpoint did there."""

    at: float
    limit: float
    rate: float | None
    """Good answers a second; None when not known."""
    latency: float
    """Mean seconds, when slowness was the reason; 0 when rejections were."""
    before: _Round
    """The calls that were in flight at the cut."""


class AdaptiveLimit:
    """Doubles each round trip until the endpoint rejects or slows, then grows by 5 % a round; halves on rejection.

    Each halving is a trial of about one round. Some endpoints reject a share of calls however few there are: when
    halving brings down the rate of good answers and rejections go on, the old limit is restored and that share counts as
    noise. Slow answers are tried in the same way: when fewer calls are no faster, the answers have become longer, and
    their latency is the new measure; when they are faster, they were queueing, and the limit comes down.
    """

    def __init__(self, limits: Limits) -> None:
        self.fixed = limits.concurrency is not None
        self.most = limits.ceiling
        self._limit = float(limits.concurrency or min(limits.start, limits.most))
        self._threshold = float(self.most)
        self._best = 0.0
        self._calm = 0
        self._round: _Round | None = None
        self._rate: float | None = None
        self._cut: _Cut | None = None
        self.noise = 0.0
        """Share of calls that are rejected regardless of their number."""

    @property
    def limit(self) -> int:
        """Calls that may be in flight now."""
        return max(1, int(self._limit))

    def succeeded(self, started: float, now: float, *, saturated: bool) -> None:
        """A good answer to a call sent at `started`. `saturated`: as many calls were in flight as allowed."""
        if self.fixed:
            return
        latency = now - started
        round_ = self._count(started, now)
        round_.good += 1
        round_.seconds += latency
        if saturated and self._cut is None and not (self._best and latency > _STRETCH * self._best):
            step = 1.0 if self._limit < self._threshold else max(1.0, 0.05 * self._limit) / self._limit
            self._limit = min(float(self.most), self._limit + step)
        self._finish(now)

    def rejected(self, started: float, now: float) -> None:
        """A call sent at `started` met a rate limit or an overload."""
        if self.fixed:
            return
        self._count(started, now).rejected += 1
        if self._cut is None and self.noise == 0.0:
            self._halve(now)
        else:
            self._finish(now)

    def _count(self, started: float, now: float) -> _Round:
        """The round in which a completion counts: that of before the cut until the first call after it is back."""
        if self._round is None:
            if self._cut is not None and started <= self._cut.at:
                return self._cut.before
            self._round = _Round(started=now if self._cut else started, size=max(_LEAST_ROUND, self.limit))
        return self._round

    def _finish(self, now: float) -> None:
        round_ = self._round
        if round_ is None or round_.done < round_.size or now - round_.started < round_.latency:
            return
        self._round = None
        self._calm = max(0, self._calm - 1)
        rate, cut = round_.rate(now), self._cut
        if cut is not None:
            self._cut = None
            if cut.latency:
                self._judge_slowness(cut, round_)
            else:
                self._judge_rejections(cut, round_, rate)
        if round_.good:
            self._best = min(self._best, round_.latency) if self._best else round_.latency
        self._rate = rate
        if cut is None:
            self._react(round_, now)

    def _react(self, round_: _Round, now: float) -> None:
        """Start a trial where a round was worse than what is known of the endpoint."""
        if self.noise:
            spread = math.sqrt(self.noise * (1 - self.noise) / round_.done)
            if round_.share > self.noise + max(0.15, 3.0 * spread):
                self._halve(now)
                return
            self.noise = max(0.01, 0.7 * self.noise + 0.3 * round_.share)
        if round_.latency > _STRETCH * self._best and not self._calm:
            self._halve(now, latency=round_.latency)

    def _judge_rejections(self, cut: _Cut, round_: _Round, rate: float) -> None:
        """Whether the cut helped; if it only cost, take it back.

        Where calls beyond a limit are rejected, halving turns a share s into 2s - 1 or less; chance leaves it at s.
        """
        costly = cut.rate is not None and rate < 0.75 * cut.rate
        same = cut.before.done >= _LEAST_ROUND // 2 and 0.6 * cut.before.share <= round_.share
        if (costly or same) and 0.0 < round_.share <= _MOST_NOISE and cut.before.share <= _MOST_NOISE:
            self.noise = round_.share
            self._limit = cut.limit
            self._threshold = float(self.most)
            return
        self.noise = min(self.noise, round_.share)
        if not round_.rejected:
            self._limit = self._threshold

    def _judge_slowness(self, cut: _Cut, round_: _Round) -> None:
        """Whether fewer calls were faster; if not, the answers themselves have become longer."""
        self._calm = _CALM
        if round_.good and round_.latency > 0.75 * cut.latency:
            self._best = round_.latency
            self._limit = cut.limit
        else:
            self._limit = self._threshold = max(1.0, 0.85 * cut.limit)

    def _halve(self, now: float, latency: float = 0.0) -> None:
        """Half as many calls from now on, and soon back to most of them when that proves enough."""
        before = _Round(started=now, size=0, rejected=0 if latency else 1)
        self._cut = _Cut(now, self._limit, self._rate, latency, before)
        self._threshold = max(1.0, 0.8 * self._limit)
        self._limit = max(1.0, self._limit / 2)
        self._round = None


class Pace:
    """At most `per_minute` units a minute, with up to five seconds' worth at once. Times in seconds."""

    def __init__(self, per_minute: float) -> None:
        self._rate = per_minute / 60.0
        self._burst = max(1.0, self._rate * 5.0)
        self._left = self._burst
        self._at: float | None = None

    def reserve(self, amount: float, now: float, share: float = 1.0) -> float:
        """Take `amount`; the seconds to wait before using it. A negative amount gives back.

        `share`: the part of the rate that is this worker's.
        """
        rate = self._rate * share
        if self._at is not None:
            self._left = min(max(1.0, self._burst * share), self._left + (now - self._at) * rate)
        self._at = now
        self._left -= amount
        return max(0.0, -self._left / rate)
