"""The teacher's words for the user."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.tasks.values import mentions
from pipeline.teacher.user import _fewer_articles, asks

PHRASES = ["the 9:30 visit", "a 2.5-litre can", "the well-known, the best", "an X-ray at 3.75", "4.25"]


@given(
    st.lists(st.sampled_from([*PHRASES, "and the other", "for a friend", "the", "an"]), min_size=1),
    st.integers(),
)
def test_leaving_articles_out_never_touches_a_fact(parts: list[str], seed: int) -> None:
    text = "Well, " + " ".join(parts)
    fewer = _fewer_articles(text, PHRASES, random.Random(seed))
    for phrase in PHRASES:
        assert mentions(fewer, phrase) == mentions(text, phrase)


def test_some_articles_are_left_out() -> None:
    text = "I want the car and the van and a bike for the day and the night"
    found = {_fewer_articles(text, [], random.Random(seed)) for seed in range(20)}
    assert len(found) > 5
    assert all(len(one) <= len(text) for one in found)


@pytest.mark.parametrize(
    "phrase",
    [
        "what's the fee",
        "until when can I cancel",
        "at how many seats does the discount start",
        "who’s in charge",
        "for how long may I keep it",
        "isn't there a discount",
        "do you charge extra",
        "can the deposit be waived",
        "a colleague left, what happens to the license?",
        "how much is it",
    ],
)
def test_questions(phrase: str) -> None:
    assert asks(phrase)


@pytest.mark.parametrize(
    "phrase",
    [
        "have the gate opened at night",
        "do the laundry",
        "at least get a voucher",
        "get someone to call me",
        "be told when it arrives",
        "whiten the walls",
        "canvass my neighbors",
        "do my taxes",
    ],
)
def test_wishes(phrase: str) -> None:
    assert not asks(phrase)
