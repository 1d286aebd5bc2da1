"""Formats other than chat: read back by code that knows the format, not by the code that wrote it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from store_samples import trajectory
from test_store_export import HELD, _turned, fill, rows_of

from pipeline.records import InputError, Trajectory
from pipeline.store import RunFolder
from pipeline.store.export import FORMATS, export


def _filled(tmp_path: Path, **options: Any) -> RunFolder:
    run = RunFolder.create(tmp_path / "data", "r", "all", 7, "")
    fill(run, 1, **options)
    return run


def _thinking(done: Trajectory) -> Trajectory:
    return _turned(7, reasoning="It worked.")(done)


def test_sharegpt_holds_the_same_conversation_as_chat(tmp_path: Path) -> None:
    run = _filled(tmp_path, change=_thinking)
    export([run], "chat", tmp_path / "chat", settings=HELD)
    export([run], "sharegpt", tmp_path / "share", settings=HELD)
    chats = {row["id"]: row for row in rows_of(tmp_path / "chat")["train"]}
    for row in rows_of(tmp_path / "share")["train"]:
        chat = chats[row["id"]]
        assert row["system"] == chat["messages"][0]["content"]
        assert [turn["from"] for turn in row["conversations"]] == [
            "human",
            "gpt",
            "tool",
            "gpt",
            "tool",
            "gpt",
        ]
        assert [turn["weight"] for turn in row["conversations"]] == [0, 0, 0, 1, 0, 1]
        text = "\n".join(turn["value"] for turn in row["conversations"])
        calls = [json.loads(call) for call in re.findall(r"<tool_call>\n(.*?)\n</tool_call>", text, re.S)]
        results = re.findall(r"<tool_response>\n(.*?)\n</tool_response>", text, re.S)
        functions = [c["function"] for m in chat["messages"] for c in m["tool_calls"] or []]
        assert calls == [{"name": f["name"], "arguments": json.loads(f["arguments"])} for f in functions]
        assert results == [m["content"] for m in chat["messages"] if m["role"] == "tool"]
        assert row["conversations"][-1]["value"].startswith("<think>\nIt worked.\n</think>\n")


def test_adp_keeps_the_protocol_s_rules(tmp_path: Path) -> None:
    run = _filled(tmp_path, change=_thinking)
    export([run], "adp", tmp_path / "out", settings=HELD)
    files = (tmp_path / "out" / "data").glob("train-*.jsonl")
    lines = [json.loads(line) for path in files for line in path.read_text().splitlines()]
    assert lines
    known = {
        "api_action": {"class_", "function", "kwargs", "description", "tool_call_id", "reasoning_content"},
        "message_action": {"class_", "content", "description", "reasoning_content"},
        "text_observation": {"class_", "content", "name", "source", "tool_call_id"},
    }
    for row in lines:
        assert set(row) == {"schema_version", "id", "content", "details"}
        asked: list[str] = []
        answered: list[str] = []
        for item in row["content"]:
            assert set(item) <= known[item["class_"]]
            if item["class_"] == "api_action":
                assert isinstance(item["kwargs"], dict)
                asked.append(item["tool_call_id"])
            elif "tool_call_id" in item:
                assert item["tool_call_id"] in asked
                answered.append(item["tool_call_id"])
        assert len(set(asked)) == len(asked) == 3
        assert sorted(asked) == sorted(answered)
        assert [row["content"][index]["class_"] for index in row["details"]["masked"]] == ["api_action"]
        assert row["content"][-1]["reasoning_content"] == "It worked."


def _texts(run: RunFolder, count: int = 12) -> None:
    rows = []
    for number in range(count):
        rows.append(
            {
                "document": f"doc_{number}",
                "source": f"d{number}.md",
                "style": "lecture",
                "language": "en",
                "license": "cc0-1.0",
                "prompts": ["3f2a"],
                "seed": 0,
                "chunks": 2,
                "chunks_kept": 0 if number == 1 else 2,
                "coverage": 1.0,
                "text": f"At {90 + number} degrees, source {number} has it, water begins to boil; word{number} "
                * 3,
            }
        )
    run.write_shard("rephrase", 0, {"texts": rows})


def test_text_holds_rewritten_documents(tmp_path: Path) -> None:
    import datasets

    run = RunFolder.create(tmp_path / "data", "r", "rephrase", 7, "")
    _texts(run)
    report = export([run], "text", tmp_path / "out", settings=HELD)
    assert report.dropped == {"too much of it is still the source's text": 1}
    loaded = datasets.load_dataset(str(tmp_path / "out"), cache_dir=str(tmp_path / "cache"))
    assert loaded["train"].features.arrow_schema.equals(FORMATS["text"].schema)
    assert {(row["license"], row["prompts"]) for row in loaded["train"]} == {("cc0-1.0", '["3f2a"]')}
    text = (tmp_path / "out" / "README.md").read_text()
    assert "# Rewritten texts" in text
    assert "rubric" not in text
    sides = [set(loaded[split]["document"]) for split in loaded]
    assert len(sides) == 3
    assert sum(map(len, sides)) == 11


def test_an_unknown_format_is_named(tmp_path: Path) -> None:
    run = _filled(tmp_path)
    with pytest.raises(InputError, match=r"'parquet' is no export format.*chat, sharegpt"):
        export([run], "parquet", tmp_path / "out")  # type: ignore[arg-type]


def test_the_same_attempt_of_two_runs_is_taken_once(tmp_path: Path) -> None:
    runs = [RunFolder.create(tmp_path / "data", name, "all", 7, "") for name in ("a", "b")]
    for run in runs:
        fill(run, 1)
    report = export(runs, "chat", tmp_path / "out", settings=HELD)
    assert report.dropped["the same attempt is in another run"] == 24
    assert sum(report.rows.values()) == 18


def test_word_for_word_equal_conversations_are_taken_once(tmp_path: Path) -> None:
    run = _filled(tmp_path, change=_turned(1, content="Please do it."))
    report = export([run], "chat", tmp_path / "out", settings=HELD)
    assert report.dropped["word for word the same as another row"] > 0
    shown = [
        json.dumps(row["messages"]) + row["tools"]
        for rows in rows_of(tmp_path / "out").values()
        for row in rows
    ]
    assert len(set(shown)) == len(shown)


def test_selection_and_pairs_of_the_run_decide(tmp_path: Path) -> None:
    run = RunFolder.create(tmp_path / "data", "r", "all", 7, "")
    same = _turned(1, content="Please do it.")
    tasks = fill(
        run, 1, lambda done: _turned(2, content=f"Attempt {done.attempt} at {done.task}.")(same(done))
    )
    ids = [[trajectory(each, attempt).id for attempt in (0, 1)] for each in tasks]
    run.write_shard(
        "selection",
        0,
        {
            "selections": [{"trajectory": ids[0][0], "kept": False, "rule": "shortest", "reason": "longer"}],
            "pairs": [
                {"task": tasks[0].id, "chosen": ids[0][1], "rejected": other, "reason": "shorter"}
                for other in (ids[0][0], ids[1][1])
            ],
        },
    )
    report = export([run], "chat", tmp_path / "chat", settings=HELD)
    assert report.dropped["left out by the selection: longer"] == 1
    export([run], "preference", tmp_path / "pairs", settings=HELD)
    rows = [row for rows in rows_of(tmp_path / "pairs").values() for row in rows]
    assert {(row["id"], row["rejected_id"], row["reason"]) for row in rows} == {
        (ids[0][1], other, "shorter") for other in (ids[0][0], ids[1][1])
    }
