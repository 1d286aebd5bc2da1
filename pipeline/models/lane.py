"""The way to one (endpoint, model): slots, pauses, pace, and the breaker that stops a run whose endpoint is down."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable

from pipeline.config.models import Resolved
from pipeline.models.crew import Crew
from pipeline.models.limits import AdaptiveLimit, Pace
from pipeline.models.retries import CallError, Trouble, delay
from pipeline.records import EndpointDown

log = logging.getLogger("tracemill.models")

_SUSPICIOUS = 3
"""So many different requests failing in a row, and as many as may be in flight, with none succeeding, point at the
endpoint and not at a request."""

_ALL_REFUSED = 20
"""So many requests refused as malformed before the first answer stop the run."""
_ASK_SECONDS = 0.5
"""How often a worker without a part of the limit looks whether it has one."""
_MEMORY = 0.1
"""Weight of the newest call in the moving share of rejected calls. Where most are rejected, a Retry-After is for all of
them; else for the one request that was told so."""


class Lane:
    """Lets calls in as the limit allows. All methods belong to one event loop."""

    def __init__(
        self, target: Resolved, clock: Callable[[], float] = time.monotonic, crew: Crew | None = None
    ) -> None:
        self.name = f"{target.wire_name} at {target.endpoint.base_url}"
        self._patience = target.endpoint.patience
        self._clock = clock
        self._crew = crew
        self.adaptive = AdaptiveLimit(target.limits)
        self._requests = Pace(target.limits.rpm) if target.limits.rpm else None
        self._tokens = Pace(target.limits.tpm) if target.limits.tpm else None
        self.in_flight = 0
        self._queue: deque[asyncio.Future[None]] = deque()
        self._paused_until = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._failing: set[int] = set()
        self._failing_since = 0.0
        self._suspicions = 0
        self._rejected = 0.0
        self._has_answered = False
        self._refusals = 0
        self._proven_up = False
        self._down: EndpointDown | None = None
        self.probing = False

    @property
    def limit(self) -> int:
        """Calls that may be in flight now: one only while the endpoint is under suspicion."""
        if self._crew is None:
            return 1 if self.suspected else self.adaptive.limit
        return min(self._crew.part(self.adaptive.most), 1 if self.suspected else self.adaptive.limit)

    @property
    def suspected(self) -> bool:
        """Whether the endpoint itself, not single requests, seems to fail."""
        return len(self._failing) >= max(_SUSPICIOUS, self.adaptive.limit) and not self._proven_up

    @property
    def waiting(self) -> int:
        return len(self._queue)

    async def enter(self, tokens: int, *, again: bool = False) -> float:
        """Wait for a slot; the time it was given. `tokens`: an estimate for the pace. Raises EndpointDown.

        What is tried `again` goes before what has not been tried, or all repetitions would pile up at the end.
        """
        self.check()
        if self._queue or self.in_flight >= self.limit or self._clock() < self._paused_until:
            slot: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            if again:
                self._queue.appendleft(slot)
            else:
                self._queue.append(slot)
            self._admit()
            try:
                await slot
            except asyncio.CancelledError:
                if slot.done() and not slot.cancelled() and slot.exception() is None:
                    self.leave()
                raise
        else:
            self.in_flight += 1
        wait = self._pace(tokens)
        if wait > 0:
            try:
                await asyncio.sleep(wait)
                self.check()
            except BaseException:
                self.leave()
                raise
        return self._clock()

    def leave(self) -> None:
        """Give the slot back."""
        self.in_flight -= 1
        self._admit()

    def check(self) -> None:
        """Raises EndpointDown once the endpoint has been given up."""
        if self._down is not None:
            raise EndpointDown(self._down.what, way_out=self._down.way_out)

    def succeeded(self, started: float, *, pause: float, tokens: int) -> None:
        """A good answer. `tokens`: what was used beyond the estimate. Called before `leave`."""
        self._has_answered = True
        self._failing.clear()
        self._rejected -= _MEMORY * self._rejected
        self._suspicions = 0
        self._proven_up = False
        self.adaptive.succeeded(started, self._clock(), saturated=self.in_flight >= self.limit)
        if self._tokens is not None:
            self._tokens.reserve(tokens, self._clock())
        if pause:
            self._pause(pause)

    def failed(self, request: int, started: float, error: CallError) -> bool:
        """A call brought no answer; whether that uses up one of the request's tries. Called before `leave`."""
        now = self._clock()
        if error.trouble is Trouble.NOT_AN_API and self._has_answered:
            # An address that has answered is right: this is a gateway's page
            error.trouble = Trouble.SERVER_ERROR
        if error.rule.fatal:
            self.give_up(f"{self.name} cannot be used: {error.message}", error.rule.way_out)
            return True
        if not error.rule.retry:
            self._note_refusal(error)
            return True
        if error.retry_after is not None:
            # Who asks for more than its patience is asked again once, and the run pauses if it insists
            error.retry_after = min(error.retry_after, self._patience)
        if not self._failing:
            self._failing_since = started
        self._failing.add(request)
        if error.rule.slows:
            self.adaptive.rejected(started, now)
            self._rejected += _MEMORY * (1.0 - self._rejected)
            if error.retry_after and self._rejected > 0.5:
                self._pause(error.retry_after)
        if self.suspected:
            self._suspicions += 1
            self._pause(delay(self._suspicions, cap=min(5.0, self._patience / 4)))
        return (error.rule.counts or self._proven_up) and not self.suspected

    def backoff(self, attempt: int, error: CallError) -> float:
        """Seconds before the next try. They hardly grow where most calls are let in: waiting longer helps nobody there."""
        by_chance = error.rule.slows and self._rejected < 0.5
        return delay(min(attempt, 2) if by_chance else attempt, error.retry_after)

    def _note_refusal(self, error: CallError) -> None:
        """Requests that are refused from the first on are refused for what they have in common: the settings."""
        if error.trouble is Trouble.BAD_REQUEST and not self._has_answered:
            self._refusals += 1
            if self._refusals >= _ALL_REFUSED:
                self.give_up(f"{self.name} refuses every request: {error.message}", error.rule.way_out)

    @property
    def out_of_patience(self) -> bool:
        """Whether the endpoint has failed for so long that it must be probed or given up."""
        return bool(self._failing) and self._clock() - self._failing_since > self._patience

    def proven_up(self) -> None:
        """A probe succeeded: what fails are the requests themselves, and their tries count."""
        self._proven_up = True
        self._failing_since = self._clock()

    def give_up(self, what: str, way_out: str) -> None:
        """Let nobody in any more: every waiting and every later call raises EndpointDown. Said once."""
        if self._down is None:
            self._down = EndpointDown(what, way_out=way_out)
            log.error("%s", self._down)
        for slot in self._queue:
            if not slot.done():
                slot.set_exception(EndpointDown(what, way_out=way_out))
        self._queue.clear()

    def _pace(self, tokens: int) -> float:
        if self._requests is None and self._tokens is None:
            return 0.0
        now, share = self._clock(), self._crew.share if self._crew else 1.0
        return max(
            self._requests.reserve(1, now, share) if self._requests else 0.0,
            self._tokens.reserve(tokens, now, share) if self._tokens else 0.0,
        )

    def _pause(self, seconds: float) -> None:
        self._paused_until = max(self._paused_until, self._clock() + seconds)

    def _admit(self) -> None:
        """Let in from the queue what the limit allows; come back when a pause ends."""
        wait = self._paused_until - self._clock()
        if wait > 0:
            if self._queue and (self._timer is None or self._timer.cancelled()):
                self._timer = asyncio.get_running_loop().call_later(wait, self._resume)
            return
        while self._queue and self.in_flight < self.limit:
            slot = self._queue.popleft()
            if not slot.done():
                self.in_flight += 1
                slot.set_result(None)
        if self._queue and not self.in_flight and self._timer is None:
            # Nothing of ours will end, and so ask again: another worker has all there is
            self._timer = asyncio.get_running_loop().call_later(_ASK_SECONDS, self._resume)

    def _resume(self) -> None:
        self._timer = None
        self._admit()

    def close(self) -> None:
        """Forget the timer, and leave the limit to others."""
        if self._timer is not None:
            self._timer.cancel()
        if self._crew is not None:
            self._crew.leave()
