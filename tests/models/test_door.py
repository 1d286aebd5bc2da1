"""One request through the door, over real HTTP."""

from __future__ import annotations

import asyncio
from pathlib import Path

from pipeline.models import Models
from pipeline.models.players import ModelPolicy, ModelUser
from pipeline.models.players.seat import Seat
from pipeline.records import (
    ChatRequest,
    Fact,
    Goal,
    Message,
    Outcome,
    Persona,
    Provenance,
    ToolSpec,
    UserMove,
)
from tests.endpoint.server import Received, calls, error, text
from tests.models.conftest import Serve, config_for

HELLO = ChatRequest(model="m", messages=(Message(role="user", content="hello"),), role="policy", stage="t")


async def test_an_answer_is_priced_cached_and_in_the_ledger(serve: Serve, cache_dir: Path) -> None:
    endpoint = serve(lambda received: text(f"you said {received.last}", tokens=(1000, 500), cached=400))
    async with Models(config_for(endpoint), cache_dir=cache_dir) as models:
        first = await models.chat(HELLO)
        second = await models.chat(HELLO)
    assert first.outcome is Outcome.OK
    assert first.content == "you said hello"
    assert (first.usage.tokens_in, first.usage.tokens_out) == (1000, 500)
    assert first.usage.cost == (1000 * 1.0 + 500 * 2.0) / 1e6
    assert (first.cached, second.cached) == (False, True)
    assert second.content == first.content
    assert second.usage == first.usage
    assert len(endpoint.calls) == 1
    paid, found = models.ledger.rows
    assert (paid.cached, paid.cost, paid.attempts, paid.tokens_cached) == (False, first.usage.cost, 1, 400)
    assert (found.cached, found.cost, found.attempts) == (True, 0.0, 0)
    assert models.ledger.totals.cost == first.usage.cost


async def test_a_second_run_asks_nothing(serve: Serve, cache_dir: Path) -> None:
    endpoint = serve(lambda received: "hi")
    for _ in range(2):
        async with Models(config_for(endpoint), cache_dir=cache_dir) as models:
            assert (await models.chat(HELLO)).content == "hi"
    assert len(endpoint.calls) == 1


async def test_equal_requests_at_once_are_one_call(serve: Serve, cache_dir: Path) -> None:
    endpoint = serve(lambda received: text("hi", latency=0.1))
    async with Models(config_for(endpoint), cache_dir=cache_dir) as models:
        answers = await asyncio.gather(*(models.chat(HELLO) for _ in range(10)))
        other = await models.chat(HELLO.replace(sample=1))
    assert {answer.content for answer in answers} == {"hi"}
    assert not other.cached
    assert len(endpoint.calls) == 2
    assert models.ledger.totals.calls == 2
    assert models.ledger.totals.cached == 9


async def test_tries_are_repeated_by_the_table(serve: Serve, cache_dir: Path) -> None:
    def script(received: Received) -> object:
        return [error(429, retry_after=0.05), error(500), text("at last")][received.number]

    endpoint = serve(script)  # type: ignore[arg-type]
    async with Models(config_for(endpoint), cache_dir=cache_dir) as models:
        answer = await models.chat(HELLO)
    assert (answer.content, answer.attempts) == ("at last", 3)
    assert models.ledger.rows[0].attempts == 3
    assert models.ledger.totals.rate_limited == 1


async def test_the_policy_calls_tools(serve: Serve, cache_dir: Path) -> None:
    endpoint = serve(lambda received: calls(("look", {"id": 7}), ("look", "not json"), ("nope", "[1]")))
    tool = ToolSpec(
        name="look",
        input_schema={"type": "object", "properties": {"id": {"type": "integer"}}},
        provenance=Provenance(source="evolved"),
    )
    async with Models(config_for(endpoint), cache_dir=cache_dir) as models:
        policy = ModelPolicy(Seat(models, "m", "policy"))
        turn = await policy.act([Message(role="user", content="look at 7")], [tool])
    assert [call.arguments for call in turn.calls] == [{"id": 7}, None, None]
    assert [call.id for call in turn.calls] == ["call_0", "call_1", "call_2"]
    assert endpoint.calls[0].body["tools"][0]["function"]["name"] == "look"


async def test_the_user_words_a_move(serve: Serve, cache_dir: Path) -> None:
    endpoint = serve(lambda received: 'User: "Hi, my visit is {{ on Monday }}."')
    fact = Fact(name="day", label="the day", value="2026-03-02", spoken="next {{ Monday }}")
    move = UserMove(
        act="open",
        persona=Persona(name="p", style="terse"),
        goal=Goal(intent="cancel the visit"),
        facts=(fact,),
    )
    async with Models(config_for(endpoint), cache_dir=cache_dir) as models:
        words = await ModelUser(Seat(models, "m", "user")).speak(move, [])
    assert words.text == "Hi, my visit is {{ on Monday }}."
    assert "the day: next {{ Monday }}" in endpoint.calls[0].last
    assert models.ledger.rows[0].prompt.startswith("user/turn@")


async def test_a_user_asked_again_is_shown_what_was_missing(serve: Serve, cache_dir: Path) -> None:
    endpoint = serve(lambda received: "on Monday, then" if "cannot be used" in received.last else "hello")
    fact = Fact(name="day", label="the day", value="Monday", spoken="Monday")
    move = UserMove(act="answer", persona=Persona(name="p", style="terse"), goal=None, facts=(fact,))
    async with Models(config_for(endpoint), cache_dir=cache_dir) as models:
        user = ModelUser(Seat(models, "m", "user"))
        words = [await user.speak(move, []) for _ in range(2)]
        later = await user.speak(
            move, [Message(role="user", content="hi"), Message(role="assistant", content="When?")]
        )
    assert [said.text for said in words] == ["hello", "on Monday, then"]
    assert later.text == "hello"
    assert "the day: Monday" in endpoint.calls[1].last
    assert "+user/again@" in models.ledger.rows[1].prompt
