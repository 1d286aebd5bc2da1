"""The real replay rate: calls recorded on real MCP servers and made again on fresh ones (see `fidelity_env.py`).

The calls are written here by hand from what the servers list: five sessions of each server, some 40 calls each, reads
and writes mixed, so that a server's state matters.
"""

from __future__ import annotations

import random
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from pipeline.config.tools import IngestConfig
from pipeline.config.trajectories import LiveConfig
from pipeline.judging.intervals import Share
from pipeline.records import Json, ToolSpec
from pipeline.tools.ingest import ingest
from pipeline.worlds.live import LiveHost
from pipeline.worlds.replaying import AnsweredAgain, RecordedCall, replay_session
from pipeline.worlds.server_pool import Servers
from pipeline.worlds.servers import ServerEntry

SESSIONS = 5
Call = tuple[str, dict[str, Any]]
Plan = Callable[[random.Random], list[Call]]

_ZONES = ("Europe/Oslo", "Asia/Tokyo", "America/New_York", "Africa/Nairobi", "Australia/Sydney")
_NAMES = ("Alder", "Birch", "Cedar", "Elm", "Fir", "Hazel", "Juniper", "Larch", "Maple", "Oak")


def _time(rng: random.Random) -> list[Call]:
    convert: list[Call] = [
        ("convert_time", {"source_timezone": rng.choice(_ZONES), "time": f"{rng.randrange(24):02d}:{rng.randrange(60):02d}", "target_timezone": rng.choice(_ZONES)})
        for _ in range(36)
    ]  # fmt: skip
    now: list[Call] = [("get_current_time", {"timezone": zone}) for zone in _ZONES[:4]]
    return convert + now


def _memory(rng: random.Random) -> list[Call]:
    names = rng.sample(_NAMES, 6)
    calls: list[Call] = [
        ("create_entities", {"entities": [{"name": name, "entityType": "tree", "observations": [f"planted in {rng.randint(1900, 2020)}"]}]})
        for name in names
    ]  # fmt: skip
    for _ in range(13):
        one, other = rng.sample(names, 2)
        calls += [
            ("create_relations", {"relations": [{"from": one, "to": other, "relationType": "grows near"}]}),
            ("search_nodes", {"query": rng.choice(_NAMES)}),
        ]
    calls += [
        ("add_observations", {"observations": [{"entityName": name, "contents": ["tall"]}]}) for name in names
    ]
    calls += [
        ("open_nodes", {"names": names[:2]}),
        ("delete_entities", {"entityNames": names[:1]}),
        ("read_graph", {}),
    ]
    return calls


def _files(rng: random.Random) -> list[Call]:
    calls: list[Call] = [("list_allowed_directories", {}), ("create_directory", {"path": "notes"})]
    for name in rng.sample(_NAMES, 7):
        path = f"notes/{name}.txt"
        calls += [
            ("write_file", {"path": path, "content": f"{name}\n{rng.randint(1, 99)} rings\n"}),
            ("read_text_file", {"path": path}),
            ("edit_file", {"path": path, "edits": [{"oldText": "rings", "newText": "leaves"}]}),
            ("get_file_info", {"path": path}),
            ("search_files", {"path": ".", "pattern": f"{name[:2]}*"}),
        ]
    return [
        *calls,
        ("list_directory", {"path": "notes"}),
        ("directory_tree", {"path": "."}),
        ("read_text_file", {"path": "nowhere.txt"}),
    ]


def _everything(rng: random.Random) -> list[Call]:
    calls: list[Call] = []
    for _ in range(13):
        calls += [
            ("echo", {"message": rng.choice(_NAMES)}),
            ("get-sum", {"a": rng.randint(1, 99), "b": rng.randint(1, 99)}),
            ("get-structured-content", {"location": rng.choice(("New York", "Chicago", "Los Angeles"))}),
        ]
    return [
        *calls,
        ("get-tiny-image", {}),
        ("get-annotated-message", {"messageType": "success"}),
        ("get-env", {}),
        ("no-such-tool", {}),
    ]


