"""Values in the items of a list belong to the rows the items are about."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.judging.derived import left_over
from pipeline.judging.facts import says_what_it_knows
from pipeline.judging.knowledge import Known
from pipeline.judging.standing import Standing
from pipeline.judging.statements import Row, Stated, result_of, stated
from pipeline.records import Event, Value
from tests.judging.test_facts import told

EXTRAS = [
    {"extra": "guest pass", "monthly_price": 2.5, "in_use": 9},
    {"extra": "locker", "monthly_price": 7.0, "in_use": 4},
    {"extra": "magazine", "monthly_price": 5.5, "in_use": 11},
]
LOANS = [
    {"title": "Lighthouse Keepers", "due": "2026-02-15", "renewals": 0, "copies": 3},
    {"title": "The Umbrella Repairman", "due": "2026-02-16", "renewals": 1, "copies": 5},
]


@pytest.mark.parametrize(
    "message",
    [
        "Here:\n- Guest pass at 2.50 a month\n- Locker at 7.00 a month\n- Magazine at 5.50 a month",
        "Guest pass at 2.50 a month, used by 9; locker at 7.00 a month; magazine at 5.50 a month, used by 11.",
        "Gästepass (guest pass) für 2.50, 9-mal; locker für 7.00, 4-mal; magazine für 5.50, 11-mal.",
    ],
)
def test_a_list_that_says_each_row_as_it_is_passes(message: str) -> None:
    evidence = told(("user", "Which extras are 9.00 or less?"), ("tool", EXTRAS), ("agent", message))
    assert says_what_it_knows(evidence).value is Value.PASS


@pytest.mark.parametrize(
    "message",
    [
        "Here:\n- Guest pass at 2.50 a month\n- Locker at 9.00 a month\n- Magazine at 5.50 a month",
        "Gästepass (guest pass) für 2.50, 9-mal; locker für 7.00, 11-mal; magazine für 5.50, 11-mal.",
    ],
)
def test_a_value_that_breaks_with_its_column_fails_in_any_language(message: str) -> None:
    evidence = told(("user", "Which extras are 9.00 or less?"), ("tool", EXTRAS), ("agent", message))
    assert says_what_it_knows(evidence).value is Value.FAIL


def test_of_two_items_the_words_have_to_name_the_column() -> None:
    good = "Lighthouse Keepers, renewals: 0; The Umbrella Repairman, renewals: 1. Which one?"
    bad = good.replace("renewals: 1", "renewals: 5")
    for message, value in ((good, Value.PASS), (bad, Value.FAIL)):
        evidence = told(("user", "Renew one of my loans."), ("tool", LOANS), ("agent", message))
        assert says_what_it_knows(evidence).value is value


def test_a_list_may_be_told_after_another_was_read() -> None:
    slots = [{"slot": f"T0{n}", "starts": f"2026-04-{n} 10:15", "minutes": 30} for n in (17, 18, 19)]
    booked = [{"booking": f"B0{n}", "talk": "storm advice", "minutes": n} for n in (20, 60, 90)]
    message = "April 17 at 10:15, 30 minutes; April 18 at 10:15, 30 minutes; April 19 at 10:15, 30 minutes."
    turns = (("user", "Move it."), ("tool", slots), ("tool", booked), ("user", "B090."), ("agent", message))
    assert says_what_it_knows(told(*turns)).value is Value.PASS


def test_a_year_behind_a_date_is_part_of_it() -> None:
    rows = [{"item": "reset", "issued": "2025-12-13", "still_due": 25.4}]
    rows.append({"item": "rescue", "issued": "2026-01-18", "still_due": 7.0})
    message = "reset of December 13, 2025, 25.40 due; rescue of January 18, 7.00 due. Which one?"
    evidence = told(("user", "I want to pay."), ("tool", rows), ("agent", message))
    assert says_what_it_knows(evidence).value is Value.PASS


@pytest.mark.parametrize(("more", "known"), [(2.0, True), (3.0, False), (1.0, False)])
def test_what_is_left_of_a_list_is_counted(more: float, known: bool) -> None:
    state = Known(Standing((), frozenset()))
    rows = [{"name": name} for name in ("anna", "berta", "carla", "doris", "emmy")]
    state.learn(Event(index=0, turn=0, role="tool", content=str(rows).replace("'", '"'), ok=True))
    assert left_over(state, more, f"Anna; Berta; Carla; and {more:.0f} more") is known


CELL = st.one_of(st.integers(0, 30), st.sampled_from(["locker", "2026-02-15", "at 7 pm", "B017", "12 of 30"]))


@given(st.lists(st.fixed_dictionaries({"a": CELL, "b": CELL, "c": CELL}), min_size=2, max_size=4))
def test_what_rows_share_stands_in_columns_of_the_shared_row(rows: list[dict[str, object]]) -> None:
    import json

    row: Row = result_of(json.dumps(rows)).shared[0]
    assert all(column in row.columns for value in row.values for column in row.places[value])


WORDS = st.sampled_from(
    "on at the of 4 14 14th 2026 march März julio pm 7 am 19:00 2026-03-02 20.00, B017 de 1. (3 5) x3 mar. May".split()
)


@given(st.lists(WORDS, min_size=1, max_size=12))
def test_a_text_states_what_its_words_state_in_one_piece(words: list[str]) -> None:
    """Values are found stretch by stretch; a stretch of filler words between two texts changes neither."""
    text, filler = " ".join(words), " and then so far as that goes "
    both: frozenset[Stated] = stated(f"{text}{filler}{text}")
    assert both == stated(text)
