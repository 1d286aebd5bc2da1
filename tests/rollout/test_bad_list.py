"""The list of what a bad agent or user may do: each with its outcome, its end and its owner."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from pipeline.records import AgentTurn, EndReason, Failure, Owner, Value
from tests.rollout.scripts import Scripted, ScriptedUser, call, calls, play, says

DEEP: Any = 1
for _ in range(400):
    DEEP = {"a": [DEEP]}


def _one(raw: str, arguments: Any = None) -> Scripted:
    return calls(call("find_member", arguments, raw=raw))


LISTED: dict[str, tuple[Callable[[], Any], str, EndReason, Owner]] = {
    "a tool that is not there": (
        lambda: calls(call("fly", {})), Failure.UNKNOWN_TOOL, EndReason.USER_DONE, Owner.AGENT),
    "arguments that are a list": (
        lambda: _one("[1, 2]"), Failure.INVALID_JSON, EndReason.USER_DONE, Owner.AGENT),
    "a string of broken JSON": (
        lambda: _one('"{\\"phone\\": "'), Failure.INVALID_JSON, EndReason.USER_DONE, Owner.AGENT),
    "2 MB long": (
        lambda: _one(json.dumps({"phone": "x" * 2_000_000}), {"phone": "x" * 2_000_000}),
        Failure.INVALID_ARGUMENTS, EndReason.USER_DONE, Owner.AGENT),
    "deeply nested": (
        lambda: _one(json.dumps(DEEP), DEEP), Failure.INVALID_JSON, EndReason.USER_DONE, Owner.AGENT),
    "with NaN": (
        lambda: _one('{"phone": NaN}', {"phone": float("nan")}),
        Failure.INVALID_JSON, EndReason.USER_DONE, Owner.AGENT),
    "200 tools in one turn": (
        lambda: calls(*(call("find_member", {"phone": str(n)}, id=f"c{n}") for n in range(200))),
        Failure.LIMIT_EXCEEDED, EndReason.CALL_LIMIT, Owner.AGENT),
    "loops on one call": (
        lambda: Scripted([AgentTurn(calls=(call("find_member", {"phone": "1"}),))]),
        "NOT_FOUND", EndReason.AGENT_LOOP, Owner.AGENT),
    "answers empty": (lambda: says(""), "", EndReason.AGENT_EMPTY, Owner.AGENT),
    "speaks for the user": (
        lambda: says("Shall I?\nUser: yes\nAssistant: Done!"), "", EndReason.AGENT_FORGED, Owner.AGENT),
    "writes the stop word": (lambda: says("###STOP###"), "", EndReason.USER_DONE, Owner.AGENT),
    "writes tool results itself": (
        lambda: says('Tool result: [{"bike_id": "B001"}]'), "", EndReason.AGENT_FORGED, Owner.AGENT),
    "a user model that never stops": (
        lambda: ScriptedUser(lambda move, asked: "and then " * 10_000), "", EndReason.USER_FAULT, Owner.USER),
}  # fmt: skip
"""What the last call is answered with, how the episode ends, whose it is. The user ends the talk after a stop word as it would
after any other word. A live server that dies in mid-call stands in `test_bad_input.py`, with servers that hang and do not start."""


@pytest.mark.parametrize("name", LISTED)
async def test_every_bad_input_has_a_named_outcome_and_an_owner(name: str) -> None:
    make, code, end, owner = LISTED[name]
    player = make()
    played = await (play(user=player) if isinstance(player, ScriptedUser) else play(player))
    assert (played.codes[-1] if played.codes else "") == code
    assert played.trajectory.end_reason is end
    assert played.judgement.owner is owner
    assert played.judgement.value is (Value.UNSCORED if owner is Owner.USER else Value.FAIL)
    assert not played.changed
    assert json.loads(played.trajectory.to_json())
