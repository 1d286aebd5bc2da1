"""What is wrong with a user's turn."""

from __future__ import annotations

import pytest

from pipeline.records import Fact, Goal, Message, Persona, UserMove
from pipeline.rollout.turns import problem_with

PHONE = Fact(name="phone", label="your phone number", value="070 555 1007", spoken="070 555 1007")
MOVE = UserMove(
    act="answer",
    persona=Persona(name="p", style="plain"),
    goal=Goal(intent="cancel order 4471902"),
    facts=(PHONE,),
)
HEARD = [Message(role="assistant", content="Your order 88123 is on its way. What is your phone number?")]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("Sure, 070 555 1007.", ""),
        ("070 555 1007, it's about order 4471902, not 88123.", ""),
        ("  ", "an empty turn"),
        ("No idea, sorry.", "a turn without your phone number"),
        ("070 555 1007. How can I help you today?", "a turn in the assistant's part"),
        ('070 555 1007 {"arguments": {}}', "a turn with calls"),
        ("070 555 1007, and my card is 5531 9920.", "a turn with 5531 9920"),
        ("070 555 1007" + "!" * 300, "a turn of 312 characters"),
    ],
)
def test_problems(text: str, problem: str) -> None:
    found = problem_with(text, MOVE, HEARD, 200)
    assert found.startswith(problem)
    assert bool(found) == bool(problem)
