"""Containers started ahead, used once, bounded per engine; the one place that retries what an engine failed."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from types import TracebackType
from typing import TypeVar

from pipeline.config.sandbox import SandboxSection
from pipeline.records.errors import SandboxError
from pipeline.sandbox.box import BoxEnded, GuestError, Sandbox
from pipeline.sandbox.engine import Engine
from pipeline.sandbox.images import build_image, find_image
from pipeline.sandbox.sweep import sweep

T = TypeVar("T")
log = logging.getLogger(__name__)

REST_SECONDS = 10.0
"""How long an engine that failed is left alone while another one works."""
STARTS = 4
"""Containers that start at the same time on one engine; more only time each other out."""


@dataclass(eq=False)
class _Place:
    """One engine with its room and its warm boxes, by image."""

    engine: Engine
    room: asyncio.Semaphore
    starts: asyncio.Semaphore
    digests: dict[str, str] = field(default_factory=dict)
    warm: dict[str, deque[asyncio.Task[Sandbox]]] = field(default_factory=dict)
    used: int = 0
    rests_until: float = 0.0


class Pool:
    """Sandboxes on one or several engines. An async context manager.

    `box()` waits while all places are taken: callers are held back, the engines never flooded. Leftovers of dead
    owners are swept on entry; on exit everything of this pool is gone.
    """

    def __init__(self, limits: SandboxSection | None = None, *, run: str = "", build: bool = False) -> None:
        self.limits = limits or SandboxSection()
        self._run = run
        self._build = build
        self._places: list[_Place] = []
        self._closing: set[asyncio.Task[None]] = set()
        self._freed = asyncio.Condition()
        self._stack = contextlib.AsyncExitStack()

    async def __aenter__(self) -> Pool:
        problems = []
        for host in self.limits.hosts or ("",):
            try:
                engine = await self._stack.enter_async_context(Engine(host))
                await sweep(engine)
            except SandboxError as error:
                problems.append(error)
                continue
            room = asyncio.Semaphore(self.limits.parallel)
            self._places.append(_Place(engine, room, asyncio.Semaphore(STARTS)))
        if not self._places:
            await self._stack.aclose()
            raise problems[0]
        for problem in problems:
            log.warning("%s Going on without it.", problem)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.shield(asyncio.ensure_future(self._close()))

    async def _close(self) -> None:
        waiting = [task for place in self._places for boxes in place.warm.values() for task in boxes]
        for started in await asyncio.gather(*waiting, return_exceptions=True):
            if isinstance(started, Sandbox):
                self._closing.add(asyncio.ensure_future(started.close()))
        for result in await asyncio.gather(*self._closing, return_exceptions=True):
            if isinstance(result, SandboxError):
                log.warning("%s", result)
        await self._stack.aclose()

    async def digest(self, image: str) -> str:
        """The digest of a recipe's image on the first engine. Raises SandboxError when it is not there."""
        return await self._digest(self._places[0], image)

    @contextlib.asynccontextmanager
    async def box(self, image: str = "python") -> AsyncIterator[Sandbox]:
        """A fresh box of `image`, destroyed afterwards. Raises SandboxError when no engine can give one."""
        place = await self._acquire()
        box: Sandbox | None = None
        try:
            box = await self._take(place, image)
            yield box
        except SandboxError:
            place.rests_until = time.monotonic() + REST_SECONDS
            raise
        finally:
            closing = asyncio.ensure_future(self._release(place, box))
            self._closing.add(closing)
            closing.add_done_callback(self._closing.discard)

    async def retrying(self, image: str, work: Callable[[Sandbox], Awaitable[T]]) -> T:
        """`work` in a fresh box, again in another one when the engine failed. Raises the last SandboxError."""
        for attempt in range(self.limits.retries + 1):
            try:
                async with self.box(image) as box:
                    return await work(box)
            except SandboxError as error:
                if attempt == self.limits.retries:
                    raise
                log.warning("%s Trying again.", error)
                await asyncio.sleep(0.2 * 2**attempt)
        raise AssertionError("unreachable")

    async def _acquire(self) -> _Place:
        async with self._freed:
            while True:
                now = time.monotonic()
                fit = [place for place in self._places if not place.room.locked()]
                rested = [place for place in fit if place.rests_until <= now]
                if rested or (fit and all(place.rests_until > now for place in self._places)):
                    place = min(rested or fit, key=lambda each: each.used)
                    await place.room.acquire()
                    place.used += 1
                    return place
                await self._freed.wait()

    async def _release(self, place: _Place, box: Sandbox | None) -> None:
        try:
            if box is not None:
                await box.close()
        except SandboxError as error:
            log.warning("%s", error)
        finally:
            place.room.release()
            place.used -= 1
            async with self._freed:
                self._freed.notify()

    async def _take(self, place: _Place, image: str) -> Sandbox:
        """A warm box that still answers, or a new one; and others are started in its place."""
        digest = await self._digest(place, image)
        warm = place.warm.setdefault(image, deque())
        box: Sandbox | None = None
        while warm and box is None:
            box = await self._alive(warm.popleft())
        while len(warm) < self.limits.ahead:
            warm.append(asyncio.ensure_future(self._start(place, digest)))
        return box or await self._start(place, digest)

    async def _alive(self, started: asyncio.Task[Sandbox]) -> Sandbox | None:
        try:
            box = await started
            await box.reap()
        except (SandboxError, BoxEnded, GuestError) as error:
            log.info("A container that was started ahead is of no use: %s", error)
            if started.done() and not started.cancelled() and started.exception() is None:
                await started.result().close()
            return None
        return box

    async def _start(self, place: _Place, digest: str) -> Sandbox:
        async with place.starts:
            box = Sandbox(place.engine, digest, self.limits, run=self._run)
            return await box.__aenter__()

    async def _digest(self, place: _Place, image: str) -> str:
        if image not in place.digests:
            if self._build:
                found = (await build_image(place.engine, image, cache=self.limits.cache)).digest
            else:
                found = await find_image(place.engine, image)
            place.digests[image] = found
        return place.digests[image]
