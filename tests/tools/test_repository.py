"""Saved lists, identity, duplicates, neighbors and coverage."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.records import InputError, Provenance, SqlProgram, Step, ToolSpec
from pipeline.tools.coverage import categories_of, coverage, read_categories
from pipeline.tools.dumps import read_dump
from pipeline.tools.presentation import shown
from pipeline.tools.repository import Repository
from pipeline.tools.similarity import clusters, jaccard, shingles

TEXT = "Lists the open orders of one customer, newest first, with the state of each and the date it was placed on."


def tool(name: str = "t", description: str = TEXT, server: str = "s", **more: Any) -> ToolSpec:
    properties = {
        word: {"type": "string", "description": f"the {word} to look for"}
        for word in more.pop("arguments", ("customer",))
    }
    origin = {"source": "mcp", "server": server, **more.pop("provenance", {})}
    return ToolSpec(
        name=name,
        description=description,
        input_schema={"type": "object", "properties": properties},
        provenance=Provenance(**origin),
        **more,
    )


RAW = {
    "name": "a",
    "description": "Does a.",
    "inputSchema": {"type": "object", "properties": {"x": {"type": "string"}}},
}
SHAPES: dict[str, Any] = {
    "protocol answer": {"jsonrpc": "2.0", "id": 1, "result": {"tools": [RAW]}},
    "result alone": {"tools": [RAW], "serverInfo": {"name": "srv", "version": "1"}},
    "bare list": [RAW],
    "bare tool": RAW,
    "servers with tools": [{"name": "srv", "tools": [RAW]}],
    "mapping of servers": {"srv": {"tools": [RAW]}},
    "mapping of lists": {"srv": [RAW]},
    "openai": [
        {
            "type": "function",
            "function": {"name": "a", "description": "Does a.", "parameters": RAW["inputSchema"]},
        }
    ],
    "anthropic": {"tools": [{"name": "a", "description": "Does a.", "input_schema": RAW["inputSchema"]}]},
    "texts": {"tools": json.dumps([RAW])},
    "schema as text": {"tools": [{**RAW, "inputSchema": json.dumps(RAW["inputSchema"])}]},
    "tools by name": {"tools": {"a": {"description": "Does a.", "inputSchema": RAW["inputSchema"]}}},
    "deep": {"metadata": {"remote_server_response": {"tools": [RAW]}}},
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", ["d.json", "d.jsonl", "d.json.gz", "d.jsonl.gz"])
def test_tools_are_found_in_every_common_shape(tmp_path: Path, shape: str, name: str) -> None:
    path = tmp_path / name
    data = json.dumps(SHAPES[shape]).encode()
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    harvest = read_dump([path])
    assert [(found.name, found.input_schema) for found in harvest.tools] == [("a", RAW["inputSchema"])]
    assert harvest.failures == ()


def test_keys_around_a_tool_become_its_provenance(tmp_path: Path) -> None:
    path = tmp_path / "d.jsonl"
    row = {**RAW, "server": "srv", "registry": "npm", "package": "@x/srv", "version": "2.0", "license": "MIT"}
    path.write_text(json.dumps(row))
    origin = read_dump([path]).tools[0].provenance
    assert origin == Provenance(
        source="mcp", server="srv", registry="npm", package="@x/srv", version="2.0", license="MIT"
    )


def test_bad_rows_cost_one_failure_each_with_their_line(tmp_path: Path) -> None:
    path = tmp_path / "d.jsonl"
    path.write_bytes(json.dumps(RAW).encode() + b'\n{"name": "b", \n\n[]\n\xff\xfe\n{"x": 1}\n')
    harvest = read_dump([path])
    assert len(harvest.tools) == 1
    assert [failure.server for failure in harvest.failures] == [
        "d.jsonl:2",
        "d.jsonl:4",
        "d.jsonl:5",
        "d.jsonl:6",
    ]
    rows = harvest.failure_rows()
    assert [row["kind"] for row in rows] == ["mcp_unreadable"] * 4


def test_broken_items_of_a_list_are_rejected_not_lost(tmp_path: Path) -> None:
    path = tmp_path / "d.json"
    path.write_text(
        json.dumps({"tools": [RAW, None, 5, {"description": "nameless"}, {"name": "z", "inputSchema": 4}]})
    )
    harvest = read_dump([path])
    assert len(harvest.tools) == 1
    assert len(harvest.rejections) == 4
    assert all(row["kind"] == "tool_rejected" and row["message"] for row in harvest.failure_rows())


def test_a_dump_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nowhere\.json"):
        read_dump([tmp_path / "nowhere.json"])
    (tmp_path / "torn.json.gz").write_bytes(gzip.compress(b"[1, 2]")[:-9])
    with pytest.raises(InputError, match=r"torn\.json\.gz"):
        read_dump([tmp_path / "torn.json.gz"])


def test_a_tool_is_kept_once_and_equal_content_is_an_exact_duplicate() -> None:
    repository = Repository([tool(), tool(), tool(server="other")])
    assert len(repository) == 2
    assert repository.add([tool()]) == 0
    [group] = repository.exact_duplicates()
    assert {one.provenance.server for one in group} == {"s", "other"}
    assert len(repository.clusters) == 1


def test_near_duplicates_join_and_others_do_not() -> None:
    near = tool("u", TEXT.replace("newest", "latest"), arguments=("customer",))
    far = tool("v", "Cancels an order that has not been sent and pays the money back.", arguments=("order",))
    repository = Repository([tool(), near, far])
    assert jaccard(shingles(tool()), shingles(near)) < 0.8
    assert len(repository.clusters) == 3
    very_near = tool("w", TEXT + " Free.")
    assert jaccard(shingles(tool()), shingles(very_near)) >= 0.8
    repository.add([very_near])
    assert [len(cluster.members) for cluster in repository.clusters].count(2) == 1
    assert repository.duplicate_share() == pytest.approx(1 / 4)


def test_the_representative_follows_the_stated_rule() -> None:
    plain = tool("plain", TEXT)
    licensed = tool("licensed", TEXT, provenance={"license": "MIT"})
    longer = tool("longer", TEXT + " Free.", provenance={"license": "MIT"})
    program = SqlProgram(steps=(Step(kind="returns_many", sql="select 1"),))
    runs = tool("runs", TEXT, program=program)
    for best, others in ((licensed, [plain]), (longer, [licensed, plain]), (runs, [longer, licensed, plain])):
        for order in ([best, *others], [*others, best]):
            [cluster] = Repository(order).clusters
            assert cluster.representative == best


@settings(max_examples=60, deadline=None)
@given(st.lists(st.frozensets(st.sampled_from([str(n) for n in range(14)]), min_size=1), max_size=40))
def test_clusters_are_exactly_what_a_search_of_all_pairs_would_accept(sets: list[frozenset[str]]) -> None:
    """Every member is as similar as asked to its first, which stands before it and is its own first."""
    firsts = clusters(sets, 0.8)
    for number, first in enumerate(firsts):
        assert first <= number
        assert firsts[first] == first
        assert jaccard(sets[number], sets[first]) >= 0.8
    assert all(firsts[number] == firsts[sets.index(one)] for number, one in enumerate(sets))


def test_distractors_are_alike_but_never_right() -> None:
    wanted = tool("list_orders", TEXT, "shop")
    same = tool("list_orders_too", TEXT + " Free.", "elsewhere")
    sibling = tool("list_refunds", "Lists the refunds of one customer, newest first.", "shop")
    alike = tool("list_tickets", "Lists the open tickets of one customer, newest first.", "helpdesk")
    less = tool("list_trains", "Lists trains between two towns.", "rail")
    unlike = tool("render", "Renders polygons quickly.", "art", arguments=("mesh",))
    repository = Repository([wanted, same, sibling, alike, less, unlike])
    found = repository.similar(wanted, 5)
    assert [one.name for one in found][:2] == ["list_tickets", "list_trains"]
    assert not {"list_orders", "list_orders_too", "list_refunds"} & {one.name for one in found}
    assert "list_tickets" not in [one.name for one in repository.similar(wanted, 5, beside=[alike])]
    assert len(repository.similar(wanted, 1)) == 1


def test_versions_of_one_tool_stay_in_order() -> None:
    def version(number: str) -> ToolSpec:
        origin = {"package": "p", "version": number}
        return tool("a", f"As of {number}.", provenance=origin)

    repository = Repository([version("1.10"), version("1.9"), version("1.2.1"), tool("b")])
    assert [one.provenance.version for one in repository.versions(version("1.9"))] == ["1.2.1", "1.9", "1.10"]


def test_a_repository_is_saved_and_read_back_with_values_and_types(tmp_path: Path) -> None:
    odd = tool("odd", "nul-free 🚀 天気")
    schema = {
        "type": "object",
        "properties": {"Id": {"enum": [1, "1", None, True, 1.5]}, "id": {}, "select": {}},
    }
    odd = odd.replace(input_schema=schema, original={"name": "o.d.d", "x": [None, {}]}, flags=("one",))
    repository = Repository([tool(), odd])
    path = tmp_path / "tools.parquet"
    repository.save(path)
    assert list(Repository.load(path)) == list(repository)
    count = duckdb.sql(f"select count(*) from '{path}' where record like '%🚀%'").fetchall()
    assert count == [(1,)]
    assert [row["name"] for row in repository.rows()] == ["t", "odd"]
    (tmp_path / "broken.parquet").write_bytes(b"PAR1")
    with pytest.raises(InputError, match="broken"):
        Repository.load(tmp_path / "broken.parquet")


def test_coverage_counts_real_and_evolved_tools_by_category() -> None:
    evolved = tool("book", provenance={"source": "evolved", "server": "", "domain": "travel/lodging/hotel"})
    weather = [tool(f"forecast_{n}", f"Weather forecast, wind and rain, {n}.", "weather") for n in ("a", "b")]
    nothing = tool("zzz", "Qqq.", "vague", arguments=())
    repository = Repository([evolved, *weather, nothing])
    rows = {(row.category, row.source): row for row in coverage(repository)}
    assert (rows["travel", "evolved"].tools, rows["travel", "mcp"].tools) == (1, 0)
    assert (rows["weather", "mcp"].tools, rows["weather", "mcp"].homes) == (2, 1)
    assert rows["other", "mcp"].tools == 1
    assert sum(row.tools for row in rows.values()) == len(repository)


def test_every_real_tool_has_a_category(shared: Path) -> None:
    harvest = read_dump([shared / "data/mcp_tools.jsonl.gz"])
    found = categories_of(harvest.tools)
    assert set(found) == {one.id for one in harvest.tools}
    assert set(found.values()) <= {*read_categories(), "other"}
    assert sum(category == "other" for category in found.values()) < 0.1 * len(found)


def test_only_what_is_shown_is_cut() -> None:
    long = tool("long", "x" * 9000)
    schema = {
        "type": "object",
        "properties": {"zone": {"description": "A zone.", "enum": [f"z{n}" for n in range(500)]}},
    }
    long = long.replace(input_schema=schema)
    function = shown(long)["function"]
    assert len(function["description"]) < 4100
    assert "[cut: 5000 characters more]" in function["description"]
    assert "enum" not in function["parameters"]["properties"]["zone"]
    assert "440 values" in function["parameters"]["properties"]["zone"]["description"]
    assert len(long.description) == 9000
    assert shown(tool()) == tool().for_model()
