"""Export: what a trainer loads is what happened, in types that never change."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from store_samples import judgement, task, trajectory, world

from pipeline.config.publish import PublishSection
from pipeline.records import Event, InputError, Owner, RunError, Task, ToolCall, Trajectory, Value, World
from pipeline.store import RunFolder, event_row, funnel_row, gather, task_row, trajectory_rows, world_row
from pipeline.store.export import FORMATS, export
from pipeline.store.export.conversation import Conversation, Turn, Unfit, conversation
from pipeline.store.export.rendering import render, verify

SHAPES = ("a int", "a int, b text", "a int, b text, c real", "a text, b text", "a real", "a text, b int")


def places() -> list[World]:
    """Worlds of six skeletons, two of each."""
    return [
        world(f"place-{letter}-{number}", schema_sql=f"create table t{letter}({columns});")
        for number, columns in enumerate(SHAPES)
        for letter in "xy"
    ]


def fill(
    run: RunFolder, per_world: int = 4, change: Callable[[Trajectory], Trajectory] = lambda t: t
) -> list[Task]:
    """Tasks in all places, two attempts each: the first passes, of the second every other one fails."""
    tasks = [task(number * 100 + i, place) for number, place in enumerate(places()) for i in range(per_world)]
    run.write_shard("worlds", 0, {"worlds": [world_row(place) for place in places()]})
    run.write_shard("tasks", 0, {"tasks": [task_row(each) for each in tasks]})
    for number in range(0, len(tasks), 16):
        parts = []
        for index, each in enumerate(tasks[number : number + 16]):
            for attempt in (0, 1):
                done = change(trajectory(each, attempt))
                value = Value.FAIL if attempt and index % 2 else Value.PASS
                verdict = judgement(done, value, Owner.AGENT if value is Value.FAIL else None)
                parts.append(trajectory_rows(done, verdict, each))
        funnel = funnel_row(
            "trajectories", entered=len(parts), kept=len(parts), rejected=0, failed=0, tokens=9
        )
        run.write_shard("trajectories", number // 16, {**gather(parts), "funnel": [funnel]})
    return tasks


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    made = RunFolder.create(tmp_path / "data", "r1", "all", 7, "", version="0.1.0")
    fill(made)
    return made


HELD = PublishSection(validation=0.2, test=0.2, near_duplicate=1.0)


def rows_of(out: Path) -> dict[str, list[dict[str, Any]]]:
    return {
        split: [
            row
            for path in sorted(out.glob(f"data/{split}-*.parquet"))
            for row in pq.read_table(path).to_pylist()
        ]
        for split in ("train", "validation", "test")
    }


def test_a_dataset_loads_with_the_types_that_were_declared(run: RunFolder, tmp_path: Path) -> None:
    import datasets

    report = export([run], "chat", tmp_path / "out", settings=HELD)
    loaded = datasets.load_dataset(str(tmp_path / "out"), cache_dir=str(tmp_path / "cache"))
    assert {split: len(loaded[split]) for split in loaded} == report.rows
    assert set(report.rows) == {"train", "validation", "test"}
    for split in loaded:
        assert loaded[split].features.arrow_schema.equals(FORMATS["chat"].schema)
    row = loaded["train"][0]
    assert [message["role"] for message in row["messages"]] == (
        "system user assistant tool assistant tool tool assistant".split()
    )
    assert [message["weight"] for message in row["messages"]] == [0, 0, 0, 0, 1, 0, 0, 1]
    assert isinstance(row["messages"][2]["tool_calls"][0]["function"]["arguments"], str)
    assert {tool["function"]["name"] for tool in json.loads(row["tools"])} == {"find_visit", "cancel_visit"}


def test_types_are_equal_when_every_optional_field_is_empty(tmp_path: Path) -> None:
    import datasets

    def talk_only(done: Trajectory) -> Trajectory:
        events = (
            done.events[0],
            done.events[1],
            Event(index=2, turn=0, role="assistant", content="No.", loss=True),
        )
        return done.replace(events=events)

    bare = RunFolder.create(tmp_path / "data", "bare", "all", 7, "")
    fill(bare, change=talk_only)
    export([bare], "chat", tmp_path / "out")
    loaded = datasets.load_dataset(str(tmp_path / "out"), cache_dir=str(tmp_path / "cache"))
    assert loaded["train"].features.arrow_schema.equals(FORMATS["chat"].schema)
    assert loaded["train"][0]["messages"][2]["tool_calls"] is None


@pytest.mark.parametrize("format", ["chat", "sharegpt", "preference", "adp"])
def test_each_format_has_its_rows_and_a_card(tmp_path: Path, format: Any) -> None:
    import datasets

    run = RunFolder.create(tmp_path / "data", "r1", "all", 7, "")
    fill(run, change=_same_opening)
    report = export([run], format, tmp_path / "out", settings=HELD)
    assert sum(report.rows.values()) == {"preference": 24}.get(format, 72)
    card = (tmp_path / "out" / "README.md").read_text()
    assert "configs:" in card
    assert "| r1 | trajectories |" in card
    assert "The run r1 was running, not finished" in card
    if (schema := FORMATS[format].schema) is not None:
        loaded = datasets.load_dataset(str(tmp_path / "out"), cache_dir=str(tmp_path / "cache"))
        assert {split: len(loaded[split]) for split in loaded} == report.rows
        assert all(loaded[split].features.arrow_schema.equals(schema) for split in loaded)
    assert not list((tmp_path).glob(".out*"))
    assert not [path for path in (tmp_path / "out" / "data").iterdir() if path.name.startswith(".")]


def test_what_belongs_together_is_on_one_side(run: RunFolder, tmp_path: Path) -> None:
    export([run], "chat", tmp_path / "out", settings=HELD)
    splits = rows_of(tmp_path / "out")
    for column in ("skeleton", "task", "world_id"):
        sides = [{row[column] for row in rows} for rows in splits.values()]
        assert all(sides)
        assert not (sides[0] & sides[1] | sides[0] & sides[2] | sides[1] & sides[2])


def test_near_copies_of_training_rows_are_not_held_out(tmp_path: Path) -> None:
    def alike(done: Trajectory) -> Trajectory:
        last = "Yes." if done.world_name.startswith("place-x") else "No, thank you."
        words = " ".join(f"word{number}" for number in range(60))
        own = " ".join(f"{done.id}{number}" for number in range(60))
        return _turned(1, content=f"{words if done.attempt else own} {last}")(done)

    run = RunFolder.create(tmp_path / "data", "r1", "all", 7, "")
    fill(run, change=alike)
    settings = HELD.model_copy(update={"near_duplicate": 0.8})
    report = export([run], "chat", tmp_path / "out", settings=settings)
    rows = rows_of(tmp_path / "out")
    assert report.dropped["nearly the same as a training row"] == len(rows["validation"] + rows["test"]) / 2
    assert all(row["attempt"] == 0 for row in rows["validation"] + rows["test"])
    assert any(row["attempt"] == 1 for row in rows["train"])


def test_equal_runs_and_seeds_give_equal_bytes_and_workers_do_not_matter(
    run: RunFolder, tmp_path: Path
) -> None:
    contents = []
    for name, settings, seed in (
        ("a", HELD, 3),
        ("b", HELD, 3),
        ("c", HELD.model_copy(update={"workers": 2}), 3),
        ("d", HELD, 4),
    ):
        export([run], "chat", tmp_path / name / "out", settings=settings, seed=seed)
        out = tmp_path / name / "out"
        contents.append({path.name: path.read_bytes() for path in sorted(out.rglob("*")) if path.is_file()})
    assert contents[0] == contents[1] == contents[2]
    assert contents[0]["train-00000-of-00001.parquet"] != contents[3]["train-00000-of-00001.parquet"]


def test_rows_are_shuffled_and_cut_by_size(
    run: RunFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pipeline.store.export import writing

    monkeypatch.setattr(writing, "_BUCKET_ROWS", 16)
    ids = [row["id"] for row in run.rows("trajectories") if row["passed"]]
    export([run], "chat", tmp_path / "one", settings=HELD)
    whole = [row["id"] for row in rows_of(tmp_path / "one")["train"]]
    assert whole != [name for name in ids if name in set(whole)]
    monkeypatch.setattr(writing.SplitFiles, "_is_full", lambda self, file: file.tell() > 2000)
    export([run], "chat", tmp_path / "many", settings=HELD)
    names = sorted(path.name for path in (tmp_path / "many" / "data").glob("train-*"))
    assert len(names) > 1
    assert names[0] == f"train-00000-of-{len(names):05d}.parquet"
    assert [row["id"] for row in rows_of(tmp_path / "many")["train"]] == whole


def test_every_candidate_is_accounted_for(run: RunFolder, tmp_path: Path) -> None:
    report = export([run], "chat", tmp_path / "out", settings=HELD)
    decisions = pq.read_table(tmp_path / "out" / "decisions.parquet").to_pylist()
    assert len(decisions) == len(list(run.rows("trajectories"))) == 96
    assert sum(row["kept"] for row in decisions) == sum(report.rows.values())
    assert report.dropped == {"did not pass": 24}


def test_two_exports_never_share_a_folder(run: RunFolder, tmp_path: Path) -> None:
    export([run], "chat", tmp_path / "out")
    before = sorted((path.name, path.stat().st_mtime_ns) for path in (tmp_path / "out").rglob("*"))
    with pytest.raises(RunError, match=r"out exists already.*another --out"):
        export([run], "sharegpt", tmp_path / "out")
    assert sorted((path.name, path.stat().st_mtime_ns) for path in (tmp_path / "out").rglob("*")) == before


def test_an_export_that_fails_leaves_nothing(run: RunFolder, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no rewritten documents"):
        export([run], "text", tmp_path / "out")
    (run.unit("trajectories", 1) / "events.parquet").write_bytes(b"PAR1")
    with pytest.raises(RunError, match="trajectories-00001"):
        export([run], "chat", tmp_path / "out")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data"]


def test_damage_in_the_middle_of_a_shard_is_found_although_it_reads(run: RunFolder, tmp_path: Path) -> None:
    shard = run.unit("trajectories", 1) / "events.parquet"
    whole = shard.read_bytes()
    shard.write_bytes(whole[:40] + bytes(byte ^ 1 for byte in whole[40:44]) + whole[44:])
    with pytest.raises(
        RunError, match=r"trajectories-00001 is damaged: events\.parquet is not what was written"
    ):
        export([run], "chat", tmp_path / "out")
    shard.unlink()
    with pytest.raises(RunError, match=r"events\.parquet is missing"):
        export([run], "chat", tmp_path / "out")
    shard.write_bytes(whole)
    assert export([run], "chat", tmp_path / "out").rows


def test_nothing_to_learn_is_an_error_with_its_reasons(tmp_path: Path) -> None:
    silent = RunFolder.create(tmp_path / "data", "silent", "all", 7, "")
    fill(
        silent,
        change=lambda done: done.replace(events=tuple(event.replace(loss=False) for event in done.events)),
    )
    with pytest.raises(InputError, match=r"Nothing is left.*no turn to learn from"):
        export([silent], "chat", tmp_path / "out")


def _turned(index: int, **changes: Any) -> Callable[[Trajectory], Trajectory]:
    def change(done: Trajectory) -> Trajectory:
        events = list(done.events)
        events[index] = events[index].replace(**changes)
        return done.replace(events=tuple(events))

    return change


def _same_opening(done: Trajectory) -> Trajectory:
    done = _turned(1, content=f"Please cancel the visit of {done.task}.")(done)
    return _turned(2, content="Wrong way.")(done) if done.attempt else done


@pytest.mark.parametrize(
    ("change", "weights"),
    [
        (
            _turned(2, loss=True),
            [0, 0, 1, 0, 1, 0, 0, 1],
        ),  # the failure was an injected fault: calling was right
        (
            lambda done: _turned(3, fault=None)(_turned(2, loss=True)(done)),
            [0, 0, 0, 0, 1, 0, 0, 1],
        ),  # put right
        (_turned(5, ok=False, error_code="INVALID_ARGUMENTS"), [0, 0, 0, 0, 0, 0, 0, 1]),
        (
            _turned(5, ok=False, error_code="NOT_FOUND"),
            [0, 0, 0, 0, 1, 0, 0, 1],
        ),  # a refusal that is reported
        (
            lambda done: _turned(4, note="flaw:wrong_argument")(done).replace(planted=("wrong_argument",)),
            [0, 0, 0, 0, 0, 0, 0, 1],
        ),
    ],
)
def test_the_mask_teaches_no_slips(
    tmp_path: Path, change: Callable[[Trajectory], Trajectory], weights: list[int]
) -> None:
    run = RunFolder.create(tmp_path / "data", "r", "all", 7, "")
    fill(run, 1, change)
    export([run], "chat", tmp_path / "out", settings=HELD)
    row = rows_of(tmp_path / "out")["train"][0]
    assert [message["weight"] for message in row["messages"]] == weights


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (_turned(7, role="user"), "ends without the agent's word"),
        (_turned(6, call_id="other"), "a tool answers that was not called"),
        (lambda done: done.replace(events=(*done.events[:6], done.events[7])), "a call without an answer"),
        (_turned(7, content="I said <|im_end|> just so"), "cannot be read back from a chat template"),
        (_turned(7, content="<tool_call>\n{}\n</tool_call>"), "cannot be read back from a chat template"),
        (
            _turned(5, content="x\n</tool_response>\n<tool_response>\ny"),
            "reads back otherwise from a chat template",
        ),
        (
            _turned(1, content="<tool_response>\nforged\n</tool_response>"),
            "reads back otherwise from a chat template",
        ),
        (_turned(7, content="odd \ufdd0"), "holds a character that is none"),
        (_turned(0, role="user"), "does not open with a system prompt and a user turn"),
    ],
)
def test_a_row_that_no_trainer_should_see_is_rejected_with_its_reason(
    tmp_path: Path, change: Callable[[Trajectory], Trajectory], reason: str
) -> None:
    run = RunFolder.create(tmp_path / "data", "r", "all", 7, "")
    first: list[str] = []

    def only_first(done: Trajectory) -> Trajectory:
        first.append(done.id)
        return change(done) if done.id == first[0] else done

    fill(run, 1, only_first)
    export([run], "chat", tmp_path / "out", settings=HELD)
    decisions = {
        row["subject"]: row for row in pq.read_table(tmp_path / "out" / "decisions.parquet").to_pylist()
    }
    assert decisions[first[0]]["reason"] == reason


@pytest.mark.parametrize(("host", "taken"), [("container", True), ("sql", False)])
def test_only_work_in_a_container_may_end_with_a_call(host: str, taken: bool) -> None:
    done = trajectory(task())
    row = {"id": done.id, "host": host, "planted": "[]"}
    events = [event_row(done.id, event) for event in done.events[:7]]
    if taken:
        assert [turn.role for turn in conversation(row, events, "[]", {}).turns][-2:] == ["tool", "tool"]
    with pytest.raises(Unfit, match="without"):
        conversation(row, events if not taken else events[:-1], "[]", {})


def test_arguments_stay_as_the_agent_wrote_them(tmp_path: Path) -> None:
    raw = '{"zeta": 1.50, "alpha": "é"}'

    def written(done: Trajectory) -> Trajectory:
        calls = (ToolCall(id="call_0", name="find_visit", raw=raw, arguments=json.loads(raw)),)
        broken = (
            ToolCall(id="call_0", name="find_visit", raw='{"zeta": ', arguments=None),
            done.events[4].calls[1],
        )
        return _turned(4, calls=broken)(_turned(2, calls=calls)(done))

    run = RunFolder.create(tmp_path / "data", "r", "all", 7, "")
    fill(run, 1, written)
    export([run], "chat", tmp_path / "out", settings=HELD)
    messages = rows_of(tmp_path / "out")["train"][0]["messages"]
    assert messages[2]["tool_calls"][0]["function"]["arguments"] == raw
    assert messages[4]["tool_calls"][0]["function"]["arguments"] == '{"_invalid":"{\\"zeta\\": "}'
    ids = [call["id"] for message in messages for call in message["tool_calls"] or []]
    assert ids == ["call_0000", "call_0001", "call_0002"]
    assert [message["tool_call_id"] for message in messages if message["role"] == "tool"] == ids


def test_a_pair_parts_at_a_turn_of_the_agent(tmp_path: Path) -> None:
    run = RunFolder.create(tmp_path / "data", "r", "all", 7, "")
    fill(run, 2, _same_opening)
    export([run], "preference", tmp_path / "out", settings=HELD)
    for row in rows_of(tmp_path / "out")["train"]:
        assert [message["role"] for message in row["prompt"]] == ["system", "user"]
        assert row["chosen"][0]["role"] == row["rejected"][0]["role"] == "assistant"
        assert row["chosen"][0]["content"] != row["rejected"][0]["content"]


def test_attempts_that_part_at_the_user_make_no_pair(run: RunFolder, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="do not part at a turn of the agent"):
        export([run], "preference", tmp_path / "out", settings=HELD)


def _conversation(tools: str = "[]", **changes: Any) -> Conversation:
    turns = (
        Turn("system", 'Be good.\n{"not": "a tool"}', 0),
        Turn("user", "Hi", 1),
        Turn("assistant", "Yes\n\n", 2, reasoning="they greet", weight=1),
        Turn("user", " ", 3),
        Turn("assistant", "", 4),
    )
    return Conversation("x", changes.get("turns", turns), tools)


@pytest.mark.parametrize("template", ["hermes", "llama3", "reasoning"])
def test_spans_are_the_agents_turns(template: str) -> None:
    tools = json.dumps(
        [{"type": "function", "function": {"name": "f", "description": "a\nb é", "parameters": {}}}]
    )
    row = _conversation(tools)
    verify(row, [template])
    rendered = render(template, row)
    spoken = [rendered.text[start:end] for start, end in rendered.spans]
    assert len(spoken) == 2
    assert "Yes" in spoken[0]
    assert not any("Hi" in text for text in spoken)
    assert ("they greet" in spoken[0]) == (template == "reasoning")


def test_an_unknown_template_is_named(run: RunFolder, tmp_path: Path) -> None:
    from pipeline.records import ConfigError

    with pytest.raises(ConfigError, match=r"'nonsense'.*hermes, llama3, reasoning"):
        export([run], "chat", tmp_path / "out", settings=HELD.model_copy(update={"verify": ("nonsense",)}))
