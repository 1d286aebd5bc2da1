"""Answers of tools of which only the listing is known, put into words."""

from __future__ import annotations

import random
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.judging.statements import stated
from pipeline.records import Json
from pipeline.teacher.plainly import failing, lasting, leaves, sayable, told_plainly, told_values

CONVERTED: Json = {"original_value": 16.0, "converted_value": 128.0, "converted_unit": "pint"}


def test_news_are_told_and_demanded_before_what_the_user_has_said() -> None:
    assert told_values(CONVERTED, {"16.0"}) == ("128.0", "pint")
    assert "16.0" not in told_plainly(CONVERTED, random.Random(1), {"16.0"})


def test_of_a_sentence_only_its_values_are_demanded() -> None:
    assert told_values("Moved 3 files to B017.", set()) == ("3", "B017")
    assert told_values("Successfully wrote the file.", set()) == ()


@pytest.mark.parametrize("value", [{}, [], "", None, "<b>x</b>", {"a": "x" * 80}, 2.5e-16, ["a b"] * 13])
def test_what_nobody_could_say_is_not_told(value: Json) -> None:
    assert not sayable(value)


@pytest.mark.parametrize("text", ["Error: near X", "Path not found", "Invalid zone", "I was unable to do it"])
def test_an_error_as_an_answer_is_recognized(text: str) -> None:
    assert failing({"message": text})
    assert not failing({"message": "All is well, 3 rows."})


def test_what_lasts_of_an_answer_is_what_comes_again_and_is_not_of_today() -> None:
    now = datetime(2026, 3, 1, 23, 50, tzinfo=UTC)
    first: Json = {"at": "2026-03-02T00:10:00+01:00", "zone": "Asia/Tokyo", "load": 3}
    second: Json = {"at": "2026-03-02T00:10:00+01:00", "zone": "Asia/Tokyo", "load": 4}
    assert lasting(first, second, now) == [{"zone": "Asia/Tokyo"}]
    assert lasting("2026-03-01", "2026-03-01", now) == []
    assert told_values(lasting(first, second, now), set()) == ("Asia/Tokyo",)


SCALARS = st.one_of(st.booleans(), st.integers(-999, 999), st.sampled_from(["pint", "7.25", "2026-03-02"]))


@given(st.dictionaries(st.sampled_from(["size", "unit_name", "isOpen", "message"]), SCALARS, min_size=1))
def test_whatever_is_told_came_back(value: dict[str, Json]) -> None:
    text = told_plainly(value, random.Random(2))
    assert stated(text) <= frozenset().union(*(stated(leaf) for _, leaf in leaves(value)))
    assert all(one in text for one in told_values(value, set()) if one not in ("yes", "no"))
