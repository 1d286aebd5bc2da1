"""The tools stage: reading real specifications, and finding near-duplicates among many tools.

`python benchmarks/tools.py [N]`; TRACEMILL_SHARED names the folder with `data/mcp_tools.jsonl.gz`.
"""

from __future__ import annotations

import os
import random
import resource
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import jsonschema_rs

from pipeline.records import Provenance, ToolSpec
from pipeline.tools.dumps import read_dump
from pipeline.tools.harvest import Harvest
from pipeline.tools.normalize import openai_problems
from pipeline.tools.repository import Repository


def read(path: Path) -> Harvest:
    """Reads a dump, checks what is promised of every accepted tool, and prints the figures."""
    started = time.perf_counter()
    harvest = read_dump([path])
    seconds = time.perf_counter() - started
    listed = len(harvest.tools) + len(harvest.rejections)
    illegal = sum(
        bool(openai_problems(tool)) or not jsonschema_rs.meta.is_valid(tool.input_schema)
        for tool in harvest.tools
    )
    print(
        f"dump: {listed} tools in {seconds:.1f} s (20), {len(harvest.tools) / listed:.1%} accepted (98 %), "
        f"{len(harvest.rejections)} rejected with a reason, {len(harvest.failures)} unreadable, {illegal} not legal (0)"
    )
    return harvest


def varied(tools: Sequence[ToolSpec], count: int, seed: int = 1) -> list[ToolSpec]:
    """As many tools of the same lengths: each word of a real one is replaced by another with probability 1/2."""
    dice = random.Random(seed)
    vocabulary = sorted({word for tool in tools for word in tool.description.split()[:200]})
    made = list(tools[:count])
    while len(made) < count:
        model = tools[len(made) % len(tools)]
        description = " ".join(
            word if dice.random() < 0.5 else dice.choice(vocabulary) for word in model.description.split()
        )
        properties = {
            name if dice.random() < 0.5 else f"{name}_{dice.randrange(50)}": schema
            for name, schema in model.input_schema["properties"].items()
        }
        made.append(
            model.model_copy(
                update={
                    "description": description,
                    "input_schema": {**model.input_schema, "properties": properties},
                    "provenance": Provenance(source="evolved", domain=f"made/{len(made)}"),
                    "original": None,
                }
            )
        )
    return made


def deduplicate(tools: Sequence[ToolSpec]) -> float:
    repository = Repository(tools)
    started = time.perf_counter()
    groups = repository.clusters
    seconds = time.perf_counter() - started
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    print(
        f"near-duplicates: {len(repository)} tools in {seconds:.1f} s, {len(groups)} clusters, "
        f"{repository.duplicate_share():.1%} duplicates, {memory} MB resident at most"
    )
    return seconds


def main() -> None:
    shared = os.environ.get("TRACEMILL_SHARED")
    if not shared:
        print("TRACEMILL_SHARED is not set: nothing to read")
        return
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 23_000
    tools = varied(read(Path(shared) / "data/mcp_tools.jsonl.gz").tools, count)
    half = deduplicate(tools[: count // 2])
    whole = deduplicate(tools)
    print(
        f"near-duplicates: {count} in {whole:.1f} s (60); twice as many cost {whole / half:.2f} times (2.3)"
    )


if __name__ == "__main__":
    main()
