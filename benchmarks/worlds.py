"""The engine of SQL worlds: calls a second, snapshot and restore, admission.

`python -m benchmarks.worlds`. Every rate stands beside that of bare `sqlite3` doing the same statements in the same
run: processor time of one thread, best of several rounds, so that a busy machine changes little.
"""

from __future__ import annotations

import asyncio
import gc
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path

from pipeline.assets import asset
from pipeline.config.trajectories import LimitsConfig
from pipeline.records import AgentProfile, Goal, Persona, Rubric, Task, ToolCall, Toolset, World
from pipeline.rollout.episode import Episode
from pipeline.worlds.admission import admit
from pipeline.worlds.load import load_world, parse_world
from pipeline.worlds.sql import SqlHost, SqlWorld

ROUNDS = 7
CALLS = 4_000

WORLD = {
    "name": "bench",
    "domain": "bench/bench/bench",
    "clock": "2026-03-02T08:00:00",
    "schema": "create table stock(item text primary key, amount integer not null, price real not null)",
    "generate": ["insert into stock select printf('I%03d', i), i * 10, i / 4.0 from numbers where i <= 500"],
    "tools": [
        {
            "name": "look",
            "read_only": True,
            "arguments": {"item": {"type": "string"}},
            "program": [
                {
                    "require": "select 1 from stock where item = :item",
                    "error": {"code": "NOT_FOUND", "message": "There is no such item."},
                },
                {"returns_one": "select item, amount, price from stock where item = :item"},
            ],
        },
        {
            "name": "count",
            "arguments": {"item": {"type": "string"}, "amount": {"type": "integer", "minimum": 0}},
            "program": [
                {"do": "update stock set amount = :amount where item = :item"},
                {"returns_one": "select amount from stock where item = :item"},
            ],
        },
    ],
}


def best(action: Callable[[], object], count: int) -> float:
    """Seconds of processor time for one of `count` actions, in the best of some rounds."""
    found = []
    for _ in range(ROUNDS):
        started = time.process_time()
        action()
        found.append((time.process_time() - started) / count)
    return min(found)


def bare(world: World) -> tuple[float, float]:
    """Seconds for the statements of `look` and of `count` (in a transaction) without any engine."""
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.deserialize(SqlWorld(world).runtime.image.data)
    for (name,) in connection.execute("select name from sqlite_master where type='trigger'").fetchall():
        connection.execute(f"drop trigger {name}")
    execute = connection.execute

    def look() -> None:
        for number in range(CALLS):
            bound = {"item": f"I{number % 500 + 1:03d}"}
            execute("select 1 from stock where item = :item", bound).fetchone()
            execute("select item, amount, price from stock where item = :item", bound).fetchone()

    def count() -> None:
        for number in range(CALLS):
            bound = {"item": f"I{number % 500 + 1:03d}", "amount": number}
            execute("begin")
            execute("update stock set amount = :amount where item = :item", bound)
            execute("select amount from stock where item = :item", bound).fetchone()
            execute("commit")

    return best(look, CALLS), best(count, CALLS)


def programs(world: World) -> tuple[float, float]:
    """Seconds for the two programs alone, arguments already bound: transaction, statements, triggers, coerced result,
    commit; not yet the difference and the references of the state."""
    live = SqlWorld(world)
    look, count = live.runtime.tools["look"], live.runtime.tools["count"]
    reads = [look.bind({"item": f"I{n % 500 + 1:03d}"}, live.clock, 1) for n in range(CALLS)]
    writes = [count.bind({"item": f"I{n % 500 + 1:03d}", "amount": n}, live.clock, 1) for n in range(CALLS)]

    def read() -> None:
        for bound in reads:
            live._guard.refill()
            live._steps(look, bound)
            live._result(look, live._execute(look.result, bound))

    def write() -> None:
        for bound in writes:
            live._guard.refill()
            live._execute("begin")
            live._steps(count, bound)
            live._result(count, live._execute(count.result, bound))
            live._execute("commit")
            live._ledger.forget()

    return best(read, CALLS), best(write, CALLS)


def booked(world: World) -> tuple[float, float]:
    """Seconds for the same with the state's hash, difference and references."""
    live = SqlWorld(world)
    look, count = live.runtime.tools["look"], live.runtime.tools["count"]
    reads = [look.bind({"item": f"I{n % 500 + 1:03d}"}, live.clock, 1) for n in range(CALLS)]
    writes = [count.bind({"item": f"I{n % 500 + 1:03d}", "amount": n}, live.clock, 1) for n in range(CALLS)]
    ref = live.ref

    def read() -> None:
        for bound in reads:
            live._run(look, bound, ref)

    def write() -> None:
        for bound in writes:
            live._run(count, bound, ref)
        live.reset()

    return best(read, CALLS), best(write, CALLS)