def _sqlite(rng: random.Random) -> list[Call]:
    calls: list[Call] = [
        ("create_table", {"query": "create table trees(id integer primary key, name text, rings integer)"})
    ]
    for name in rng.sample(_NAMES, 9):
        calls += [
            (
                "write_query",
                {"query": f"insert into trees(name, rings) values ('{name}', {rng.randint(1, 99)})"},
            ),
            ("read_query", {"query": "select * from trees order by id"}),
            ("read_query", {"query": f"select count(*) as n from trees where name < '{rng.choice(_NAMES)}'"}),
            ("write_query", {"query": f"update trees set rings = rings + 1 where name = '{name}'"}),
        ]
    return [
        *calls,
        ("list_tables", {}),
        ("describe_table", {"table_name": "trees"}),
        ("append_insight", {"insight": "Old trees."}),
        ("read_query", {"query": "select nothing from trees"}),
    ]


PLANS: dict[str, tuple[ServerEntry, Plan]] = {
    "time": (ServerEntry("time", "uvx", ("mcp-server-time@2026.10.19",)), _time),
    "memory": (ServerEntry("memory", "npx", ("-y", "@modelcontextprotocol/server-memory@2026.8.31"), {"MEMORY_FILE_PATH": "/proc/self/cwd/memory.jsonl"}), _memory),
    "filesystem": (ServerEntry("filesystem", "npx", ("-y", "@modelcontextprotocol/server-filesystem@2026.8.31", ".")), _files),
    "everything": (ServerEntry("everything", "npx", ("-y", "@modelcontextprotocol/server-everything")), _everything),
    "sqlite": (ServerEntry("sqlite", "uvx", ("--with", "mcp<2", "mcp-server-sqlite@2025.4.25", "--db-path", "store.db")), _sqlite),
}  # fmt: skip


async def measure(folder: Path, only: Sequence[str]) -> None:
    """Records and replays the servers whose names hold one of `only` (all when empty), one after the other."""
    for name, (entry, calls) in PLANS.items():
        if not only or any(word in name for word in only):
            await _server(name, entry, calls)


async def listed(name: str, entry: ServerEntry) -> dict[str, ToolSpec]:
    """The tools of a server by their original names; empty, with a word about it, when it cannot be started."""
    harvest = await ingest({name: entry}, IngestConfig())
    tools = {str((tool.original or {}).get("name") or tool.name): tool for tool in harvest.tools}
    if not tools:
        print(f"{name}: cannot be started: {[failure.message[:200] for failure in harvest.failures]}")
    return tools


async def _server(name: str, entry: ServerEntry, plan: Plan) -> None:
    tools = await listed(name, entry)
    if not tools:
        return
    started, found = time.perf_counter(), list[AnsweredAgain]()
    async with Servers({name: entry}, IngestConfig(), LiveConfig()) as servers:
        sessions = [
            await record(tools, plan(random.Random(f"{name}/{number}")), servers)
            for number in range(SESSIONS)
        ]
        for session in sessions:
            found += await replay_session(session, servers)
    _print(name, found, time.perf_counter() - started)


async def record(tools: dict[str, ToolSpec], calls: Sequence[Call], servers: Servers) -> list[RecordedCall]:
    host = await LiveHost.open(list(tools.values()), servers)
    made: list[RecordedCall] = []
    try:
        for name, arguments in calls:
            tool = tools.get(name)
            if tool is None:
                continue
            answer = await host.call(tool.name, arguments)
            value: Json = answer.value
            made.append(RecordedCall(tool, arguments, answer.ok, value, (answer.error or ("",))[0]))
    finally:
        await host.close()
    return made


def _print(name: str, found: Sequence[AnsweredAgain], seconds: float) -> None:
    share = Share(sum(one.alike for one in found), len(found))
    low, high = share.ci95 or (0.0, 1.0)
    refused = sum(not one.call.ok for one in found)
    print(
        f"{name}: {share.value or 0:.4f} [{low:.3f}, {high:.3f}] of {share.of} calls answered alike"
        f" ({refused} were refused when recorded), {seconds:.0f} s"
    )
    by: dict[str, list[AnsweredAgain]] = defaultdict(list)
    for one in found:
        by[one.call.tool.name].append(one)
    for tool, own in sorted(by.items()):
        alike = sum(one.alike for one in own)
        why = Counter(one.why for one in own if one.why)
        if alike < len(own):
            print(
                f"  {tool}: {alike} of {len(own)}; differs in {', '.join(f'{w} ({n})' for w, n in why.items())}"
            )
