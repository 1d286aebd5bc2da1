"""Containers started ahead, used once, bounded per engine; the one place that retries what an engine failed."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from enum import IntEnum
from types import TracebackType
from typing import TypeVar

from pipeline.config.sandbox import SandboxSection
from pipeline.records.errors import SandboxError
from pipeline.sandbox.box import BoxEnded, GuestError, Sandbox
from pipeline.sandbox.engine import LABEL, START, Engine
from pipeline.sandbox.images import build_image, find_image
from pipeline.sandbox.sweep import sweep

T = TypeVar("T")
log = logging.getLogger(__name__)

REST_SECONDS = 10.0
"""How long an engine that failed is left alone while another one works."""
ASK_SECONDS = 0.5
"""Between two questions to an engine that does not answer."""
STARTS = 4
"""Containers that start at the same time on one engine; more only time each other out."""


class _State(IntEnum):
    """The lower, the better a place to work."""

    READY = 0
    RESTING = 1
    """It failed and answers again: used while no other engine is ready."""
    LOST = 2
    """It does not answer (it is being restarted, say): not used."""


@dataclass(eq=False)
class _Place:
    """One engine with its room and its warm boxes, by image."""

    engine: Engine
    room: asyncio.Semaphore
    starts: asyncio.Semaphore
    digests: dict[str, str] = field(default_factory=dict)
    warm: dict[str, deque[asyncio.Task[Sandbox]]] = field(default_factory=dict)
    used: int = 0
    state: _State = _State.READY
    watch: asyncio.Task[None] | None = None


class Pool:
    """Sandboxes on one or several engines. An async context manager.

    `box()` waits while all places are taken: callers are held back, the engines never flooded. An engine that goes
    away is waited for, `limits.patience` seconds at most; what ran on it is lost, and tried again by `retrying`.
    Leftovers of dead owners are swept on entry; on exit everything of this pool is gone.
    """

    def __init__(self, limits: SandboxSection | None = None, *, run: str = "", build: bool = False) -> None:
        self.limits = limits or SandboxSection()
        self._run = run
        self._name = secrets.token_hex(6)
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
        for place in self._places:
            if place.watch is not None:
                place.watch.cancel()
        waiting = [task for place in self._places for boxes in place.warm.values() for task in boxes]
        for started in await asyncio.gather(*waiting, return_exceptions=True):
            if isinstance(started, Sandbox):
                self._closing.add(asyncio.ensure_future(started.close()))
        for result in await asyncio.gather(*self._closing, return_exceptions=True):
            if isinstance(result, SandboxError):
                log.warning("%s", result)
        for place in self._places:
            try:
                await sweep(place.engine, lambda labels: labels.get(f"{LABEL}.pool") == self._name)
            except SandboxError as error:
                log.warning("%s What is left there goes with the next sweep.", error)
        await self._stack.aclose()

    @contextlib.asynccontextmanager
    async def box(self, image: str = "python") -> AsyncIterator[Sandbox]:
        """A fresh box of `image`, destroyed afterwards. Raises SandboxError when no engine can give one."""
        place = await self._acquire()
        box: Sandbox | None = None
        try:
            box = await self._take(place, image)
            yield box
        except SandboxError:
            self._doubt(place)
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
        """Room on the best engine. Raises SandboxError when none answers for as long as `patience` allows."""
        async with self._freed:
            while True:
                best = min(place.state for place in self._places)
                fit = [place for place in self._places if place.state is best and not place.room.locked()]
                if best is _State.LOST:
                    await self._wait_for_an_engine()
                elif fit:
                    place = min(fit, key=lambda each: each.used)
                    await place.room.acquire()
                    place.used += 1
                    return place
                else:
                    await self._freed.wait()

    async def _wait_for_an_engine(self) -> None:
        try:
            async with asyncio.timeout(self.limits.patience):
                await self._freed.wait()
        except TimeoutError as error:
            raise SandboxError(
                f"No Docker engine has answered for {self.limits.patience:g} seconds.", way_out=START
            ) from error

    def _doubt(self, place: _Place) -> None:
        """A place whose engine failed is not used before the engine answers, and is then the last choice for a while."""
        if place.watch is not None:
            place.watch.cancel()
        place.state = _State.LOST
        place.digests.clear()  # another engine may come back, without our images
        place.watch = asyncio.ensure_future(self._watch(place))

    async def _watch(self, place: _Place) -> None:
        while not await place.engine.answers():  # noqa: ASYNC110 - the engine has no event to wait for
            await asyncio.sleep(ASK_SECONDS)
        await self._better(place, _State.RESTING)
        await asyncio.sleep(REST_SECONDS)
        await self._better(place, _State.READY)

    async def _better(self, place: _Place, state: _State) -> None:
        async with self._freed:
            place.state = state
            self._freed.notify_all()

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
            box = Sandbox(place.engine, digest, self.limits, run=self._run, pool=self._name)
            return await box.__aenter__()

    async def _digest(self, place: _Place, image: str) -> str:
        if image not in place.digests:
            if self._build:
                found = (await build_image(place.engine, image, cache=self.limits.cache)).digest
            else:
                found = await find_image(place.engine, image)
            place.digests[image] = found
        return place.digests[image]
