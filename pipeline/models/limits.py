"""How many calls may be in flight at one (endpoint, model): found by watching what the endpoint does.

Plain arithmetic on reported events, without clock or event loop; `lane` applies it.
"""

from __future__ import annotations

from dataclasses import dataclass

from pipeline.config.models import Limits

_LEAST_ROUND = 8
_STRETCH = 3.0
"""Growth stops when a round's mean latency exceeds the best one by this factor."""
_MOST_NOISE = 0.5


@dataclass(slots=True)
class _Round:
    """Completions since `started`: about as many as calls may be in flight."""

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

    def rate(self, now: float) -> float:
        return self.good / max(now - self.started, 1e-6)


@dataclass(frozen=True, slots=True)
class _Cut:
    """The last halving: from which limit, and what the endpoint answered a second there (None: unknown)."""

    at: float
    limit: float
    rate: float | None


class AdaptiveLimit:
    """Doubles each round trip until the endpoint rejects or slows, then grows by 5 % a round; halves on rejection.

    Some endpoints reject a share of calls however few there are. Halving then costs throughput and helps nothing:
    when a cut brings the rate of good answers down and leaves the share of rejections where it was, the old limit is
    restored and that share counts as noise.
    """

    def __init__(self, limits: Limits) -> None:
        self.fixed = limits.concurrency is not None
        self.most = limits.ceiling
        self._limit = float(limits.concurrency or min(limits.start, limits.most))
        self._threshold = float(self.most)
        self._best = 0.0
        self._round: _Round | None = None
        self._last: tuple[float, float] | None = None
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
        round_ = self._count(started, now)
        if round_ is not None:
            round_.good += 1
            round_.seconds += now - started
        if saturated and self._cut is None and self._holds():
            step = 1.0 if self._limit < self._threshold else max(1.0, 0.05 * self._limit) / self._limit
            self._limit = min(float(self.most), self._limit + step)
        self._finish(now)

    def rejected(self, started: float, now: float) -> None:
        """A call sent at `started` met a rate limit or an overload."""
        if self.fixed:
            return
        round_ = self._count(started, now)
        if round_ is None:
            return
        round_.rejected += 1
        if self._cut is None and self.noise == 0.0:
            self._halve(now)
        else:
            self._finish(now)

    def _holds(self) -> bool:
        """Whether latency still is what it was with few calls in flight."""
        round_ = self._round
        if not self._best or round_ is None or round_.good < _LEAST_ROUND:
            return True
        return round_.seconds / round_.good <= _STRETCH * self._best

    def _count(self, started: float, now: float) -> _Round | None:
        """The round in which a completion counts; none while calls from before a cut are still coming back."""
        if self._round is None:
            if self._cut is not None and started < self._cut.at:
                return None
            self._round = _Round(started=now if self._cut else started, size=max(_LEAST_ROUND, self.limit))
        return self._round

    def _finish(self, now: float) -> None:
        round_ = self._round
        if round_ is None or round_.done < round_.size:
            return
        self._round = None
        if round_.good:
            mean = round_.seconds / round_.good
            self._best = min(self._best * 1.05, mean) if self._best else mean
            if mean > _STRETCH * self._best and self._cut is None:
                self._limit = self._threshold = max(1.0, self._limit * 0.9)
        rate = round_.rate(now)
        if self._cut is not None:
            self._judge(self._cut, round_, rate)
            self._cut = None
        elif round_.share > 1.5 * self.noise + 0.1 and self.noise:
            self.noise = 0.0
            self._halve(now)
            return
        self._last = (self._limit, rate)

    def _judge(self, cut: _Cut, round_: _Round, rate: float) -> None:
        """Whether the cut helped; if it only cost, take it back."""
        costly = cut.rate is not None and rate < 0.75 * cut.rate
        if costly and 0.0 < round_.share <= _MOST_NOISE:
            self.noise = round_.share
            self._limit = cut.limit
            self._threshold = float(self.most)

    def _halve(self, now: float) -> None:
        rate = self._last[1] if self._last is not None else None
        self._cut = _Cut(at=now, limit=self._limit, rate=rate)
        self._limit = self._threshold = max(1.0, self._limit / 2)
        self._round = None


class Pace:
    """At most `per_minute` units a minute, with up to five seconds' worth at once. Times in seconds."""

    def __init__(self, per_minute: float) -> None:
        self._rate = per_minute / 60.0
        self._burst = max(1.0, self._rate * 5.0)
        self._left = self._burst
        self._at: float | None = None

    def reserve(self, amount: float, now: float) -> float:
        """Take `amount`; the seconds to wait before using it. A negative amount gives back."""
        if self._at is not None:
            self._left = min(self._burst, self._left + (now - self._at) * self._rate)
        self._at = now
        self._left -= amount
        return max(0.0, -self._left / self._rate)
