"""The stage `environment`: how faithful played tools are, against SQL worlds and against real servers."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Sequence
from typing import Any

from pipeline.judging.intervals import Share
from pipeline.records import Json, RunError, Task, ToolSpec, canonical_json
from pipeline.records.errors import HostError
from pipeline.stages.context import Context, Tally, call_rows
from pipeline.stages.hosts import launch_entries
from pipeline.stages.players import Players
from pipeline.stages.worlds import admitted_worlds, read_worlds
from pipeline.store import Row, gather
from pipeline.teacher.played import empty_world
from pipeline.worlds.replaying import AnsweredAgain, RecordedCall, answered_again, replay_session
from pipeline.worlds.server_pool import Servers
from pipeline.worlds.simulated import SimulatedHost, SliceLimits
from pipeline.worlds.simulated.fidelity import Compared, bucket, compare, sample_calls

STAGE = "environment"
UNIT = 4
"""Worlds of one unit."""
SERVERS = "real servers"
"""In the place of a number of changed rows, where the truth is a server whose rows nobody sees."""


def environment_units(context: Context) -> int:
    """Units of a few SQL worlds each, where the configuration asks for compared calls."""
    if context.config.simulated.fidelity_calls == 0:
        return 0
    return -(-len(_worlds(context)) // UNIT)


def _worlds(context: Context) -> list[str]:
    return admitted_worlds(context)


async def environment_unit(context: Context, number: int) -> None:
    """Compares calls of a few SQL worlds, hidden behind their specification."""
    ids = _worlds(context)[number * UNIT : (number + 1) * UNIT]
    await _measure(context, number, ids, context.config.simulated.fidelity_calls)


async def compare_run(context: Context, calls: int) -> list[Row]:
    """The same for all SQL worlds of a run that stands, and for its recorded calls of live servers, `calls` of each; the
    rows become a further shard of it. Raises RunError when there is neither."""
    ids = _worlds(context)[: max(1, calls)]
    sessions = _sessions(context, calls, ("live",))
    if not ids and not sessions:
        raise RunError(
            f"{context.folder.path.name} has neither a SQL world nor calls of live servers.",
            way_out="Choose a run with worlds or with trajectories on live servers.",
        )
    most = -(-calls // len(ids)) if ids else 0
    return await _measure(context, _next(context), ids, most, sessions)


def _next(context: Context) -> int:
    return max((number for _, number in context.folder.units(STAGE)), default=-1) + 1


async def _measure(
    context: Context, number: int, ids: Sequence[str], most: int, sessions: Sequence[Session] = ()
) -> list[Row]:
    settings, tally = context.config.simulated, Tally(STAGE)
    worlds = read_worlds(context, set(ids))
    rows: list[Row] = []
    with context.folder.journal(STAGE, number) as journal:
        async with context.models(journal) as models:
            players = Players(context.config, models, STAGE)
            for one in ids:
                world = worlds[one]
                simulator = players.simulator(world)
                found = await compare(
                    world,
                    simulator,
                    sample_calls(world, most, context.config.seed),
                    repairs=settings.repairs,
                    limits=SliceLimits(settings.rows, settings.characters),
                )
                rows += [compared_row(item, simulator.name) for item in found]
            for trajectory, _, calls_ in sessions:
                rows += await _played_session(players, trajectory, calls_)
            calls = call_rows(models.ledger.drain())
    for row in rows:
        _count(tally, row)
    tally.tokens = sum(row["tokens_in"] + row["tokens_out"] for row in calls)
    tally.cost = sum(row["cost"] for row in calls)
    _write(context, number, rows, calls, tally)
    return rows


async def _played_session(players: Players, trajectory: str, calls: Sequence[RecordedCall]) -> list[Row]:
    """What live servers answered, held against a simulator that is given the same calls from the same beginning."""
    settings = players.config.simulated
    world = empty_world(list({call.tool.name: call.tool for call in calls}.values()), players.config.seed)
    simulator = players.simulator(world)
    limits = SliceLimits(settings.rows, settings.characters)
    host = SimulatedHost(world, simulator, repairs=settings.repairs, limits=limits)
    try:
        found = await answered_again(calls, host)
    finally:
        await host.close()
    return [
        {**replayed_row(one, trajectory, "server"), "simulator": simulator.name, "bucket": SERVERS}
        for one in found
    ]


def _count(tally: Tally, row: Row) -> None:
    if row["agreed"]:
        tally.keep()
    else:
        tally.reject(
            "answers differ",
            row["detail"] or row["got"],
            subject=f"{row['world']}: {row['tool']}",
            owner="tool",
        )


def _write(context: Context, number: int, rows: list[Row], calls: list[Row], tally: Tally) -> None:
    tables = {"environment": rows, "measures": measures(rows), "model_calls": calls}
    context.folder.write_shard(STAGE, number, gather([tables, tally.tables()]))


def compared_row(item: Compared, simulator: str) -> Row:
    return {
        "source": "sql",
        "world": item.world,
        "tool": item.tool,
        "arguments": canonical_json(item.arguments),
        "changed": item.rows,
        "bucket": bucket(item.rows),
        "simulator": simulator,
        "same_outcome": item.outcome,
        "fits_schema": item.schema,
        "same_values": item.values,
        "same_state": item.state,
        "agreed": item.agreed,
        "expected": item.expected,
        "got": item.got,
        "detail": item.detail or None,
    }


def measures(rows: Iterable[Row]) -> list[Row]:
    """Shares with 95 % Wilson intervals: fidelity by simulator and number of changed rows, replay rate by server."""
    groups: dict[tuple[str, str], list[bool]] = {}
    for row in rows:
        played = row["source"] in ("sql", "server")
        name = "environment_fidelity" if played else "real_replay_rate"
        rows_ = f"{row['bucket']} rows" if row["source"] == "sql" else SERVERS
        part = f"{row['simulator']}, {rows_}" if played else f"{row['world']}: {row['tool']}"
        groups.setdefault((name, part), []).append(bool(row["agreed"]))
    found = []
    for (name, part), agreed in groups.items():
        share = Share(sum(agreed), len(agreed))
        ci = list(share.ci95) if share.ci95 else None
        found.append(
            {
                "stage": STAGE,
                "name": name,
                "part": part,
                "value": share.value,
                "n": share.of,
                "detail": canonical_json({"ci95": ci}),
            }
        )
    return found


# ---- real servers ---------------------------------------------------------------------------------------------------


async def replay_run(context: Context, most: int) -> list[Row]:
    """Makes up to `most` recorded calls of a run's live and simulated trajectories again on the real servers.

    Each trajectory meets fresh servers. A server that cannot be started, or is lost, costs a failure row. Raises
    RunError when the run has no such trajectories, ConfigError when the launch entries cannot be read.
    """
    sessions = _sessions(context, most)
    if not sessions:
        raise RunError(
            f"{context.folder.path.name} has no trajectories of live or simulated hosts.",
            way_out="Run tasks on MCP tools first (simulated.tasks).",
        )
    entries = launch_entries(context.config)
    number, tally, rows = _next(context), Tally(STAGE), list[Row]()
    async with Servers(entries, context.config.tools.ingest, context.config.trajectories.live) as servers:
        for trajectory, host, calls in sessions:
            known = [call for call in calls if call.tool.provenance.server in entries]
            if not known:
                names = ", ".join(sorted({call.tool.provenance.server for call in calls}))
                tally.fail(
                    "no launch entry", f"No launch entry for {names}.", subject=trajectory, owner="infra"
                )
                continue
            try:
                again = await replay_session(known, servers)
            except HostError as error:
                tally.fail("server lost", str(error), subject=trajectory, owner="infra")
                continue
            rows += [replayed_row(one, trajectory, host) for one in again]
    for row in rows:
        _count(tally, row)
    _write(context, number, rows, [], tally)
    return rows


def replayed_row(one: AnsweredAgain, trajectory: str, host: str) -> Row:
    return {
        "source": host,
        "world": one.call.tool.provenance.server,
        "tool": one.call.tool.name,
        "arguments": canonical_json(one.call.arguments),
        "trajectory": trajectory,
        "index": one.call.index,
        "same_outcome": one.outcome,
        "fits_schema": one.fits,
        "same_values": one.values,
        "same_state": one.state,
        "agreed": one.alike,
        "expected": "ok" if one.call.ok else one.call.code,
        "got": one.got,
        "detail": one.why or None,
    }


Session = tuple[str, str, list[RecordedCall]]
"""A trajectory, its kind of host, and its calls that really reached the tools."""


def _sessions(
    context: Context, most: int, wanted_hosts: Sequence[str] = ("live", "simulated")
) -> list[Session]:
    hosts = {
        row["id"]: (row["host"], row["task"])
        for row in context.folder.rows("trajectories", columns=("id", "host", "task"))
        if row["host"] in wanted_hosts
    }
    wanted = {task for _, task in hosts.values()}
    tools: dict[str, dict[str, ToolSpec]] = {}
    for row in context.folder.rows("tasks", columns=("id", "record")):
        if row["id"] in wanted:
            task = Task.model_validate_json(row["record"])
            tools[row["id"]] = {tool.name: tool for tool in task.agent.toolset.tools}
    sessions: dict[str, list[RecordedCall]] = {}
    for row in context.folder.rows("calls"):
        if row["trajectory"] not in hosts or not row["answered"] or row["fault"] or not row["arguments"]:
            continue
        tool = tools[hosts[row["trajectory"]][1]].get(row["name"])
        if tool is not None:
            sessions.setdefault(row["trajectory"], []).append(_recorded(row, tool))
    found, count = list[Session](), 0
    for trajectory, calls in sessions.items():
        if count >= most:
            break
        calls = calls[: most - count]
        count += len(calls)
        found.append((trajectory, hosts[trajectory][0], calls))
    return found


def _recorded(row: Row, tool: ToolSpec) -> RecordedCall:
    value: Json = row["result"]
    with contextlib.suppress(ValueError):  # a result that was cut for length stays text
        value = json.loads(row["result"] or "null")
    return RecordedCall(
        tool, json.loads(row["arguments"]), bool(row["ok"]), value, row["error_code"] or "", row["index"]
    )


def summary(rows: Sequence[Row]) -> dict[str, Any]:
    """The shares of some rows, by bucket or by tool, for a terminal or as JSON."""
    by: dict[str, list[Row]] = {}
    for row in rows:
        by.setdefault(
            row["bucket"] if row["source"] in ("sql", "server") else f"{row['world']}: {row['tool']}", []
        ).append(row)
    return {"all": _shares(rows), **{name: _shares(own) for name, own in sorted(by.items())}}


def _shares(rows: Sequence[Row]) -> dict[str, Any]:
    parts = ("same_outcome", "fits_schema", "same_values", "same_state")
    found: dict[str, Any] = Share(sum(row["agreed"] for row in rows), len(rows)).to_json()
    for part in parts:
        known = [row[part] for row in rows if row.get(part) is not None]
        found[part] = sum(known) / len(known) if known else None
    return found
