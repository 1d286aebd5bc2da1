"""Arguments made up from listings."""

from __future__ import annotations

import random

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.records import Json, Provenance, ToolSpec
from pipeline.tasks.made_up import NotSayable, arguments_for, value_for

RNG = random.Random(3)


def _tool(properties: dict[str, Json], required: list[str]) -> ToolSpec:
    schema = {"type": "object", "properties": properties, "required": required}
    return ToolSpec(
        name="t", description="d", input_schema=schema, provenance=Provenance(source="mcp", server="s")
    )


def test_examples_of_a_description_are_taken() -> None:
    zone = {"type": "string", "description": "IANA name (e.g., 'America/New_York', 'Europe/London')."}
    assert value_for("where", zone, RNG) in ("America/New_York", "Europe/London")


def test_values_are_shared_by_name_as_far_as_they_are_allowed() -> None:
    pool: dict[str, Json] = {}
    arguments_for(
        _tool({"unit": {"enum": ["calorie"]}, "path": {"type": "string"}}, ["unit", "path"]), RNG, pool
    )
    before = dict(pool)
    found = arguments_for(
        _tool({"unit": {"enum": ["acre"]}, "path": {"type": "string"}}, ["unit", "path"]), RNG, pool
    )
    assert found == {"unit": "acre", "path": before["path"]}


@pytest.mark.parametrize("schema", [{"type": "object"}, {"type": "array", "items": {"type": "object"}}, {}])
def test_what_nobody_could_say_in_a_sentence_is_refused(schema: dict[str, Json]) -> None:
    with pytest.raises(NotSayable):
        arguments_for(_tool({"x": schema}, ["x"]), RNG, {})
    assert arguments_for(_tool({"x": schema}, []), RNG, {}) == {}


SCHEMAS = st.one_of(
    st.fixed_dictionaries({"type": st.just("integer"), "minimum": st.integers(-5, 50)}),
    st.fixed_dictionaries({"type": st.just("number"), "maximum": st.integers(5, 500)}),
    st.fixed_dictionaries({"type": st.just("string"), "description": st.text(max_size=40)}),
    st.fixed_dictionaries({"type": st.just("boolean")}),
    st.fixed_dictionaries({"enum": st.lists(st.sampled_from(["a", "b", 3]), min_size=1, unique=True)}),
    st.fixed_dictionaries({"type": st.just("array"), "items": st.just({"type": "string"})}),
)


@given(st.sampled_from(["path", "timezone", "limit", "startTime", "x"]), SCHEMAS, st.integers())
def test_a_made_up_value_fits_its_schema(name: str, schema: dict[str, Json], seed: int) -> None:
    assert jsonschema_rs.is_valid(schema, value_for(name, schema, random.Random(seed)))
