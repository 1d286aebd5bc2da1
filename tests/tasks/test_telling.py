"""When a fact counts as told."""

from __future__ import annotations

import pytest

from pipeline.records import Fact, Goal
from pipeline.tasks.telling import plain, states


def _fact(spoken: str, *said: str) -> Fact:
    return Fact(name="f", label="the setting", value=spoken, spoken=spoken, said=said)


SWITCH = _fact("on", "turn it {value}", "it should be {value}")


@pytest.mark.parametrize("value", ["on", "new", "1", "2026", "large", "drop-off"])
def test_short_or_common_values_are_plain(value: str) -> None:
    assert plain(value)


@pytest.mark.parametrize("value", ["+46 70 555 1007", "Kestrel", "March 3", "25.00", "double room", "B017"])
def test_distinctive_values_are_not_plain(value: str) -> None:
    assert not plain(value)


def test_a_plain_value_in_passing_is_not_told() -> None:
    assert not states("I am on my way, please look at the lamp.", SWITCH)


def test_a_plain_value_in_one_of_its_forms_is_told() -> None:
    assert states("Hello, turn it on. I am late.", SWITCH)


def test_a_form_is_recognized_without_its_articles() -> None:
    size = _fact("large", "I need a {value} one")
    assert states("I need large one.", size)
    assert states("I need a large one, pls.", size)


def test_the_bare_form_alone_does_not_state_a_plain_value() -> None:
    assert not states("Back to square 1, I fear.", _fact("1", "{value}"))


def test_a_phrasing_that_holds_the_value_states_it() -> None:
    goal = Goal(intent="switch the lamp on", phrasings=("switch the lamp on",), facts=("f",))
    assert states("Could you switch lamp on?", SWITCH, [goal])
    assert not states("Could you switch lamp on?", SWITCH, [goal.replace(facts=())])


def test_a_distinctive_value_is_told_wherever_it_stands() -> None:
    assert states("It's me, 070 555 1007, again.", _fact("070 555 1007", "my number is {value}"))


def test_another_value_can_be_asked_about() -> None:
    assert states("turn it off", SWITCH, value="off")
    assert not states("turn it off", SWITCH)
