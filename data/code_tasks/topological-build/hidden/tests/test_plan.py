import pytest

from plan import Cycle, UnknownStep, order


def test_nothing():
    assert order({}) == []


def test_chain():
    assert order({"c": ["b"], "b": ["a"], "a": []}) == ["a", "b", "c"]


def test_alphabetical_among_equals():
    steps = {"zip": [], "lint": [], "test": ["lint"], "build": ["lint"], "apple": ["zip"]}
    assert order(steps) == ["lint", "build", "test", "zip", "apple"]


def test_diamond_and_repeated_needs():
    steps = {"d": ["b", "c", "b"], "b": ["a"], "c": ["a"], "a": []}
    assert order(steps) == ["a", "b", "c", "d"]


def test_the_argument_is_left_alone():
    steps = {"b": ["a"], "a": []}
    order(steps)
    assert steps == {"b": ["a"], "a": []}


def test_unknown_step():
    with pytest.raises(UnknownStep, match="docs"):
        order({"a": ["docs"]})


def test_cycle():
    with pytest.raises(Cycle) as caught:
        order({"c": ["a"], "a": ["b"], "b": ["c"], "x": ["a"], "free": []})
    assert caught.value.path == ["a", "b", "c", "a"]


def test_self_cycle():
    with pytest.raises(Cycle) as caught:
        order({"a": [], "b": ["b"]})
    assert caught.value.path == ["b", "b"]
