"""Tolerant reading, strict validation."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.models.structured import Unreadable, read_answer, read_json

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**40), 2**40) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(VALUES)
def test_json_is_read_as_it_stands(value: object) -> None:
    assert read_json(json.dumps(value)) == value


@given(st.dictionaries(st.text(), VALUES, min_size=1, max_size=4))
def test_json_is_found_in_fences_and_in_prose(value: dict[str, object]) -> None:
    text = json.dumps(value)
    assert read_json(f"Sure!\n```json\n{text}\n```\nDone.") == value
    assert read_json(f"Here it is: {text} I hope it helps.") == value


@given(st.dictionaries(st.text(min_size=1), VALUES, min_size=1, max_size=4), st.data())
def test_what_is_cut_off_stays_unreadable(value: dict[str, object], data: st.DataObject) -> None:
    text = json.dumps(value)
    cut = data.draw(st.integers(1, len(text) - 1))
    with pytest.raises(Unreadable):
        read_json(text[:cut])


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": [1, 2,], }', {"a": [1, 2]}),
        ('\ufeff{"a": 1}', {"a": 1}),
        ('{"a": "line\nbreak"}', {"a": "line\nbreak"}),
        ('Let {x} be. {"a": 1}', {"a": 1}),
        ('I think [sic] so: {"a": {"b": []}}', {"a": {"b": []}}),
    ],
)
def test_small_slips_are_forgiven(text: str, value: object) -> None:
    assert read_json(text) == value


@pytest.mark.parametrize(
    "text", ["", "no", "NaN", '{"a": NaN}', "{'a': 1}", "[" * 100_000, "{" * 100_000, "{}{}}}"[3:]]
)
def test_what_is_no_json_is_unreadable(text: str) -> None:
    with pytest.raises(Unreadable):
        read_json(text)


def test_a_value_outside_the_schema_names_the_places() -> None:
    schema = {
        "type": "object",
        "properties": {"n": {"type": "integer"}, "s": {"enum": ["a", "b"]}},
        "required": ["n", "s"],
    }
    assert read_answer('{"n": 1, "s": "a"}', schema) == {"n": 1, "s": "a"}
    with pytest.raises(Unreadable, match=r"n: .*; s: "):
        read_answer('{"n": "1", "s": "c"}', schema)
    with pytest.raises(Unreadable, match="the answer: "):
        read_answer("[]", schema)
