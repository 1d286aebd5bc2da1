"""Tasks on MCP tools: read by rules, state simulated, gated, played, replayed, compared; and the same with a model."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from pipeline.config import load_config
from pipeline.models import Models
from pipeline.records import Provenance, Snapshot, Task, ToolSpec, World, WorldError
from pipeline.report.stats import collect, text
from pipeline.stages.context import Context, Tally
from pipeline.stages.environment import compare_run, replay_run
from pipeline.stages.played import refined
from pipeline.stages.players import Players
from pipeline.stages.replay import replay_trajectory
from pipeline.stages.units import STAGES, stages_of, work
from pipeline.store import RunFolder
from pipeline.teacher.played import played_world
from pipeline.teacher.toolsets import toolsets
from pipeline.tools.normalize import normalize
from pipeline.worlds.simulated import ProgramSimulator
from pipeline.worlds.simulated.entities import derive
from pipeline.worlds.simulated.meaning import meanings
from tests.endpoint.server import Endpoint, Received
from tests.endpoint.simulators import asked, said

TEXT = {"type": "string"}
STATUS = {"type": "string", "enum": ["open", "in progress", "done"]}


def listing(name: str, required: list[str], **properties: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties, "required": required}
    return {"name": name, "description": f"Made for a test: {name}.", "inputSchema": schema}


TRACKER = [
    listing("tracker_list_boards", []),
    listing("tracker_create_board", ["title"], title=TEXT, color=TEXT),
    listing("tracker_listTickets", [], boardId=TEXT, status=STATUS, query=TEXT, limit={"type": "integer"}),
    listing("tracker_getTicket", ["ticketId"], ticketId=TEXT),
    listing(
        "tracker_createTicket", ["boardId", "title"], boardId=TEXT, title=TEXT, assignee=TEXT, status=STATUS
    ),
    listing("tracker_updateTicket", ["ticketId"], ticketId=TEXT, title=TEXT, status=STATUS, assignee=TEXT),
    listing("tracker_deleteTicket", ["ticketId"], ticketId=TEXT),
    listing("tracker_exportEverything", ["format"], format=TEXT),
]
DESK = [
    listing("search_tickets", ["query"], query=TEXT),
    listing("create_ticket", ["title"], title=TEXT, priority=TEXT),
]


def tools() -> list[ToolSpec]:
    found: list[ToolSpec] = []
    for server, listed in (("Tracker", TRACKER), ("Desk", DESK)):
        for raw in listed:
            spec = normalize(raw, Provenance(source="mcp", server=server), {tool.name for tool in found})
            assert isinstance(spec, ToolSpec)
            found.append(spec)
    return found


def test_names_and_schemas_give_entities_programs_and_toolsets() -> None:
    mine = [tool for tool in tools() if tool.provenance.server == "Tracker"]
    read = {name: (one.deed, one.noun) for name, one in meanings(mine).items()}
    assert read["tracker_listTickets"] == ("list", "ticket")
    assert read["tracker_updateTicket"] == ("update", "ticket")
    entities = {entity.noun: entity for entity in derive(mine)}
    assert set(entities) == {"board", "ticket"}
    board = entities["ticket"].column("board_id")
    assert board is not None
    assert board.refers == "board"
    sets = toolsets(tools(), 14)
    assert [one.name for one in sets if "-and-" in one.name]
    world = played_world(sets[0], 7)
    assert world.foreign
    assert world == played_world(sets[0], 7)
    assert world.seed != played_world(sets[0], 8).seed
    without = {tool.name for tool in world.tools if tool.program is None}
    assert without == {"tracker_exportEverything"}
    with pytest.raises(WorldError, match="cannot be read by rules"):
        played_world(sets[0].__class__("odd", (tools()[7],), {}, ()), 1)


def run_folder(
    place: Path, flags: dict[str, Any], name: str = "played", stages: tuple[str, ...] = ()
) -> RunFolder:
    dump = place / "dump.jsonl"
    rows = [
        {**raw, "server": server} for server, mine in (("Tracker", TRACKER), ("Desk", DESK)) for raw in mine
    ]
    dump.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    base = {
        "data": str(place / "data"),
        "cache.dir": str(place / "cache"),
        "tasks.count": 1,
        "worlds.only": ["harbour-hotel"],
        "tools.ingest.dumps": [str(dump)],
        "simulated.tasks": 4,
        "trajectories.attempts": 2,
    }
    config = load_config(None, {**base, **flags}, {})
    folder = RunFolder.create(place / "data", name, "trajectories", config.seed, config.to_yaml())
    context = Context.open(folder.path)
    for stage in stages or stages_of("trajectories", config):
        for number in range(STAGES[stage].units(context)):
            assert asyncio.run(work(folder.path, stage, number))
    return folder


def test_a_run_on_mcp_tools_with_the_teacher(tmp_path: Path) -> None:
    folder = run_folder(tmp_path, {"simulated.fidelity_calls": 10})
    tasks = [row for row in folder.rows("tasks") if row["host"] == "simulated"]
    assert len(tasks) == 4
    assert {row["proof"] for row in tasks} == {"exact"}
    evidence = [json.loads(row["evidence"]) for row in tasks]
    assert sum(one["killed"] for one in evidence) > 4
    done = [row for row in folder.rows("trajectories") if row["host"] == "simulated"]
    assert len(done) == 8
    assert sum(bool(row["passed"]) for row in done) > 3
    longest = max(done, key=lambda row: (row["calls"], row["id"]))
    assert asyncio.run(replay_trajectory(tmp_path / "data", longest["id"])).same
    compared = list(folder.rows("environment"))
    assert len(compared) == 10
    assert all(row["agreed"] for row in compared)
    context = Context.open(folder.path)
    assert len(asyncio.run(compare_run(context, 10))) == 10
    assert (
        asyncio.run(replay_run(context, 5)) == []
    )  # no launch entry for these servers: failures, not answers
    messages = [row["message"] for row in folder.rows("failures") if row["kind"] == "no launch entry"]
    assert messages
    figures = collect(tmp_path / "data", "played")
    assert sum(row["n"] for row in figures["environment"]["fidelity"]) == 20
    assert "environment fidelity  teacher, 0 rows: 1.000" in text(figures)


def test_a_model_plays_the_tools_and_what_it_gets_wrong_is_the_tools_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A simulator over HTTP that knows the programs, and answers in prose whenever something is made."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-planted-0123456789abcdef")
    worlds: dict[str, World] = {}
    players: dict[str, ProgramSimulator] = {}

    def script(received: Received) -> str:
        listing, arguments, tables = asked(received)
        if "reate" in listing["name"]:
            return "It is there now, I promise."
        world = next(w for w in worlds.values() if w.schema_sql.strip() == tables["schema"])
        player = players.setdefault(world.id, ProgramSimulator(world))
        prompt = received.body["messages"][1]["content"]
        new_id = int(prompt.split("\nnew_id: ")[1].split("\n")[0])
        state = _state(world, tables).replace(counter=new_id)
        return said(player.play(listing["name"], arguments, state))

    for one in toolsets(tools(), 14):
        try:
            world = played_world(one, 7)
        except WorldError:
            continue
        worlds[world.name] = world
    with Endpoint(script) as endpoint:
        flags = {
            "endpoints": {"default": {"base_url": endpoint.base_url, "patience": 3.0, "attempts": 2}},
            "models": {"player": {"name": "player"}},
            "roles.simulator": "player",
            "repairs": 0,
            "simulated.rows": 200,
            "simulated.characters": 200_000,
            "tasks.goal_counts": {1: 1.0},
            "tasks.fault_rate": 0.9,
            "tasks.faults": {"timeout_after": 1.0, "partial": 1.0, "stale": 1.0},
            "simulated.tasks": 12,
        }
        folder = run_folder(tmp_path, flags)
    admitted = [
        Task.model_validate_json(row["record"]) for row in folder.rows("tasks") if row["host"] == "simulated"
    ]
    assert admitted
    made = [call for task in admitted for call in task.reference if call.error is None]
    assert not [call for call in made if "reate" in call.tool]
    assert {task.proof for task in admitted} == {"recorded"}
    defects = [row for row in folder.rows("failures") if row["kind"] == "simulator: unreadable"]
    assert {row["owner"] for row in defects} == {"tool"}
    done = [row for row in folder.rows("trajectories") if row["host"] == "simulated"]
    assert any(row["passed"] for row in done)
    assert json.loads(done[0]["record"])["versions"]["simulator"] == "player"
    assert {row["role"] for row in folder.rows("model_calls")} == {"simulator"}
    met = {row["fault"] for row in folder.rows("calls") if row["fault"]}
    assert "timeout_after" in met
    for row in done:
        again = asyncio.run(replay_trajectory(tmp_path / "data", row["id"]))
        assert again.same, again.text


def _state(world: World, tables: dict[str, Any]) -> Snapshot:
    """The state as far as a prompt shows it, as a snapshot: all rows that the call can be about."""
    from pipeline.worlds.sql import SqlWorld

    live = SqlWorld(world)
    try:
        known = live.runtime.image.tables
        edits: list[tuple[str, tuple[Any, ...]]] = []
        for name, about in tables["tables"].items():
            columns = ",".join(f'"{column}"' for column in known[name].columns)
            marks = ",".join("?" * len(known[name].columns))
            edits += [
                (
                    f'insert or replace into "{name}"({columns}) values ({marks})',
                    tuple(row[c] for c in known[name].columns),
                )
                for row in about["rows"]
            ]
            if len(about["rows"]) == about["rows_in_all"]:
                key = known[name].columns[known[name].key[0]]
                kept = tuple(row[key] for row in about["rows"])
                edits.append(
                    (f'delete from "{name}" where "{key}" not in ({",".join("?" * len(kept))})', kept)
                )
        assert live.change(edits) == ""
        return live.snapshot()
    finally:
        live.close()


# ---- the author's view of the tables --------------------------------------------------------------------------------


def entities(*nouns: str, **changes: Any) -> str:
    """An answer with things that have a title and a status; `changes` go into the column status of each."""
    status = {
        "name": "status",
        "type": "text",
        "choices": ["open", "in progress", "done"],
        "refers": "",
        **changes,
    }
    columns = [{"name": "title", "type": "text", "choices": [], "refers": ""}, status]
    return json.dumps({"entities": [{"noun": noun, "columns": columns} for noun in nouns]})


def authored_world(reply: str, place: Path) -> tuple[World, World, Tally]:
    """The world by rules, the one after the author's answer, and the account."""
    toolset = toolsets(tools(), 14)[0]
    world = played_world(toolset, 7)

    async def run(url: str) -> tuple[World, World, Tally]:
        flags = {
            "endpoints": {"default": {"base_url": url, "patience": 3.0, "attempts": 2}},
            "models": {"writer": {"name": "writer"}},
            "roles.author": "writer",
            "cache.dir": str(place),
            "repairs": 0,
        }
        config, tally = load_config(None, flags, {}), Tally("played")
        async with Models(config) as models:
            better = await refined(Players(config, models, "played"), toolset, world, tally)
            assert better is not None
            assert {row.role for row in models.ledger.drain()} == {"author"}
        return world, better, tally

    with Endpoint(lambda received: reply) as endpoint:
        return asyncio.run(run(endpoint.base_url))


