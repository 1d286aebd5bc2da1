"""How sentences are put together."""

from __future__ import annotations

from pipeline.teacher.grammar import capital, tidy


def test_sentences_begin_with_a_capital_and_addresses_stay_as_they_are() -> None:
    assert capital("the door is open") == "The door is open"
    assert capital("old.harbor15@example.org is mine") == "old.harbor15@example.org is mine"
    assert tidy("hold on… old.harbor15@example.org is mine. it is short") == (
        "Hold on… old.harbor15@example.org is mine. It is short"
    )
