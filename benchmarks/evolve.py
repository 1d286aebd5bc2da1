"""Evolution at scale: tools made, admitted and stored; how different they and their worlds are.

`python -m benchmarks.evolve [TOOLS] [PROCESSES]` makes a run folder in a temporary directory and prints every figure
beside the one to reach.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import resource
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from pipeline.config import parse_config
from pipeline.records import ToolSpec, World
from pipeline.stages.context import Context
from pipeline.stages.evolve import STAGE, evolve_unit, evolve_units
from pipeline.store import RunFolder
from pipeline.tools.evolve.skeleton import program_shape, world_shape
from pipeline.tools.repository import Repository

TOOLS = 22_500
"""So many that there are more than 2,000 worlds."""


def work(run: Path, number: int) -> int:
    """One unit in a worker process; its peak of resident memory in MB."""
    asyncio.run(evolve_unit(Context.open(run), number))
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10


def make(folder: Path, tools: int, processes: int) -> Context:
    config = parse_config({"evolve": {"tools": tools}}, where="benchmark")
    run = RunFolder.create(folder, "evolve", "tools", config.seed, config.to_yaml())
    context = Context.open(run.path)
    started = time.perf_counter()
    units = evolve_units(context)
    pool = ProcessPoolExecutor(processes, mp_context=multiprocessing.get_context("spawn"))
    with pool:
        peaks = list(pool.map(work, [run.path] * units, range(units)))
    seconds = time.perf_counter() - started
    stored = sum(1 for _ in run.rows("tools", stage=STAGE, columns=("id",)))
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(
        f"made, admitted and stored: {stored} tools in {seconds:.0f} s with {processes} processes (600 s), "
        f"{used.ru_utime + used.ru_stime:.0f} s of processor time"
    )
    print(f"memory: at most {max(peaks)} MB in one process, {processes * max(peaks)} MB in all (1536)")
    for row in run.rows("failures", stage=STAGE, columns=("kind", "subject", "message")):
        print(f"rejected: {row['subject']}: {row['kind']}: {row['message'][:200]}")
    return context


def worlds(context: Context) -> Iterator[World]:
    for row in context.folder.rows("worlds", stage=STAGE, columns=("record",)):
        yield World.model_validate_json(row["record"])


def differences(context: Context) -> None:
    programs: Counter[str] = Counter()
    skeletons: Counter[str] = Counter()
    stored: Counter[str] = Counter()
    archetypes: Counter[str] = Counter()
    domains: set[str] = set()
    for world in worlds(context):
        skeletons[world_shape(world)] += 1
        archetypes[world.archetype] += 1
        domains.add(world.domain.path.rpartition("/")[0])
        programs.update(program_shape(tool.program) for tool in world.tools if tool.program)
    stored.update(
        row["skeleton"] for row in context.folder.rows("worlds", stage=STAGE, columns=("skeleton",))
    )
    count = sum(skeletons.values())
    print(f"worlds: {count} (2000) of {len(archetypes)} archetypes (14) in {len(domains)} domains")
    print(f"distinct programs after renaming: {len(programs)} (2000)")
    for name, found in (("tables, rules and programs", skeletons), ("as stored", stored)):
        share = max(found.values()) / count
        print(
            f"skeletons, {name}: {len(found)} (500), the most common behind {share:.2%} of the worlds (2 %)"
        )
    print("worlds by archetype:", ", ".join(f"{name} {many}" for name, many in sorted(archetypes.items())))


def duplicates(context: Context) -> None:
    tools = [
        ToolSpec.model_validate_json(row["record"])
        for row in context.folder.rows("tools", stage=STAGE, columns=("record",))
    ]
    repository = Repository(tools)
    print(f"near-duplicates: {repository.duplicate_share():.2%} of {len(repository)} tools (5 %)")
    names = Counter(
        cluster.representative.name for cluster in repository.clusters for _ in cluster.members[1:]
    )
    print("most repeated:", ", ".join(f"{name} {many}" for name, many in names.most_common(12)))


def main() -> None:
    tools = int(sys.argv[1]) if len(sys.argv) > 1 else TOOLS
    processes = int(sys.argv[2]) if len(sys.argv) > 2 else 2
    with tempfile.TemporaryDirectory(prefix="evolve-") as folder:
        context = make(Path(folder), tools, processes)
        differences(context)
        duplicates(context)


if __name__ == "__main__":
    main()
