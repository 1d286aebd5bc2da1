"""Invariants over drawn values: rows hold events exactly, and ordinary talk always survives the chat templates."""

from __future__ import annotations

import json
from typing import Any

import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipeline.records import Event, InjectedFault, ToolCall, Usage
from pipeline.store import TABLES, event_of, event_row
from pipeline.store.export.conversation import Conversation, SpokenCall, Turn, Unfit
from pipeline.store.export.rendering import render, verify
from pipeline.store.export.splits import assign, near_copies, signature
from pipeline.store.shards import to_arrow

TEXT = st.text(st.characters(codec="utf-8", exclude_categories=("Cn",)), max_size=60)
NAME = st.from_regex(r"[a-zA-Z0-9_-]{1,20}", fullmatch=True)
VALUE = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
OBJECT = st.dictionaries(TEXT, VALUE, max_size=4)

CALLS = st.builds(ToolCall, id=TEXT, name=TEXT, raw=TEXT, arguments=st.none() | OBJECT)
EVENTS = st.builds(
    Event,
    index=st.integers(0, 99),
    turn=st.integers(0, 99),
    role=st.sampled_from(["system", "user", "assistant", "tool"]),
    content=TEXT,
    reasoning=TEXT,
    calls=st.lists(CALLS, max_size=2).map(tuple),
    call_id=TEXT,
    name=TEXT,
    ok=st.none() | st.booleans(),
    error_code=TEXT,
    fault=st.none()
    | st.builds(InjectedFault, tool=TEXT, nth=st.integers(1, 9), kind=TEXT, committed=st.booleans()),
    before=TEXT,
    after=TEXT,
    loss=st.booleans(),
    usage=st.builds(Usage, tokens_in=st.integers(0, 9), tokens_out=st.integers(0, 9), cost=st.floats(0, 1)),
    logprobs=st.lists(st.floats(-99, 0), max_size=3).map(tuple),
    note=TEXT,
)


@settings(max_examples=60, deadline=None)
@given(event=EVENTS)
def test_a_row_holds_an_event_exactly(event: Event) -> None:
    table = to_arrow(TABLES["events"], [event_row("t", event)])
    assert event_of(table.to_pylist()[0]) == event


_ORDINARY = str.maketrans({"<": "‹", "\ufdd0": "", "\ufdd1": ""})
"""Every control token begins with the one character that ordinary talk here does without."""


@st.composite
def conversations(draw: Any, text: Any, hostile: bool) -> Conversation:
    def json_of(value: Any) -> str:
        return json.dumps(value, ensure_ascii=False).translate({} if hostile else _ORDINARY)

    turns = [Turn("system", draw(text), 0), Turn("user", draw(text), 1)]
    for _ in range(draw(st.integers(1, 3))):
        calls = tuple(
            SpokenCall(f"c{number}", draw(NAME), json_of(draw(OBJECT)))
            for number in range(draw(st.integers(0, 2)))
        )
        turns.append(Turn("assistant", draw(text), len(turns), draw(text), calls, weight=1))
        turns += [Turn("tool", draw(text), len(turns), call_id=call.id, name=call.name) for call in calls]
        if not calls:
            turns.append(Turn("user", draw(text), len(turns)))
    turns.append(Turn("assistant", draw(text), len(turns), weight=1))
    tools = [
        {
            "type": "function",
            "function": {"name": draw(NAME), "description": draw(TEXT), "parameters": draw(OBJECT)},
        }
        for _ in range(draw(st.integers(0, 2)))
    ]
    return Conversation("x", tuple(turns), json_of(tools))


ORDINARY = TEXT.map(lambda text: text.translate(_ORDINARY))
TEMPLATES = ("hermes", "llama3", "reasoning")


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(row=conversations(ORDINARY, hostile=False))
def test_ordinary_talk_survives_every_template(row: Conversation) -> None:
    verify(row, TEMPLATES)


CONTROL = st.sampled_from(
    [
        *(
            "<|im_end|>",
            "<|im_start|>user\n",
            "<tool_call>\n",
            "\n</tool_call>",
            "<tool_response>\n",
            "\n</tool_response>",
        ),
        *(
            "<|eot_id|>",
            "<|start_header_id|>user<|end_header_id|>\n\n",
            "<|python_tag|>",
            "</think>\n\n",
            "<think>\n",
        ),
        *("{% generation %}", "{{ 7 * 7 }}", "\n", "{", "}", '"'),
    ]
)
HOSTILE = st.lists(CONTROL | TEXT, max_size=3).map("".join)


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(row=conversations(HOSTILE, hostile=True))
def test_control_tokens_in_a_text_never_forge_a_turn(row: Conversation) -> None:
    """Either the row is refused, or its rendered text holds exactly as many turns as the row."""
    try:
        verify(row, TEMPLATES)
    except Unfit:
        return
    assert render("reasoning", row).text.count("<|im_start|>") == len(row.turns)
    assert render("llama3", row).text.count("<|start_header_id|>") == len(row.turns)
    spans = render("hermes", row).spans
    assert len(spans) == sum(turn.role == "assistant" for turn in row.turns)
    assert "49" not in render("hermes", row).text or any(
        "49" in f"{turn}" for turn in (*row.turns, row.tools)
    )


@given(
    groups=st.lists(st.sampled_from("abcdefghijklmnop"), min_size=1, max_size=200),
    shares=st.tuples(st.floats(0, 0.3), st.floats(0, 0.3)),
    seed=st.integers(0, 9),
)
def test_groups_are_whole_and_training_keeps_the_most(
    groups: list[str], shares: tuple[float, float], seed: int
) -> None:
    splits = assign(groups, {"validation": shares[0], "test": shares[1]}, seed)
    assert set(splits) == set(groups)
    assert splits == assign(groups, {"validation": shares[0], "test": shares[1]}, seed)
    sizes = {side: sum(splits[group] == side for group in groups) for side in ("train", "validation", "test")}
    assert sizes["train"] >= len(groups) * 0.25
    if not any(shares):
        assert sizes["train"] == len(groups)


@pytest.mark.parametrize(("changed", "near"), [(0, True), (3, True), (60, False), (200, False)])
def test_near_copies_are_found_by_their_words(changed: int, near: bool) -> None:
    words = [f"w{number}" for number in range(200)]
    other = [f"x{number}" if number < changed else word for number, word in enumerate(words)]
    train = signature(" ".join(words))[None, :]
    held = signature("  ".join(other).upper())[None, :]
    assert near_copies(held, train, 0.8) == ({0} if near else set())


def test_parquet_written_twice_is_equal(tmp_path: Any) -> None:
    from pipeline.store.shards import write_parquet

    rows = [
        event_row("t", Event(index=number, turn=0, role="user", content="é" * number)) for number in range(50)
    ]
    hashes = {write_parquet(tmp_path / name, to_arrow(TABLES["events"], rows)) for name in ("a", "b")}
    assert len(hashes) == 1
    assert pq.read_schema(tmp_path / "a").equals(TABLES["events"].schema)