def calls(world: World) -> tuple[float, float]:
    """Seconds for `SqlWorld.call`: validation, binding, program, coercion, reference of the state."""
    live = SqlWorld(world)

    def read() -> None:
        for number in range(CALLS):
            live.call("look", {"item": f"I{number % 500 + 1:03d}"})

    def write() -> None:
        for number in range(CALLS):
            live.call("count", {"item": f"I{number % 500 + 1:03d}", "amount": number})
        live.reset()

    return best(read, CALLS), best(write, CALLS)


def episode_calls(world: World) -> tuple[float, float]:
    """Seconds for one call as an episode makes it: checks, the call, its JSON text, the event, the snapshot; in
    episodes of twenty calls, their opening and the reset after them included."""
    toolset = Toolset(tools=world.tools)
    task = Task(
        world=world.id,
        agent=AgentProfile(name="bench", system_prompt="", toolset=toolset),
        persona=Persona(name="bench", style="terse"),
        goals=(Goal(intent="count"),),
        rubric=Rubric(checks=()),
    )
    limits = LimitsConfig(calls=10**9, calls_per_turn=10**9, turns=10**9)
    host = SqlHost(world)
    many = 1_000
    rows = 20

    def made(name: str) -> list[tuple[int, ToolCall]]:
        found = []
        for number in range(many):
            arguments: dict[str, object] = {"item": f"I{number % rows + 1:03d}"}
            if name == "count":
                arguments["amount"] = number
            found.append(
                (0, ToolCall(id=f"c{number}", name=name, raw=f'{{"n": {number}}}', arguments=arguments))
            )
        return found

    async def run(found: list[tuple[int, ToolCall]]) -> None:
        for start in range(0, many, rows):
            episode = Episode(task, 0, 0, None, None, host, limits)  # type: ignore[arg-type]
            await episode._run_calls(found[start : start + rows])
            host.live.reset()

    looks, counts = made("look"), made("count")
    return best(lambda: asyncio.run(run(looks)), many), best(lambda: asyncio.run(run(counts)), many)


def states(world: World, changed: int = 5) -> tuple[float, float, float]:
    """Seconds for a snapshot and a restore that puts some rows back, for a reset, and for a new live copy."""
    live = SqlWorld(world)
    for number in range(changed):
        live.call("count", {"item": f"I{number + 1:03d}", "amount": 1})
    there = live.snapshot()
    live.call("count", {"item": "I400", "amount": 1})
    elsewhere = live.snapshot()

    def restore() -> None:
        for _ in range(100):
            live.restore(there)
            live.snapshot()
            live.restore(elsewhere)
            live.snapshot()

    def reset() -> None:
        for _ in range(200):
            live.call("count", {"item": "I001", "amount": 1})
            live.reset()

    def copy() -> None:
        for _ in range(50):
            SqlWorld(world).close()

    return best(restore, 200), best(reset, 200), best(copy, 50)


def admissions() -> None:
    """Seconds to load and to admit each world that ships with the project."""
    folder = Path(str(asset("tools_repo/worlds")))
    for path in sorted(folder.glob("*.yaml")):
        started = time.perf_counter()
        world = load_world(path)
        loaded = time.perf_counter()
        report = admit(world)
        done = time.perf_counter()
        verdict = "admitted" if report.admitted else "REJECTED"
        print(
            f"  {path.stem:16} load {(loaded - started) * 1e3:5.0f} ms, admit {(done - loaded) * 1e3:5.0f} ms for "
            f"{report.calls} calls: {verdict}"
        )


def main() -> None:
    """Prints all figures; targets stand in brackets."""
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)  # as a worker process does (pipeline/stages/units.py)
    world = parse_world(WORLD, where="benchmarks/worlds.py")
    bare_look, bare_count = bare(world)

    def line(what: str, look: float, count: float, target: str) -> None:
        print(
            f"{what:34} read {1 / look:9,.0f}/s ({look / bare_look:4.1f} x bare), "
            f"write {1 / count:9,.0f}/s ({count / bare_count:4.1f} x bare)  {target}"
        )

    line("bare sqlite3, two statements", bare_look, bare_count, "")
    line("bare program", *programs(world), "[100,000]")
    line("program with hash and difference", *booked(world), "")
    line("call, validated and coerced", *calls(world), "")
    line("call as an episode makes it", *episode_calls(world), "[25,000]")
    restore, reset, copy = states(world)
    print(
        f"snapshot + restore {restore * 1e6:.0f} us [100], write + reset {reset * 1e6:.0f} us, "
        f"new live copy {copy * 1e6:.0f} us"
    )
    print("admission:")
    admissions()


if __name__ == "__main__":
    main()
