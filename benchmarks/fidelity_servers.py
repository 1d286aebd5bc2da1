"""Played tools beside real servers: recorded sessions given to a simulator (see `fidelity_env.py`).

The perfect simulator asks a fresh server of the same kind: what it loses, the engine's checks and the comparison lose.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Sequence
from typing import Any

from benchmarks.replay_rate import PLANS, listed, record
from pipeline.config.tools import IngestConfig
from pipeline.config.trajectories import LiveConfig
from pipeline.judging.intervals import Share
from pipeline.records import Json, Scene, SimulatedCall, Simulator, ToolSpec
from pipeline.teacher.played import empty_world
from pipeline.worlds.live import LiveHost
from pipeline.worlds.replaying import AnsweredAgain, RecordedCall, answered_again
from pipeline.worlds.server_pool import Servers
from pipeline.worlds.simulated import Memory, SimulatedHost, SliceLimits

SESSIONS = 2


class ServerSimulator:
    """Answers as a real server does, one session long. What it writes stays with it: the patch is empty."""

    name = "the server itself"

    def __init__(self, host: LiveHost) -> None:
        self._host = host

    async def answer(
        self,
        tool: ToolSpec,
        arguments: dict[str, Json],
        scene: Scene,
        tried: Sequence[tuple[SimulatedCall, str]] = (),
    ) -> SimulatedCall:
        said = await self._host.call(tool.name, arguments)
        return SimulatedCall(result=said.value, error=said.error)


async def beside(
    calls: Sequence[RecordedCall], simulator: Simulator, limits: SliceLimits, *, memory: bool = True
) -> list[AnsweredAgain]:
    """One session on a played host whose tables begin empty."""
    world = empty_world(list({call.tool.name: call.tool for call in calls}.values()), 7)
    kept = Memory() if memory else Memory(kept=Nothing())
    host = SimulatedHost(world, simulator, repairs=0, limits=limits, memory=kept)
    try:
        return await answered_again(calls, host)
    finally:
        await host.close()


class Nothing(dict[Any, Any]):
    """What is remembered of a server that plays itself: its state does not show in the tables, so equal calls in equal
    tables may be answered otherwise."""

    def __setitem__(self, key: Any, value: Any) -> None:
        """Forgets it at once."""


async def measure(only: Sequence[str], player: Simulator | None, most: int, limits: SliceLimits) -> None:
    """Each server's sessions, played by the server itself or by `player` (up to `most` calls of each server)."""
    everything: list[AnsweredAgain] = []
    for name, (entry, plan) in PLANS.items():
        if only and not any(word in name for word in only):
            continue
        tools = await listed(name, entry)
        if not tools:
            continue
        started, found = time.perf_counter(), list[AnsweredAgain]()
        async with Servers({name: entry}, IngestConfig(), LiveConfig()) as servers:
            for number in range(SESSIONS if player is None else 1):
                calls = await record(tools, plan(random.Random(f"{name}/{number}")), servers)
                if player is not None:
                    found += await beside(calls[:most], player, limits)
                    continue
                host = await LiveHost.open(list(tools.values()), servers)
                try:
                    found += await beside(calls, ServerSimulator(host), limits, memory=False)
                finally:
                    await host.close()
        said = player.name if player is not None else ServerSimulator.name
        table(f"{name}, played by {said}", found, time.perf_counter() - started)
        everything += found
    table("all servers", everything, 0.0)


def table(title: str, found: Sequence[AnsweredAgain], seconds: float) -> None:
    parts = {
        "all": [one.alike for one in found],
        "outcome": [one.outcome for one in found],
        "schema": [one.fits for one in found if one.fits is not None],
        "values": [one.values for one in found],
        "state": [one.state for one in found if one.state is not None],
    }
    print(f"{title}, {seconds:.0f} s:", flush=True)
    for part, held in parts.items():
        share = Share(sum(map(bool, held)), len(held))
        low, high = share.ci95 or (0.0, 1.0)
        print(
            f"  {part:<8} {share.of:>4} calls"
            + (f"  {share.value:.3f} [{low:.3f}, {high:.3f}]" if held else "")
        )
    apart = Counter(f"{one.call.tool.name} {one.why} {one.got}" for one in found if not one.alike)
    for text, count in apart.most_common(6):
        print(f"    differs: {text} ({count})")
