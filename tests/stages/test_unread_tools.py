"""MCP tools that no rule can read: a model says what is kept, another plays them, and the gate goes by its answers."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from pipeline.stages.replay import replay_trajectory
from pipeline.store import Catalog
from tests.endpoint.server import Endpoint, Received
from tests.endpoint.simulators import asked, proposal
from tests.stages.test_played import TEXT, listing, run_folder

GREENHOUSE = [
    listing("look_around", []),
    listing("water", ["plant_id", "liters"], plant_id=TEXT, liters={"type": "integer"}),
    listing("measure_soil", ["plant_id"], plant_id=TEXT),
]


def gardener(received: Received) -> str:
    """Author and simulator of a greenhouse: what it keeps, wishes to water one plant after the other, and the tools."""
    schema = received.body["response_format"]["json_schema"]["schema"]["properties"]
    prompt = received.body["messages"][1]["content"]
    if "entities" in schema:
        columns = [("title", "text"), ("moisture", "integer")]
        kept = [{"name": name, "type": kind, "choices": [], "refers": ""} for name, kind in columns]
        return json.dumps({"entities": [{"noun": "plant", "columns": kept}]})
    if "agents" in schema:
        person = {"name": "calm", "style": "calm and brief", "patience": 12, "upfront": 0.5}
        return json.dumps({"agents": ["the keeper of the greenhouse"], "personas": [person]})
    if "calls" in schema:
        number = 2 + prompt.count("give the plant number")
        water = {"tool": "water", "arguments": {"plant_id": f"PLA-10{number}", "liters": number}}
        return json.dumps(
            {
                "intent": f"give the plant number {number} of the list its water",
                "phrasings": ["water a plant", "see to a dry plant"],
                "reasons": ["it is dry"],
                "calls": [{"tool": "look_around", "arguments": {}}, water],
            }
        )
    if "facts" in schema:
        liters = prompt.split("liters: ")[1].split(", ")[1].split("\n")[0]
        fact = {
            "name": "liters",
            "label": "the liters",
            "spoken": f"{liters} liters",
            "said": ["it needs {value}"],
        }
        return json.dumps({"facts": [{**fact, "hidden": False}]})
    if "checks" in schema:
        return json.dumps({"checks": []})
    listing_, arguments, tables = asked(received)
    rows = tables["tables"]["plants"]["rows"]
    if listing_["name"] == "look_around":
        return proposal([{"plant_id": row["plant_id"], "title": row["title"]} for row in rows])
    row = next(one for one in rows if one["plant_id"] == arguments["plant_id"])
    moisture = (row["moisture"] or 0) + arguments.get("liters", 0)
    patch = [
        {
            "op": "update",
            "table": "plants",
            "key": {"plant_id": row["plant_id"]},
            "values": {"moisture": moisture},
        }
    ]
    return proposal(
        {"plant_id": row["plant_id"], "moisture": moisture}, patch if arguments.get("liters") else []
    )


def test_tasks_on_tools_that_no_rule_can_read_are_proven_by_the_simulator_and_say_so(tmp_path: Path) -> None:
    dump = tmp_path / "garden.jsonl"
    dump.write_text(
        "\n".join(json.dumps({**raw, "server": "Greenhouse"}) for raw in GREENHOUSE), encoding="utf-8"
    )
    with Endpoint(gardener) as endpoint:
        flags = {
            "endpoints": {"default": {"base_url": endpoint.base_url, "patience": 3.0, "attempts": 2}},
            "models": {"m": {"name": "m"}},
            "roles.author": "m",
            "roles.simulator": "m",
            "author.worlds": 0,
            "author.tree.breadth": [1, 1, 1],
            "tools.ingest.dumps": [str(dump)],
            "simulated.tasks": 2,
            "tasks.goal_kinds": {"act": 1.0},
        }
        folder = run_folder(tmp_path, flags, stages=("mcp", "played", "trajectories"))
    sql = "select host, proof, author, count(*) from tasks group by all"
    assert Catalog(tmp_path / "data").query(sql).rows() == [("simulated", "recorded", "model:m", 2)], [
        row["message"] for row in folder.rows("failures")
    ]
    evidence = [json.loads(row["evidence"]) for row in folder.rows("tasks")]
    assert all(one["killed"] and one["reference"] == ["pass", "pass"] for one in evidence)
    done = [row for row in folder.rows("trajectories") if row["passed"]]
    assert done
    assert asyncio.run(replay_trajectory(tmp_path / "data", done[0]["id"])).same
