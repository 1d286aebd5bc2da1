"""The store at 100,000 trajectories: export, figures, catalog, journal, each beside its physical limit.

    python -m benchmarks.store [COUNT]

The trajectories are made up from a shipped world's tools: 60 % of 12 events, 40 % of 20, results of some hundred
characters, so that a row has the size of a real one. Making them is not timed.
"""

from __future__ import annotations

import json
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.config.publish import PublishSection
from pipeline.records import (
    AgentProfile,
    Domain,
    EndReason,
    Event,
    Goal,
    Judgement,
    Owner,
    Persona,
    Provenance,
    Rubric,
    StateCheck,
    Task,
    ToolCall,
    Toolset,
    ToolSpec,
    Trajectory,
    Value,
    Verdict,
    World,
    trajectory_id,
)
from pipeline.report.stats import collect, text
from pipeline.store import Catalog, RunFolder, funnel_row, gather, task_row, trajectory_rows, world_row
from pipeline.store.export import FORMATS
from pipeline.store.export.candidates import attempts
from pipeline.store.export.convert import Job, Plan, convert

UNIT = 500
WORDS = (Path(__file__).parent.parent / "docs" / "worlds.md").read_text(encoding="utf-8").split()


def _text(draw: random.Random, words: int) -> str:
    return " ".join(draw.choices(WORDS, k=words)).replace("<", "(").replace("|", "/")


def _tool(draw: random.Random, number: int) -> ToolSpec:
    properties = {
        f"{draw.choice('from to at id name city day'.split())}_{i}": {
            "type": "string",
            "description": _text(draw, 9),
        }
        for i in range(draw.randint(1, 5))
    }
    return ToolSpec(
        name=f"tool_{number}_{draw.randrange(1000)}",
        description=_text(draw, 30),
        input_schema={"type": "object", "properties": properties, "required": sorted(properties)[:1]},
        provenance=Provenance(source="evolved", domain="a/b/c"),
    )


def _world(number: int) -> World:
    draw = random.Random(number)
    columns = ", ".join(f"c{i} {draw.choice(('text', 'int', 'real'))}" for i in range(3 + number))
    return World(
        name=f"world-{number}",
        domain=Domain(path="a/b/c"),
        clock="2026-03-02T08:00:00",
        schema_sql=f"create table t({columns});",
        tools=tuple(_tool(draw, i) for i in range(12)),
    )


def _task(world: World, number: int) -> Task:
    agent = AgentProfile(
        name="desk", system_prompt=_text(random.Random(number % 50), 120), toolset=Toolset(tools=world.tools)
    )
    check = StateCheck(name="done", sql=f"select {number} is not null")
    return Task(
        world=world.id,
        world_name=world.name,
        agent=agent,
        persona=Persona(name="Ana", style="terse"),
        goals=(Goal(intent=f"do {number}"),),
        rubric=Rubric(checks=(check,)),
    )


def _trajectory(task: Task, attempt: int, draw: random.Random) -> Trajectory:
    events = [Event(index=0, turn=0, role="system", content=task.agent.system_prompt)]
    state = f"snap_{draw.getrandbits(64):016x}"
    for turn in range(2 if draw.random() < 0.6 else 4):
        events.append(Event(index=len(events), turn=turn, role="user", content=_text(draw, 20)))
        for position in range(2):
            tool = draw.choice(task.agent.toolset.tools)
            arguments = {name: _text(draw, 2) for name in tool.input_schema["properties"]}
            call = ToolCall(id=f"c{position}", name=tool.name, raw=json.dumps(arguments), arguments=arguments)
            events.append(Event(index=len(events), turn=turn, role="assistant", calls=(call,), loss=True))
            result = json.dumps({f"column_{i}": _text(draw, 3) for i in range(8)})
            before, state = state, state if draw.random() < 0.5 else f"snap_{draw.getrandbits(64):016x}"
            events.append(
                Event(
                    index=len(events),
                    turn=turn,
                    role="tool",
                    content=result,
                    call_id=call.id,
                    name=tool.name,
                    ok=True,
                    before=before,
                    after=state,
                )
            )
        events.append(
            Event(index=len(events), turn=turn, role="assistant", content=_text(draw, 25), loss=True)
        )
    return Trajectory(
        id=trajectory_id(task.id, attempt, 7),
        task=task.id,
        world=task.world,
        world_name=task.world_name,
        attempt=attempt,
        seed=7,
        events=tuple(events),
        end_reason=EndReason.USER_DONE,
    )


