"""The limit finds what an endpoint bears: simulated endpoints, exact arithmetic, no clock."""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.config.models import Limits
from pipeline.models.limits import AdaptiveLimit, Pace

Behavior = Callable[[int, float], "tuple[float, bool]"]
"""(calls in flight, time) to (seconds, whether the answer is good)."""


def run(limit: AdaptiveLimit, behave: Behavior, seconds: float) -> tuple[int, list[tuple[float, int]]]:
    """Keep as many calls in flight as allowed; the number of good answers, and the limit over time."""
    now, good, history = 0.0, 0, [(0.0, limit.limit)]
    flying: list[tuple[float, int, float, bool]] = []
    number = 0
    while now < seconds:
        while len(flying) < limit.limit:
            took, fine = behave(len(flying) + 1, now)
            heapq.heappush(flying, (now + took, number, now, fine))
            number += 1
        saturated = len(flying) >= limit.limit
        now, _, started, fine = heapq.heappop(flying)
        if fine:
            good += 1
            limit.succeeded(started, now, saturated=saturated)
        else:
            limit.rejected(started, now)
        history.append((now, limit.limit))
    return good, history


def test_it_reaches_the_ceiling_within_a_few_round_trips() -> None:
    limit = AdaptiveLimit(Limits(start=8, most=256))
    _, history = run(limit, lambda flying, now: (0.2, True), 4.0)
    reached = next(at for at, value in history if value == 256)
    assert reached <= 20 * 0.2
    assert max(value for _, value in history) == 256


def test_a_fixed_limit_stays() -> None:
    limit = AdaptiveLimit(Limits(concurrency=64))
    _, history = run(limit, lambda flying, now: (0.2, flying % 3 != 0), 4.0)
    assert {value for _, value in history} == {64}


def test_it_stays_near_what_a_server_with_few_seats_bears() -> None:
    def seats(flying: int, now: float) -> tuple[float, bool]:
        return (0.2, True) if flying <= 40 else (0.2, False)

    limit = AdaptiveLimit(Limits(start=8, most=512))
    good, history = run(limit, seats, 60.0)
    late = [value for at, value in history if at > 20]
    assert max(late) < 128
    assert good >= 0.6 * 40 / 0.2 * 60


def test_it_stops_growing_when_answers_slow_down() -> None:
    def queueing(flying: int, now: float) -> tuple[float, bool]:
        return 0.2 * max(1.0, flying / 32), True

    limit = AdaptiveLimit(Limits(start=8, most=2000))
    _, history = run(limit, queueing, 60.0)
    assert max(value for _, value in history) < 400


@pytest.mark.parametrize("share", [0.05, 0.2, 0.35])
@pytest.mark.parametrize("fast", [True, False])
@pytest.mark.parametrize("seed", range(5))
def test_random_rejections_do_not_throttle(share: float, fast: bool, seed: int) -> None:
    numbers = random.Random(seed)

    def lottery(flying: int, now: float) -> tuple[float, bool]:
        fine = numbers.random() >= share
        return (0.2 if fine or not fast else 0.01), fine

    limit = AdaptiveLimit(Limits(start=8, most=64))
    good, _ = run(limit, lottery, 60.0)
    ideal, _ = run(AdaptiveLimit(Limits(concurrency=64)), lottery, 60.0)
    assert limit.noise > 0
    assert good >= 0.8 * ideal


def test_a_storm_brings_it_down_and_its_end_brings_it_back() -> None:
    def storm(flying: int, now: float) -> tuple[float, bool]:
        return 0.2, not 10 < now < 15

    limit = AdaptiveLimit(Limits(start=8, most=128))
    _, history = run(limit, storm, 60.0)
    assert min(value for at, value in history if 10 < at < 16) <= 8
    assert max(value for at, value in history if at > 40) >= 64


@given(
    st.lists(st.tuples(st.booleans(), st.floats(0, 5)), max_size=300), st.integers(1, 50), st.integers(1, 300)
)
def test_it_never_leaves_its_bounds(events: list[tuple[bool, float]], start: int, most: int) -> None:
    limit, now = AdaptiveLimit(Limits(start=start, most=most)), 0.0
    for good, seconds in events:
        now += seconds / 10
        if good:
            limit.succeeded(max(0.0, now - seconds), now, saturated=True)
        else:
            limit.rejected(max(0.0, now - seconds), now)
        assert 1 <= limit.limit <= max(most, 1)


@given(
    st.lists(st.tuples(st.floats(0, 3), st.integers(1, 20)), min_size=1, max_size=100), st.integers(1, 6000)
)
def test_the_pace_is_kept(asked: list[tuple[float, int]], per_minute: int) -> None:
    pace, now, used, burst = Pace(per_minute), 0.0, 0, max(1.0, per_minute / 12)
    for gap, amount in asked:
        now += gap
        ready = now + pace.reserve(amount, now)
        used += amount
        assert used <= burst + ready * per_minute / 60 + 1e-6
