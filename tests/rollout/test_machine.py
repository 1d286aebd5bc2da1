"""The user machine: it decides what is told when, and when it is over."""

from __future__ import annotations

import random

from pipeline.records import Event, Fact, Goal, ReferenceCall, Task, UserMove
from pipeline.rollout.machine import UserMachine
from tests.rollout.scripts import tasks

PHONE = Fact(
    name="phone", label="your phone number", value="070 555 1007", spoken="070 555 1007",
    said=("my number is {value}",), keywords=("number", "phone"),
)  # fmt: skip
SIZE = Fact(
    name="size", label="the size you need", value="small", spoken="small", said=("size {value}",),
    disclosure="asked", keywords=("size",),
)  # fmt: skip
WRONG = PHONE.replace(disclosure="corrected", wrong="070 555 1008")


def _machine(*facts: Fact, goals: int = 1, patience: int = 12, seed: int = 1) -> UserMachine:
    names = tuple(fact.name for fact in facts)
    task: Task = tasks()[0]
    task = task.replace(
        facts=facts,
        goals=tuple(
            Goal(intent=f"hire a bike {n}", phrasings=(f"hire a bike {n}",), facts=names)
            for n in range(goals)
        ),
        reference=tuple(ReferenceCall(goal=n, tool="start_hire", arguments={}) for n in range(goals)),
        persona=task.persona.replace(patience=patience),
    )
    return UserMachine(task, random.Random(seed))


def _say(machine: UserMachine, text: str) -> None:
    machine.see(Event(index=1, turn=1, role="user", content=text))


def _move(machine: UserMachine, text: str | None) -> UserMove:
    move = machine.move(text)
    assert move is not None
    return move


def _hired(machine: UserMachine, *, ok: bool = True, code: str = "") -> None:
    machine.see(Event(index=2, turn=1, role="tool", name="start_hire", ok=ok, error_code=code))


def test_open_facts_come_at_once_and_others_when_asked_for() -> None:
    machine = _machine(PHONE, SIZE)
    opening = _move(machine, None)
    assert (opening.act, [fact.name for fact in opening.facts]) == ("open", ["phone"])
    _say(machine, "Hire me a bike, my number is 070 555 1007, it is for a small trip.")
    assert machine.ledger.told == {"phone"}, "`small` was said in passing"
    answer = _move(machine, "Could you tell me the size you need?")
    assert (answer.act, [fact.name for fact in answer.facts]) == ("answer", ["size"])
    _say(machine, "Oh, small.")
    assert machine.ledger.told == {"phone", "size"}, "it was what the move was about"


def test_a_wrong_fact_is_put_right_when_asked_again() -> None:
    machine = _machine(WRONG, seed=2)
    _move(machine, None)
    first = _move(machine, "Could you give me your phone number?")
    if not first.wrong:  # it was said wrongly in the opening already
        first = _move(machine, "Could you give me your phone number?")
    assert first.wrong == ("phone",)
    _say(machine, "my number is 070 555 1008")
    assert machine.ledger.wrong == {"phone"}
    second = _move(machine, "I find nothing there. What is your phone number?")
    assert (second.act, second.wrong) == ("correct", ())
    _say(machine, "sorry, my number is 070 555 1007")
    assert (machine.ledger.wrong, machine.ledger.told) == (set(), {"phone"})


def test_it_never_ends_while_a_confirmed_write_is_pending() -> None:
    machine = _machine(PHONE)
    _move(machine, None)
    _say(machine, "my number is 070 555 1007")
    assert _move(machine, "I'd book the Kestrel now. Shall I go ahead?").act == "confirm"
    assert machine.write_pending
    assert _move(machine, "All done, everything is taken care of.").act == "nudge", "nothing has happened yet"
    _hired(machine)
    assert not machine.write_pending
    last = machine.move("Your bike is booked.")
    assert last is None or last.act == "close"
    assert machine.over


def test_an_agent_that_never_does_what_was_agreed_is_left_in_the_end() -> None:
    machine = _machine(PHONE)
    _move(machine, None)
    _say(machine, "my number is 070 555 1007")
    assert _move(machine, "Shall I go ahead?").act == "confirm"
    acts = []
    while move := machine.move("All done, everything is taken care of."):
        acts.append(move.act)
    assert acts == ["nudge"] * 6
    assert machine.over
    assert machine.stalled


def test_the_next_wish_comes_after_the_first_is_done() -> None:
    machine = _machine(PHONE, goals=2)
    _move(machine, None)
    _say(machine, "my number is 070 555 1007")
    _hired(machine)
    following = _move(machine, "Your bike is booked.")
    assert following.act == "next"
    assert following.goal
    assert following.goal.intent == "hire a bike 1"
    assert following.facts == (), "what was told is not told again"


def test_patience_ends() -> None:
    machine = _machine(PHONE, patience=4)
    _move(machine, None)
    acts = []
    while (move := machine.move("Hm, what would you like?")) is not None:
        acts.append(move.act)
        assert len(acts) < 10
        if move.act in ("give_up", "close"):
            break
    assert machine.over


def test_it_says_nothing_more_once_it_is_over() -> None:
    machine = _machine(PHONE)
    _move(machine, None)
    _hired(machine)
    machine.move("Booked.")
    assert machine.move("Anything else?") is None
    assert machine.move("Hello?") is None