def make_run(data: Path, count: int) -> RunFolder:
    """A run of `count` trajectories: 12 worlds, four attempts per task, one in four failed."""
    run = RunFolder.create(data, "bench", "all", 7, "")
    worlds = [_world(number) for number in range(12)]
    run.write_shard("worlds", 0, {"worlds": [world_row(world) for world in worlds]})
    draw = random.Random(7)
    for unit in range(0, count, UNIT):
        tasks = [_task(worlds[number % 12], unit + number) for number in range(min(UNIT, count - unit) // 4)]
        parts = []
        for task in tasks:
            for attempt in range(4):
                done = _trajectory(task, attempt, draw)
                value = Value.PASS if attempt else Value.FAIL
                verdict = Verdict(check="done", kind="state", value=value)
                owner = None if attempt else Owner.AGENT
                judgement = Judgement(
                    trajectory=done.id,
                    verdicts=(verdict,),
                    value=value,
                    owner=owner,
                    reward=float(bool(attempt)),
                )
                parts.append(trajectory_rows(done, judgement, task, seconds=0.1))
        size = len(parts)
        funnel = funnel_row("trajectories", entered=size, kept=size, rejected=0, failed=0)
        run.write_shard("tasks", unit // UNIT, {"tasks": [task_row(task) for task in tasks]})
        run.write_shard("trajectories", unit // UNIT, {**gather(parts), "funnel": [funnel]})
    return run


def timed(act: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> float:
    begin = clock()
    act()
    return clock() - begin


def writer(run: RunFolder, folder: Path) -> None:
    """The writer against bare pyarrow from the same Python rows: one table, the same compression."""
    plan = Plan("bench", "chat", PublishSection(verify=(), scrub=False), 0, (run.path,), None)
    candidates = [one for one in attempts([run]) if one.passed]
    units = sorted({one.unit for one in candidates})[:20]
    schema = FORMATS["chat"].schema
    assert schema is not None
    rows = []
    for unit in units:
        members = tuple(one for one in candidates if one.unit == unit)
        for one in members:
            one.split = "train"
        rows += convert(plan, Job(unit, members)).tables["train"].drop_columns(["_order"]).to_pylist()

    def bare() -> None:
        pq.write_table(pa.Table.from_pylist(rows, schema=schema), folder / "bare.parquet", compression="zstd")

    def ours() -> None:
        from pipeline.store.export.splits import order_key
        from pipeline.store.export.writing import ORDER, SplitFiles

        files = SplitFiles(folder, "train", schema, len(rows), 256 * 2**20)
        for begin in range(0, len(rows), UNIT):
            part = rows[begin : begin + UNIT]
            order = pa.array([order_key(0, row["id"]) for row in part], pa.int64())
            files.add(pa.Table.from_pylist(part, schema=schema).append_column(ORDER, order))
        files.finish()

    bare()
    # Processor time: a neighbor's load then disturbs the ratio least.
    seconds = {
        name: min(timed(act, time.process_time) for _ in range(3))
        for name, act in (("bare", bare), ("ours", ours))
    }
    ratio = seconds["bare"] / seconds["ours"]
    print(
        f"writer, {len(rows):,} rows: bare pyarrow {len(rows) / seconds['bare']:,.0f} rows/s a core, shuffled and"
        f" sharded {len(rows) / seconds['ours']:,.0f}, ratio {ratio:.2f} (aim 0.5)"
    )


def exported(run: RunFolder, folder: Path) -> None:
    """The whole export in a process of its own, so that its peak memory is its own."""
    code = (
        "import sys, time; from pathlib import Path; from pipeline.store import RunFolder\n"
        "from pipeline.store.export import export\n"
        "run = RunFolder.open(Path(sys.argv[1]), 'bench'); begin = time.process_time(); wall = time.perf_counter()\n"
        "report = export([run], 'chat', Path(sys.argv[2])); rows = sum(report.rows.values())\n"
        "spent = time.process_time() - begin; wall = time.perf_counter() - wall\n"
        "status = dict(line.split(':', 1) for line in open('/proc/self/status'))\n"
        "peak = int(status['VmHWM'].split()[0]) / 1024\n"
        "print(f'export, verified in three templates: {rows:,} rows in {wall:.0f} s, {rows / spent:,.0f} rows/s a core'\n"
        "      f' (aim 500), peak {peak:,.0f} MB (aim 700), {report.rows}')"
    )
    subprocess.run([sys.executable, "-c", code, str(run.data_dir), str(folder / "out")], check=True)
    size = sum(path.stat().st_size for path in (folder / "out").rglob("*") if path.is_file())
    print(f"dataset on disk: {size / 2**20:,.0f} MB")


def queried(run: RunFolder) -> None:
    """What `tracemill stats` asks, and the catalog made anew."""
    print(f"catalog rebuilt in {timed(Catalog(run.data_dir).rebuild):.2f} s (aim 5)")
    spent = timed(lambda: text(collect(run.data_dir, None)))
    print(f"stats over all trajectories: {spent:.2f} s (aim 2)")


def journaled(folder: Path) -> None:
    """Events a second, beside the same inserts in bare SQLite with one commit each."""
    from pipeline.store import Journal

    event = json.dumps({"index": 3, "role": "tool", "content": "x" * 400})
    count = 20_000
    with Journal(folder / "j.db") as journal:
        spent = timed(lambda: [journal.append(f"t{i // 16}", i % 16, event) for i in range(count)])
        paid = timed(lambda: [journal.record(str(i), event) for i in range(200)])
    bare = sqlite3.connect(folder / "bare.db", isolation_level=None)
    bare.executescript(
        "pragma journal_mode=wal; pragma synchronous=normal; create table t(a text, b int, c text)"
    )
    floor = timed(
        lambda: [bare.execute("insert into t values (?,?,?)", ("t", i, event)) for i in range(count)]
    )
    bare.close()
    print(
        f"journal: {count / spent:,.0f} committed events/s (bare SQLite {count / floor:,.0f}),"
        f" {200 / paid:,.0f} synced answers/s"
    )


def main(count: int = 100_000) -> None:
    folder = Path(tempfile.mkdtemp(prefix="tracemill-bench-"))
    try:
        begin = time.perf_counter()
        run = make_run(folder / "data", count)
        size = sum(path.stat().st_size for path in run.path.rglob("*.parquet"))
        print(
            f"{count:,} trajectories as shards in {time.perf_counter() - begin:.0f} s, {size / 2**20:,.0f} MB"
        )
        journaled(folder)
        queried(run)
        writer(run, folder)
        exported(run, folder)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    main(*(int(argument) for argument in sys.argv[1:]))
