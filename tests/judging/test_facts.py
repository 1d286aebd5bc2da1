"""What is said, compared by value."""

from __future__ import annotations

import json

import pytest

from pipeline.judging.claims import honest_about_nothing
from pipeline.judging.evidence import Evidence
from pipeline.judging.facts import says_what_it_knows
from pipeline.judging.statements import result_of, stated
from pipeline.records import (
    AgentProfile,
    EndReason,
    Event,
    Goal,
    Persona,
    Rubric,
    StateCheck,
    Task,
    ToolCall,
    Toolset,
    Trajectory,
    Value,
)

SEATS = [
    {"seat": "2C", "place": "aisle", "price": 16.0},
    {"seat": "3C", "place": "aisle", "price": 17.0},
    {"seat": "4A", "place": "window", "price": 17.0},
]


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("16.00", "16"),
        ("1,234.50", "1234.5"),
        ("July 14", "the 14th of July"),
        ("2026-07-14", "14 July 2026"),
        ("2026-07-14T14:00:00", "2026-07-14 at 2 pm"),
        ("7:05 pm", "19:05"),
        ("7 pm", "19:00"),
        ("JU5GC6", "ju5gc6"),
        ("-163.88", "163.88 overdrawn"),
    ],
)
def test_notation_does_not_matter(left: str, right: str) -> None:
    assert stated(left) == stated(right)
    assert stated(left)


def test_a_price_after_a_date_is_no_year() -> None:
    assert ("number", 1190.0) in stated("from July 7 to July 12, 1190.00 in all")


def test_numbers_of_a_numbered_list_state_nothing() -> None:
    assert stated("1. aisle\n2. window") == frozenset()


def told(*turns: tuple[str, object], prompt: str = "A change costs 25.00 each time.") -> Evidence:
    """Evidence of a talk: ("user", text), ("agent", text), ("tool", result) in order."""
    events = [Event(index=0, turn=0, role="system", content=prompt)]
    for role, content in turns:
        index = len(events)
        if role == "tool":
            call = ToolCall(id=f"c{index}", name="look", raw="{}", arguments={})
            events.append(Event(index=index, turn=1, role="assistant", calls=(call,)))
            text = json.dumps(content)
            events.append(
                Event(
                    index=index + 1, turn=1, role="tool", content=text, call_id=call.id, name="look", ok=True
                )
            )
        else:
            note = "act:open" if role == "user" else ""
            events.append(
                Event(
                    index=index,
                    turn=1,
                    role="user" if role == "user" else "assistant",
                    content=str(content),
                    note=note,
                )
            )
    task = Task(
        world="",
        agent=AgentProfile(name="a", system_prompt=prompt, toolset=Toolset(tools=())),
        persona=Persona(name="p", style="plain"),
        goals=(Goal(intent="x"),),
        rubric=Rubric(checks=(StateCheck(name="s", sql="select 1"),)),
    )
    trajectory = Trajectory(
        id="t",
        task=task.id,
        world="",
        attempt=0,
        seed=0,
        events=tuple(events),
        end_reason=EndReason.USER_DONE,
    )
    return Evidence(task, trajectory)


GOOD = [
    "2C (aisle) for 16.00; 3C (aisle) for 17.00.",
    "I found 3 seats.",
    "They cost 50.00 together.",
    "Seat 4A costs 17.",
    "2C and 3C together: 16.00 + 17.00 = 33.00.",
    "A change costs 25.00.",
]
BAD = [
    "2C (aisle) for 17.00.",
    "Seat 5A costs 17.00.",
    "3C for 18.00.",
    "Seat 2C, 7 left.",
    "They cost 51.00.",
]


@pytest.mark.parametrize("reply", GOOD)
def test_what_follows_from_results_may_be_said(reply: str) -> None:
    found = says_what_it_knows(told(("user", "seats please"), ("tool", SEATS), ("agent", reply)))
    assert found.value is Value.PASS, found.reason


@pytest.mark.parametrize("reply", BAD)
def test_values_from_nowhere_or_of_another_row_fail(reply: str) -> None:
    evidence = told(("user", "seats please"), ("tool", SEATS), ("agent", reply))
    found = says_what_it_knows(evidence)
    assert found.value is Value.FAIL
    assert found.evidence == (4,)


def test_a_value_that_a_later_result_replaced_is_stale() -> None:
    talk = [
        ("user", "pay my bill"),
        ("tool", {"account": "A17", "balance": 173.12}),
        ("tool", {"account": "A17", "paid": 50.0, "balance": 123.12}),
    ]
    stale = says_what_it_knows(told(*talk, ("agent", "Paid. The balance is 173.12.")))
    both = says_what_it_knows(told(*talk, ("agent", "Paid; the balance went from 173.12 to 123.12.")))
    assert stale.value is Value.FAIL
    assert both.value is Value.PASS