BAD = {
    "prose": ("There are boards and tickets, I would say.", "entities: unreadable"),
    "another language": ("Es gibt Tafeln und Zettel.", "entities: unreadable"),
    "the schema": (
        '{"type": "object", "properties": {"entities": {"type": "array"}}}',
        "entities: unreadable",
    ),
    "cut off": ('{"entities": [{"noun": "board", "columns": [{"na', "entities: unreadable"),
    "400 of them": (entities(*(f"thing_{n}" for n in range(400))), "entities: unreadable"),
    "types of another database": (entities("board", "ticket", type="VARCHAR(20)"), "entities: unreadable"),
    "the same again": (entities("board", "board"), "entities: broken"),
    "pointing nowhere": (entities("board", "ticket", refers="galaxy"), "entities: broken"),
    "something else": (entities("planet", "moon"), "entities: broken"),
    "a table less": (entities("board"), "entities: tools lost"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_proposal_leaves_the_rules_world_and_a_row(name: str, tmp_path: Path) -> None:
    reply, kind = BAD[name]
    world, better, tally = authored_world(reply, tmp_path)
    assert better == world
    assert [row["kind"] for row in tally.failures] == [kind]


def test_a_good_proposal_makes_the_tables(tmp_path: Path) -> None:
    columns = {
        "board": [("title", ""), ("color", "")],
        "ticket": [("title", ""), ("board_id", "board"), ("assignee", ""), ("status", ""), ("due_date", "")],
    }
    forms = [
        {
            "noun": noun,
            "columns": [{"name": n, "type": "text", "choices": [], "refers": to} for n, to in named],
        }
        for noun, named in columns.items()
    ]
    world, better, tally = authored_world(json.dumps({"entities": forms}), tmp_path)
    assert tally.failures == []
    assert "due_date" in better.schema_sql
    assert "due_date" not in world.schema_sql
    assert {t.name for t in better.tools if t.program} == {t.name for t in world.tools if t.program}


FORMS = {
    "board": [("title", ""), ("color", "")],
    "ticket": [("title", ""), ("board_id", "board"), ("assignee", ""), ("status", "")],
}


def writer(received: Received) -> str:
    """An author who knows the tracker: its tables, and a wish to be rid of one ticket after the other."""
    schema = received.body["response_format"]["json_schema"]["schema"]["properties"]
    prompt = received.body["messages"][1]["content"]
    if "entities" in schema:
        return json.dumps(
            {
                "entities": [
                    {
                        "noun": noun,
                        "columns": [
                            {"name": n, "type": "text", "choices": [], "refers": to} for n, to in named
                        ],
                    }
                    for noun, named in FORMS.items()
                ]
            }
        )
    if "agents" in schema:
        person = {"name": "calm", "style": "calm and brief", "patience": 12, "upfront": 0.5}
        return json.dumps({"agents": ["the keeper of the boards"], "personas": [person]})
    if "calls" in schema:
        writer.count += 1  # type: ignore[attr-defined]
        number = writer.count  # type: ignore[attr-defined]
        deletes = {"tool": "tracker_deleteTicket", "arguments": {"ticketId": f"TIC-10{number}"}}
        return json.dumps(
            {
                "intent": f"delete the ticket number {number} of the list",
                "phrasings": ["delete a ticket", "get rid of a ticket"],
                "reasons": ["it is done"],
                "calls": [{"tool": "tracker_listTickets", "arguments": {}}, deletes],
            }
        )
    key = prompt.split('"key": "')[1].split('"')[0]
    gone = f"select not exists(select 1 from tickets where ticket_id = '{key}')"
    return json.dumps({"checks": [{"name": "the ticket is gone", "sql": gone}]})


def test_a_model_writes_tasks_on_mcp_tools(tmp_path: Path) -> None:
    writer.count = 0  # type: ignore[attr-defined]
    with Endpoint(writer) as endpoint:
        flags = {
            "endpoints": {"default": {"base_url": endpoint.base_url, "patience": 3.0, "attempts": 2}},
            "models": {"writer": {"name": "writer"}},
            "roles.author": "writer",
            "author.worlds": 0,
            "author.tree.breadth": [1, 1, 1],
            "simulated.toolsets": 1,
            "simulated.tasks": 2,
            "tasks.goal_kinds": {"act": 1.0},
        }
        folder = run_folder(tmp_path, flags, stages=("mcp", "played", "trajectories"))
    tasks = [row for row in folder.rows("tasks") if row["host"] == "simulated"]
    assert len(tasks) == 2, [row["message"] for row in folder.rows("failures")]
    assert {row["author"] for row in tasks} == {"model:writer"}
    done = list(folder.rows("trajectories"))
    assert any(row["passed"] for row in done)
