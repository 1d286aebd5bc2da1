"""Fidelity of played tools: the harness against itself, small real models, and recorded calls on real servers.

`python -m benchmarks.fidelity_env [harness] [live] [servers] [NAME@BASE_URL …] [--calls N] [--skip N] [--beside]`

harness: SQL worlds hidden behind their specification, played by their own programs (must score 100 %) and by the same
with 10 % planted errors (must score 90 ± 2 %). live: starts real MCP servers (`time`, `memory`, `filesystem`,
`everything`, `sqlite`; the first run downloads them), records calls made up from their listings, makes them again on
fresh servers, and prints the share answered alike by tool. servers: the same calls through played hosts, played by a
fresh server of the same kind (what it loses, the engine loses). A model is given `--calls` calls, spread over the worlds and
over the number of changed rows, without any cache; with `--beside` the first `--calls` calls of a session of each server.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

from benchmarks import fidelity_servers
from pipeline.assets import asset
from pipeline.config.models import CacheConfig, Endpoint, Model, ModelsConfig
from pipeline.judging.intervals import Share
from pipeline.models import Models
from pipeline.models.players import ModelSimulator, Seat
from pipeline.records import Simulator, World
from pipeline.worlds.load import load_world
from pipeline.worlds.simulated import ErringSimulator, ProgramSimulator, SliceLimits
from pipeline.worlds.simulated.fidelity import BUCKETS, Compared, Sampled, bucket, compare, sample_calls

SMALL = SliceLimits(rows=4, characters=1_000)
"""What a small model is shown."""


def worlds() -> list[World]:
    return [load_world(path) for path in sorted(asset("tools_repo/worlds").glob("*.yaml"))]


def shown(share: Share) -> str:
    low, high = share.ci95 or (0.0, 1.0)
    return f"{share.value or 0:.4f} [{low:.3f}, {high:.3f}] of {share.of}"


def table(title: str, found: Sequence[Compared], seconds: float) -> None:
    agreed = Share(sum(one.agreed for one in found), len(found))
    print(f"{title}: {shown(agreed)} agree in all, {seconds:.0f} s")
    groups: dict[str, list[Compared]] = defaultdict(list)
    for one in found:
        groups[bucket(one.rows)].append(one)
    for name in BUCKETS:
        own = groups[name]
        if own:
            parts = {
                part: sum(getattr(one, part) for one in own) / len(own)
                for part in ("outcome", "schema", "values", "state")
            }
            text = ", ".join(f"{part} {share:.2f}" for part, share in parts.items())
            print(f"  {name:>4} rows: {shown(Share(sum(one.agreed for one in own), len(own)))}; {text}")


async def harness(per_world: int = 300) -> None:
    for rate in (0.0, 0.1):
        started, found = time.perf_counter(), list[Compared]()
        for world in worlds():
            truth = ProgramSimulator(world)
            player: Simulator = ErringSimulator(truth, rate) if rate else truth
            found += await compare(world, player, sample_calls(world, per_world, 1, 30))
            truth.close()
        table(f"the truth, {rate:.0%} wrong", found, time.perf_counter() - started)


def picked(count: int, skip: int) -> list[tuple[World, Sampled]]:
    """Calls of all worlds in turn, so that every prefix is spread over worlds and numbers of rows."""
    pools = [(world, sample_calls(world, 12, 5)) for world in worlds()]
    turns = [
        (world, calls[(number + place) % len(calls)])
        for number in range(12)
        for place, (world, calls) in enumerate(pools)
    ]
    return turns[skip : skip + count]


async def model(address: str, count: int, skip: int, beside: Sequence[str] | None) -> None:
    name, _, url = address.partition("@")
    config = ModelsConfig(
        endpoints={"default": Endpoint(base_url=url)},
        models={"m": Model(name=name, max_tokens=700)},
        cache=CacheConfig(enabled=False),
        repairs=0,
    )
    found: list[Compared] = []
    started = time.perf_counter()
    async with Models(config) as models:
        player = ModelSimulator(Seat(models, "m", "simulator"))
        if beside is not None:
            await fidelity_servers.measure(beside, player, count, SMALL)
            return
        for world, call in picked(count, skip):
            (one,) = await compare(world, player, [call], repairs=0, limits=SMALL)
            found.append(one)
            print(
                f"  {world.name} {call.tool} {one.rows} rows: {one.got}, agrees {one.agreed} {one.detail[:110]}",
                flush=True,
            )
        totals = models.ledger.totals
    table(f"{name}, calls {skip} to {skip + len(found)}", found, time.perf_counter() - started)
    print(f"  {totals.calls} requests, {totals.tokens_in} tokens in, {totals.tokens_out} out")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("what", nargs="+", help="harness, live, or NAME@BASE_URL")
    parser.add_argument("--calls", type=int, default=24)
    parser.add_argument("--skip", type=int, default=0)
    parser.add_argument("--only", default="", help="live: words in the names of servers, separated by commas")
    parser.add_argument("--beside", action="store_true", help="a model: beside real servers")
    options = parser.parse_args()
    only = [word for word in options.only.split(",") if word]
    for what in options.what:
        if what == "harness":
            asyncio.run(harness())
        elif what == "live":
            asyncio.run(live(only))
        elif what == "servers":
            asyncio.run(fidelity_servers.measure(only, None, 0, SliceLimits()))
        else:
            asyncio.run(model(what, options.calls, options.skip, only if options.beside else None))


async def live(only: Iterable[str]) -> None:
    from benchmarks.replay_rate import measure

    with tempfile.TemporaryDirectory() as folder:
        await measure(Path(folder), list(only))


if __name__ == "__main__":
    main()