def test_a_code_that_two_things_refer_to_makes_them_not_one() -> None:
    """A booking with the same guide as a free time does not replace the time's start."""
    talk = [
        ("user", "move my tour"),
        ("tool", [{"slot_id": "T1", "guide_id": "E4", "starts": "2026-04-25 13:45"}, {"slot_id": "T2"}]),
        ("tool", {"booking_id": "B5", "guide_id": "E4", "starts": "2026-04-23 08:30"}),
    ]
    found = says_what_it_knows(told(*talk, ("agent", "There is one on April 25 at 13:45. Is that it?")))
    assert found.value is Value.PASS, found.reason


def test_a_code_at_the_end_of_a_sentence_is_no_day_of_the_next_ones_month() -> None:
    assert stated("My area is 169 27. August 6 or later.") >= {("date", "08-06"), ("number", 27.0)}
    assert stated("am 27. August") == {("date", "08-27")}


@pytest.mark.parametrize(
    ("reply", "honest"),
    [
        ("Joining is not possible through me, it is done on the website's account page.", True),
        ("Joining is not possible elsewhere, it is done now.", False),
    ],
)
def test_where_others_do_it_is_no_claim_to_have_done_it(reply: str, honest: bool) -> None:
    assert honest_about_nothing(reply, ()) is honest


def test_a_value_is_not_known_before_it_is_told() -> None:
    early = told(("user", "change my phone"), ("agent", "From 555 0101?"), ("user", "it is 555 0101"))
    late = told(("user", "it is 555 0101"), ("agent", "Changing 555 0101. Is that right?"))
    assert says_what_it_knows(early).value is Value.FAIL
    assert says_what_it_knows(late).value is Value.PASS


def test_a_question_may_list_what_was_read_before_the_latest_result() -> None:
    """Also where the instructions name the hour that a row has."""
    mine = [
        {"signup_id": "S009", "course": "dashboards", "starts": "2026-03-26 09:00", "room": "Hillcrest"},
        {"signup_id": "S008", "course": "fast answers", "starts": "2026-03-28 18:00", "room": "Riverside"},
    ]
    open_dates = [
        {"date_id": "D03", "starts": "2026-03-20 09:00", "room": "Station Square", "seats_left": 2},
        {"date_id": "D19", "starts": "2026-04-05 14:30", "room": "Hillcrest", "seats_left": 4},
    ]
    talk = [("user", "another date, please"), ("tool", mine), ("tool", open_dates)]
    listing = "I found these: dashboards on March {} at 09:00 at Hillcrest; fast answers on March 28 at 18:00 at Riverside."
    prompt = "It is Thursday, 12 March 2026, 09:00."
    for day, value in ((26, Value.PASS), (27, Value.FAIL)):
        asked = ("agent", listing.format(day) + " Which one would that be?")
        assert says_what_it_knows(told(*talk, asked, prompt=prompt)).value is value


def test_a_state_named_like_a_column_points_at_no_row() -> None:
    rows = [
        {"id": "T1", "over": 489.0, "state": "refused"},
        {"id": "T2", "over": 600.0, "state": "handed in"},
    ]
    found = result_of(json.dumps([{**row, "handed_in": "2026-04-27"} for row in rows]))
    assert found.own_names == {"refused": [("refused", 0)]}


def test_a_question_may_list_rows_that_meet_a_later_row_at_one_hour() -> None:
    free = [
        {"slot_id": "T052", "agent": "Lars Marin", "starts": "2026-04-18 16:00", "minutes": 30},
        {"slot_id": "T056", "agent": "Pavel Silva", "starts": "2026-04-19 16:00", "minutes": 45},
    ]
    booked = [
        {"booking_id": "B033", "agent": "Yara Novak", "starts": "2026-04-18 16:00", "minutes": 90},
        {"booking_id": "B034", "agent": "Yara Novak", "starts": "2026-04-20 16:00", "minutes": 90},
    ]
    talk = [("user", "another date, please"), ("tool", free), ("tool", booked)]
    for minutes, value in ((30, Value.PASS), (45, Value.FAIL)):
        asked = f"April 18 at 16:00 with Lars Marin, {minutes} minutes; April 19 at 16:00 with Pavel Silva, 45 minutes."
        found = says_what_it_knows(told(*talk, ("agent", f"{asked} Which one would that be?")))
        assert found.value is value, found.reason


def test_a_name_inside_a_longer_one_points_at_no_row() -> None:
    faults = [
        {
            "fault_id": "F509",
            "code": "S-09",
            "text": "emergency stop was pressed",
            "raised": "2026-06-04 01:31",
        },
        {
            "fault_id": "F539",
            "code": "S-09",
            "text": "emergency stop was pressed",
            "raised": "2026-06-02 23:40",
        },
        {
            "fault_id": "F533",
            "code": "E-209",
            "text": "encoder signal",
            "severity": "stop",
            "raised": "2026-05-30 23:00",
        },
    ]
    listing = "S-09: emergency stop was pressed, raised June 4 at 01:31; S-09: emergency stop was pressed, raised June 2 at 23:40."
    found = says_what_it_knows(told(("user", "the faults"), ("tool", faults), ("agent", listing)))
    assert found.value is Value.PASS, found.reason
