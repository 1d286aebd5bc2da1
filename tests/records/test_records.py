"""Records: frozen, strict, content-addressed, and documented as they are."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from pipeline.records import (
    Event,
    Predicate,
    Provenance,
    ToolSpec,
    Usage,
    canonical_json,
    content_id,
    trajectory_id,
)
from pipeline.records.schema import text

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**60), 2**60)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=12,
)


def _tool(**changes: object) -> ToolSpec:
    values: dict[str, object] = {
        "name": "find_member",
        "description": "Finds.",
        "input_schema": {"type": "object", "properties": {"b": {"type": "string"}, "a": {"type": "number"}}},
        "provenance": Provenance(source="evolved"),
    }
    return ToolSpec.model_validate({**values, **changes})


def test_the_schema_in_docs_is_the_schema_of_the_code() -> None:
    path = Path(__file__).parents[2] / "docs" / "records.schema.json"
    assert path.read_text(encoding="utf-8") == text(), (
        "run: python -m pipeline.records.schema > docs/records.schema.json"
    )


@given(JSON)
def test_canonical_json_does_not_depend_on_key_order_and_reads_back(value: object) -> None:
    written = canonical_json(value)
    assert canonical_json(json.loads(written)) == written


def test_canonical_json_takes_25_and_25_point_0_for_one() -> None:
    assert canonical_json({"a": 25.0}) == canonical_json({"a": 25}) == '{"a":25}'


def test_canonical_json_refuses_what_json_does_not_know() -> None:
    with pytest.raises(ValueError):
        canonical_json(float("nan"))


def test_equal_content_has_equal_ids_and_flags_are_no_content() -> None:
    assert _tool().id == _tool(flags=("noticed",)).id
    assert _tool().id != _tool(description="Looks.").id


def test_a_record_reads_back_with_its_key_order() -> None:
    again = ToolSpec.model_validate_json(_tool().to_json())
    assert list(again.input_schema["properties"]) == ["b", "a"]
    assert again == _tool()


def test_records_are_frozen_and_strict() -> None:
    with pytest.raises(ValidationError):
        Usage().cost = 3  # type: ignore[misc]
    with pytest.raises(ValidationError):
        Predicate.model_validate({"op": "eq", "valeu": 3})


def test_a_tool_name_must_be_legal_for_function_calling() -> None:
    with pytest.raises(ValidationError):
        _tool(name="crm.contacts/list")


def test_an_id_is_an_identity_before_there_is_content() -> None:
    assert trajectory_id("task_1", 0, 7) == trajectory_id("task_1", 0, 7) != trajectory_id("task_1", 1, 7)
    assert content_id("x", [1]) == content_id("x", [1.0])


def test_an_event_keeps_what_the_agent_wrote() -> None:
    event = Event(index=1, turn=1, role="assistant", content="ok — così", loss=True)
    assert Event.model_validate_json(event.to_json()) == event
