"""Every way in which an endpoint can misbehave ends in the right outcome, and the totals balance."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from pipeline.models import Models
from pipeline.records import ChatAnswer, ChatRequest, Message, Outcome
from tests.endpoint.server import Received, Reply, calls, completion, error, html, text
from tests.models.conftest import Serve, config_for

SCHEMA = {
    "type": "object",
    "properties": {"n": {"type": "integer"}},
    "required": ["n"],
    "additionalProperties": False,
}


def ask(content: str, **more: object) -> ChatRequest:
    return ChatRequest.model_validate(
        {"model": "m", "messages": (Message(role="user", content=content),), **more}
    )


def good() -> Reply:
    return text("good")


def once(bad: Callable[[], Reply]) -> Callable[[Received], Reply]:
    """A script that misbehaves on the first call only."""
    return lambda received: bad() if received.number == 0 else good()


BODY = json.dumps(completion("good")).encode()

PASSING: dict[str, Callable[[], Reply]] = {
    "429": lambda: error(429),
    "429 with a time": lambda: error(429, retry_after=0.05),
    "503": lambda: error(503),
    "500": lambda: error(500),
    "502 page": lambda: html(502),
    "504 page": lambda: html(504),
    "reset": lambda: Reply(fate="reset"),
    "hang": lambda: Reply(fate="hang"),
    "cut": lambda: Reply(BODY, fate="cut"),
    "half JSON": lambda: Reply(BODY[: len(BODY) // 2]),
    "empty body": lambda: Reply(b""),
    "no object": lambda: Reply(b"[1, 2]"),
    "empty choices": lambda: Reply(b'{"choices": []}'),
    "null choices": lambda: Reply(b'{"choices": null}'),
    "no message": lambda: Reply(b'{"choices": [{"index": 0}]}'),
    "no UTF-8": lambda: Reply(BODY.replace(b"good", b"\xff\xfe")),
    "deep nesting": lambda: Reply(b"[" * 200_000),
    "error with status 200": lambda: Reply(b'{"error": {"message": "worker died"}}'),
}


@pytest.mark.parametrize("name", PASSING)
async def test_what_passes_is_tried_again(name: str, serve: Serve, cache_dir: Path) -> None:
    endpoint = serve(once(PASSING[name]))
    async with Models(config_for(endpoint), cache_dir=cache_dir) as models:
        answer = await models.chat(ask("x"))
    assert (answer.outcome, answer.content) == (Outcome.OK, "good")
    assert answer.attempts == len(endpoint.calls) == 2
    assert sum(models.troubles.values()) == 1
    assert [row.outcome for row in models.ledger.rows] == [Outcome.OK]


@pytest.mark.parametrize("name", ["500", "reset", "half JSON", "no UTF-8", "empty choices"])
async def test_what_does_not_pass_fails_alone(name: str, serve: Serve, cache_dir: Path) -> None:
    endpoint = serve(lambda received: PASSING[name]() if received.last == "bad" else good())
    async with Models(config_for(endpoint), cache_dir=cache_dir) as models:
        bad, fine = await asyncio.gather(models.chat(ask("bad")), models.chat(ask("fine")))
        assert (bad.outcome, bad.attempts, bad.content) == (Outcome.FAILED, 3, "")
        assert bad.error
        assert fine.outcome is Outcome.OK
        again = await models.chat(ask("bad"))
    assert not again.cached
    assert models.ledger.totals.errors == 2


async def test_a_page_from_an_address_that_has_answered_is_a_passing_fault(
    serve: Serve, cache_dir: Path
) -> None:
    pages = {1: html(200), 2: html(404)}
    endpoint = serve(lambda received: pages.get(received.number) or good())
    async with Models(config_for(endpoint), cache_dir=cache_dir) as models:
        answers = [await models.chat(ask(str(n))) for n in range(2)]
    assert [(answer.outcome, answer.attempts) for answer in answers] == [(Outcome.OK, 1), (Outcome.OK, 3)]


async def test_a_slow_body_is_waited_for_and_an_endless_one_is_not(serve: Serve, cache_dir: Path) -> None:
    def script(received: Received) -> Reply:
        return Reply(BODY, chunks=8, pause=0.02 if received.last == "slow" else 0.5)

    async with Models(config_for(serve(script)), cache_dir=cache_dir) as models:
        slow, endless = await asyncio.gather(models.chat(ask("slow")), models.chat(ask("endless")))
    assert (slow.outcome, slow.attempts) == (Outcome.OK, 1)
    assert endless.outcome is Outcome.FAILED
    assert "timeout" in endless.error


async def test_five_megabytes_are_an_answer_and_too_many_are_none(serve: Serve, cache_dir: Path) -> None:
    long = "word " * 1_000_000
    endpoint = serve(lambda received: long)
    async with Models(config_for(endpoint), cache_dir=cache_dir) as models:
        assert (await models.chat(ask("x"))).content == long
    config = config_for(endpoint)
    at = config.endpoints["default"].model_copy(update={"max_answer_bytes": 1_000_000})
    async with Models(
        config.model_copy(update={"endpoints": {"default": at}}), cache_dir=cache_dir
    ) as models:
        answer = await models.chat(ask("y"))
    assert answer.outcome is Outcome.FAILED
    assert "too_large" in answer.error
    assert answer.attempts == 1


async def test_a_context_overflow_fails_alone_and_is_said_once(
    serve: Serve, cache_dir: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def script(received: Received) -> Reply:
        if received.last.startswith("long"):
            return error(
                400, "This model's maximum context length is 100 tokens", code="context_length_exceeded"
            )
        return good()

    async with Models(config_for(serve(script)), cache_dir=cache_dir) as models:
        answers = await asyncio.gather(
            *(models.chat(ask(f"long {n}")) for n in range(20)), models.chat(ask("short"))
        )
    assert [answer.outcome for answer in answers] == [Outcome.FAILED] * 20 + [Outcome.OK]
    assert {answer.attempts for answer in answers} == {1}
    assert sum("maximum context length" in record.message for record in caplog.records) == 1
    assert "longer context" in caplog.text


async def test_truncated_refused_and_filtered_are_outcomes_of_their_own(
    serve: Serve, cache_dir: Path
) -> None:
    replies = {
        "cut": text('{"n": ', finish="length"),
        "no": text("", refusal="I will not."),
        "filtered": text("", finish="content_filter"),
    }
    endpoint = serve(lambda received: replies[received.last])
    async with Models(config_for(endpoint), cache_dir=cache_dir) as models:
        cut = await models.chat(ask("cut", output_schema=SCHEMA))
        no = await models.chat(ask("no"))
        filtered = await models.chat(ask("filtered"))
        again = await models.chat(ask("no"))
    assert (cut.outcome, cut.content, cut.parsed) == (Outcome.TRUNCATED, '{"n": ', None)
    assert (no.outcome, no.refusal) == (Outcome.REFUSED, "I will not.")
    assert filtered.outcome is Outcome.REFUSED
    assert not again.cached
    assert len(endpoint.calls) == 4


async def test_an_empty_answer_is_an_answer_but_not_for_other_runs(serve: Serve, cache_dir: Path) -> None:
    endpoint = serve(lambda received: completion(None))
    for _ in range(2):
        async with Models(config_for(endpoint), cache_dir=cache_dir) as models:
            answer = await models.chat(ask("x"))
        assert (answer.outcome, answer.content, answer.calls, answer.cached) == (Outcome.OK, "", (), False)


async def test_what_an_endpoint_gives_is_kept(serve: Serve, cache_dir: Path) -> None:
    reply = completion("<think>hm</think>\n4", tokens=(7, 3))
    reply["choices"][0]["logprobs"] = {"content": [{"token": "4", "logprob": -0.25}]}
    reply["choices"][0]["message"]["content"] = [{"type": "text", "text": "<think>hm</think>\n4 \ud83d"}]
    endpoint = serve(lambda received: reply)
    request = ask("2+2", seed=7, temperature=0.5, top_p=0.9, max_tokens=20, stop=("END",), logprobs=True)
    async with Models(config_for(endpoint), cache_dir=cache_dir) as models:
        answer = await models.chat(request)
    assert (answer.reasoning, answer.content) == ("hm", "4 \ufffd")
    assert answer.logprobs == (-0.25,)
    sent = endpoint.calls[0].body
    assert {name: sent[name] for name in ("seed", "temperature", "top_p", "max_tokens", "stop", "logprobs")} == {
        "seed": 7, "temperature": 0.5, "top_p": 0.9, "max_tokens": 20, "stop": ["END"], "logprobs": True,
    }  # fmt: skip


async def test_a_wrong_schema_is_repaired_in_a_dialog(serve: Serve, cache_dir: Path) -> None:
    said = ["no JSON at all", '{"n": "seven"}', 'Here you are:\n```json\n{"n": 7,}\n```']
    endpoint = serve(lambda received: said[(len(received.body["messages"]) - 1) // 2])
    async with Models(config_for(endpoint), cache_dir=cache_dir) as models:
        answer = await models.chat(ask("n?", output_schema=SCHEMA))
        again = await models.chat(ask("n?", output_schema=SCHEMA))
    assert (answer.outcome, answer.parsed, answer.attempts) == (Outcome.OK, {"n": 7}, 3)
    assert answer.usage.tokens_in == 30
    assert (again.cached, again.parsed, again.usage) == (True, {"n": 7}, answer.usage)
    assert len(endpoint.calls) == 3
    assert "n: " in endpoint.calls[2].last
    assert models.ledger.rows[2].prompt.startswith("models/repair@")
    assert [row.outcome for row in models.ledger.rows[:3]] == [Outcome.INVALID, Outcome.INVALID, Outcome.OK]


async def test_an_answer_that_stays_wrong_is_invalid_and_not_cached(serve: Serve, cache_dir: Path) -> None:
    endpoint = serve(lambda received: '{"n": "never"}')
    async with Models(config_for(endpoint, repairs=1), cache_dir=cache_dir) as models:
        answer = await models.chat(ask("n?", output_schema=SCHEMA))
    assert (answer.outcome, answer.parsed, answer.content) == (Outcome.INVALID, None, '{"n": "never"}')
    assert "never" in answer.error
    async with Models(config_for(endpoint, repairs=1), cache_dir=cache_dir) as models:
        assert not (await models.chat(ask("n?", output_schema=SCHEMA))).cached
    assert len(endpoint.calls) == 4


async def test_an_endpoint_without_json_schema_is_asked_in_another_way(serve: Serve, cache_dir: Path) -> None:
    def script(received: Received) -> Reply:
        if "response_format" in received.body:
            return error(400, "response_format is not supported")
        assert '"integer"' in received.system
        return text('{"n": 3}')

    endpoint = serve(script)
    async with Models(config_for(endpoint), cache_dir=cache_dir) as models:
        first = await models.chat(ask("a", output_schema=SCHEMA))
        second = await models.chat(ask("b", output_schema=SCHEMA))
    assert (first.parsed, second.parsed) == ({"n": 3}, {"n": 3})
    assert len(endpoint.calls) == 4
    assert all(row.prompt.startswith("models/json_only@") for row in models.ledger.rows)
    async with Models(config_for(endpoint), cache_dir=cache_dir) as models:
        assert (await models.chat(ask("a", output_schema=SCHEMA))).cached
    assert len(endpoint.calls) == 4


@pytest.mark.parametrize(
    ("reply", "word"),
    [
        (error(401, "Incorrect API key provided: planted-key-123456"), "api_key_env"),
        (error(404, "The model `tiny` does not exist", code="model_not_found"), "model's name"),
        (html(200), "base_url"),
        (html(404), "base_url"),
        (error(429, "You exceeded your current quota", code="insufficient_quota"), "quota"),
    ],
)
async def test_a_wrong_setting_costs_few_calls_and_one_message(
    reply: Reply,
    word: str,
    serve: Serve,
    cache_dir: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "planted-key-123456")
    endpoint = serve(lambda received: reply)
    async with Models(config_for(endpoint), cache_dir=cache_dir) as models:
        found = await asyncio.gather(*(models.chat(ask(str(n))) for n in range(200)), return_exceptions=True)
    assert {type(error).__name__ for error in found} == {"EndpointDown"}
    assert all(word in str(error) for error in found)
    assert len(endpoint.calls) <= 8
    assert len(caplog.records) == 1
    assert "planted-key" not in caplog.text + "".join(str(error) for error in found)


async def test_totals_balance_whatever_happens(serve: Serve, cache_dir: Path) -> None:
    kinds = [*PASSING, "good", "calls", "wrong schema", "truncated", "refused", "context"]
    seen: Counter[str] = Counter()

    def script(received: Received) -> Reply:
        kind = received.body["messages"][0]["content"].split(":")[0]
        seen[received.last] += 1
        if kind in PASSING and seen[received.last] == 1:
            return PASSING[kind]()
        special = {
            "calls": calls(("unknown_tool", "[1]"), ("other", "{broken")),
            "wrong schema": text('{"m": 1}'),
            "truncated": text("abc", finish="length"),
            "refused": text("", refusal="no"),
            "context": error(400, "maximum context length is 5"),
        }
        return special.get(kind) or text('{"n": 1}')

    kinds.remove("hang")
    requests = [ask(f"{kind}:{n}", output_schema=SCHEMA) for n in range(4) for kind in kinds]
    async with Models(config_for(serve(script), repairs=1), cache_dir=cache_dir) as models:
        answers: list[ChatAnswer] = await asyncio.gather(*(models.chat(request) for request in requests))
    by_outcome = Counter(answer.outcome for answer in answers)
    assert by_outcome == {
        Outcome.OK: 4 * (len(PASSING) - 1 + 2),
        Outcome.INVALID: 4,
        Outcome.TRUNCATED: 4,
        Outcome.REFUSED: 4,
        Outcome.FAILED: 4,
    }
    rows = models.ledger.rows
    assert len(rows) == len(requests) + 4
    assert sum(row.attempts for row in rows) == sum(answer.attempts for answer in answers)
    assert models.ledger.totals.tokens_out == sum(answer.usage.tokens_out for answer in answers)
    assert models.ledger.totals.in_flight == 0
