"""Slots, pauses and the breaker, against real endpoints that come and go."""

from __future__ import annotations

import asyncio
import logging
import time
from pathlib import Path

import pytest

from pipeline.config.models import Endpoint, Limits, Model, ModelsConfig
from pipeline.models import Budget, Models
from pipeline.records import BudgetExceeded, ChatRequest, EndpointDown, Message, Outcome
from tests.endpoint import server
from tests.endpoint.server import Received, Reply, error, text
from tests.models.conftest import Serve, config_for


def ask(content: object) -> ChatRequest:
    return ChatRequest(model="m", messages=(Message(role="user", content=str(content)),))


async def test_no_more_calls_are_in_flight_than_allowed(serve: Serve, cache_dir: Path) -> None:
    endpoint = serve(lambda received: text("hi", latency=0.02))
    async with Models(config_for(endpoint, limits=Limits(concurrency=5)), cache_dir=cache_dir) as models:
        await asyncio.gather(*(models.chat(ask(n)) for n in range(60)))
    assert endpoint.peak == 5


async def test_more_than_a_hundred_calls_can_be_in_flight(serve: Serve, cache_dir: Path) -> None:
    endpoint = serve(lambda received: text("hi", latency=0.5))
    config = config_for(endpoint, limits=Limits(concurrency=300), patient=True)
    async with Models(config, cache_dir=cache_dir) as models:
        await asyncio.gather(*(models.chat(ask(n)) for n in range(300)))
    assert endpoint.peak > 150


async def test_workers_divide_the_limits_of_an_endpoint(serve: Serve, cache_dir: Path) -> None:
    endpoint = serve(lambda received: text("hi", latency=0.02))
    config, folder = config_for(endpoint, limits=Limits(concurrency=5)), cache_dir / "limits"
    async with Models(config, cache_dir=cache_dir, limits_dir=folder) as one:
        async with Models(config, cache_dir=cache_dir, limits_dir=folder) as two:
            await asyncio.gather(one.chat(ask("a")), two.chat(ask("b")))
            assert sorted((one.limits["m"], two.limits["m"])) == [2, 3]
            await asyncio.gather(
                *(models.chat(ask(n + 100 * k)) for n in range(20) for k, models in enumerate((one, two)))
            )
            assert endpoint.peak == 5
        assert one.limits == {"m": 5}


async def test_a_worker_without_a_part_waits_until_there_is_one(serve: Serve, cache_dir: Path) -> None:
    endpoint = serve(lambda received: text("hi", latency=0.02))
    config, folder = config_for(endpoint, limits=Limits(concurrency=1)), cache_dir / "limits"
    async with Models(config, cache_dir=cache_dir, limits_dir=folder) as one:
        await one.chat(ask("first"))
        async with Models(config, cache_dir=cache_dir, limits_dir=folder) as two:
            asked = [asyncio.ensure_future(two.chat(ask("second")))]
            # Who joins beside a call under way may overlap with it, so the third waits until the second is there.
            while len(list(folder.rglob("*.member"))) < 2:  # noqa: ASYNC110
                await asyncio.sleep(0.001)
            asked.append(asyncio.ensure_future(one.chat(ask("third"))))
            done, waiting = await asyncio.wait(asked, return_when=asyncio.FIRST_COMPLETED)
            assert len(done) == len(waiting) == 1
            through = two if asked[0] in done else one
            await through.__aexit__(None, None, None)  # the other one takes its part over
            answers = await asyncio.gather(*asked)
    assert [answer.outcome for answer in answers] == [Outcome.OK] * 2
    assert endpoint.peak == 1


async def test_when_most_are_told_to_wait_all_wait(serve: Serve, cache_dir: Path) -> None:
    opened: list[float] = []

    def script(received: Received) -> Reply:
        opened.append(time.monotonic())
        closed = opened[-1] - opened[0] < 0.6
        return error(429, retry_after=0.6) if closed else text("hi")

    endpoint = serve(script)
    config = config_for(endpoint, limits=Limits(concurrency=4))
    async with Models(config, cache_dir=cache_dir) as models:
        answers = await asyncio.gather(*(models.chat(ask(n)) for n in range(100)))
    assert {answer.outcome for answer in answers} == {Outcome.OK}
    assert len(endpoint.calls) < 120


async def test_what_is_tried_again_does_not_wait_for_everything_else(serve: Serve, cache_dir: Path) -> None:
    endpoint = serve(lambda received: error(500) if received.number == 0 else text("hi", latency=0.02))
    config = config_for(endpoint, limits=Limits(concurrency=2), patient=True)
    async with Models(config, cache_dir=cache_dir) as models:
        await asyncio.gather(*(models.chat(ask(n)) for n in range(400)))
    places = [call.number for call in endpoint.calls if call.last == endpoint.calls[0].last]
    assert len(places) == 2
    assert places[1] < 200


async def test_an_announced_pause_is_kept(serve: Serve, cache_dir: Path) -> None:
    spent = {"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "400ms"}
    body = text("hi").body
    endpoint = serve(lambda received: Reply(body, headers=spent if received.number == 0 else {}))
    times: list[float] = []
    async with Models(config_for(endpoint), cache_dir=cache_dir) as models:
        for n in range(2):
            await models.chat(ask(n))
            times.append(time.monotonic())
    assert times[1] - times[0] >= 0.39


async def test_an_endpoint_that_stays_down_pauses_the_run_and_says_so(
    serve: Serve, cache_dir: Path, caplog: pytest.LogCaptureFixture
) -> None:
    endpoint = serve(lambda received: error(503))
    async with Models(config_for(endpoint), cache_dir=cache_dir) as models:
        found = await asyncio.gather(*(models.chat(ask(n)) for n in range(500)), return_exceptions=True)
        with pytest.raises(EndpointDown):
            await models.chat(ask("later"))
    assert {type(error) for error in found} == {EndpointDown}
    assert "resume" in str(found[0])
    assert len(endpoint.calls) < 60
    assert sum(record.levelno == logging.ERROR for record in caplog.records) == 1
    assert models.ledger.rows == []
    endpoint.script = lambda received: text("back")
    async with Models(config_for(endpoint), cache_dir=cache_dir) as models:
        assert (await models.chat(ask(0))).content == "back"


async def test_a_wait_beyond_all_patience_pauses_the_run(serve: Serve, cache_dir: Path) -> None:
    endpoint = serve(lambda received: error(429, retry_after=86_400))
    async with Models(config_for(endpoint), cache_dir=cache_dir) as models:
        found = await asyncio.gather(*(models.chat(ask(n)) for n in range(30)), return_exceptions=True)
    assert {type(error) for error in found} == {EndpointDown}
    assert "asks to wait 86400 s" in str(found[0])


@pytest.mark.parametrize("how", ["refused", "hang", "429 for one"])
async def test_every_way_of_staying_down_is_noticed(how: str, serve: Serve, cache_dir: Path) -> None:
    endpoint = serve(lambda received: error(429) if how == "429 for one" else Reply(fate="hang"))
    config = config_for(endpoint)
    at = {"first_byte_timeout": 0.2, "patience": 0.5}
    if how == "refused":
        with server.Endpoint(lambda received: "hi") as gone:
            at["base_url"] = gone.base_url  # type: ignore[assignment]
    default = config.endpoints["default"].model_copy(update=at)
    config = config.model_copy(update={"endpoints": {"default": default}})
    count = 1 if how == "429 for one" else 40
    async with Models(config, cache_dir=cache_dir) as models:
        found = await asyncio.gather(*(models.chat(ask(n)) for n in range(count)), return_exceptions=True)
    assert {type(error) for error in found} == {EndpointDown}


async def test_an_endpoint_that_comes_back_in_time_costs_nothing(serve: Serve, cache_dir: Path) -> None:
    began = time.monotonic()
    endpoint = serve(lambda received: error(500) if time.monotonic() - began < 0.5 else text("hi"))
    async with Models(config_for(endpoint), cache_dir=cache_dir) as models:
        answers = await asyncio.gather(*(models.chat(ask(n)) for n in range(100)))
    assert {answer.outcome for answer in answers} == {Outcome.OK}
    assert len(endpoint.calls) < 160


async def test_poison_requests_at_the_end_do_not_take_the_endpoint_down(
    serve: Serve, cache_dir: Path
) -> None:
    endpoint = serve(lambda received: error(500) if received.last.startswith("poison") else text("hi"))
    config = config_for(endpoint, limits=Limits(start=3))
    async with Models(config, cache_dir=cache_dir) as models:
        answers = await asyncio.gather(*(models.chat(ask(f"poison {n}")) for n in range(8)))
        fine = await models.chat(ask("fine"))
    assert {answer.outcome for answer in answers} == {Outcome.FAILED}
    assert fine.outcome is Outcome.OK
    assert "ping" in {call.last for call in endpoint.calls}


@pytest.mark.parametrize("budget", [Budget(max_cost=0.001), Budget(max_tokens=400), Budget(max_errors=3)])
async def test_a_budget_stops_the_run_cleanly(budget: Budget, serve: Serve, cache_dir: Path) -> None:
    bad = error(400, "no") if budget.max_errors is not None else text("hi", tokens=(50, 25))
    endpoint = serve(lambda received: bad)
    config = config_for(endpoint, limits=Limits(concurrency=2))
    async with Models(config, cache_dir=cache_dir, budget=budget) as models:
        found = await asyncio.gather(*(models.chat(ask(n)) for n in range(50)), return_exceptions=True)
        stopped = [answer for answer in found if isinstance(answer, BudgetExceeded)]
        assert "--max-" in str(stopped[0])
        assert len(found) - len(stopped) == len(models.ledger.rows) == len(endpoint.calls)
        assert 3 <= len(endpoint.calls) <= 12
    raised = Budget(max_cost=1.0, spent=models.ledger.totals)
    async with Models(config, cache_dir=cache_dir, budget=raised) as models:
        await models.chat(ask(99))


async def test_settings_that_no_request_gets_through_with_stop_the_run(serve: Serve, cache_dir: Path) -> None:
    endpoint = serve(lambda received: error(400, "seed: extra inputs are not permitted"))
    async with Models(config_for(endpoint, limits=Limits(concurrency=4)), cache_dir=cache_dir) as models:
        found = await asyncio.gather(*(models.chat(ask(n)) for n in range(200)), return_exceptions=True)
    assert sum(isinstance(answer, EndpointDown) for answer in found) >= 175
    assert len(endpoint.calls) <= 24
    assert "extra inputs" in str(found[-1])


async def test_waiting_calls_can_be_cancelled(serve: Serve, cache_dir: Path) -> None:
    endpoint = serve(lambda received: text("hi", latency=0.1))
    async with Models(config_for(endpoint, limits=Limits(concurrency=2)), cache_dir=cache_dir) as models:
        tasks = [asyncio.create_task(models.chat(ask(n))) for n in range(20)]
        twin = asyncio.create_task(models.chat(ask(0)))
        await asyncio.sleep(0.05)
        for task in tasks[::2]:
            task.cancel()
        found = await asyncio.gather(*tasks, return_exceptions=True)
        assert (await twin).content == "hi"
        assert models.ledger.totals.in_flight == 0
    assert sum(isinstance(answer, asyncio.CancelledError) for answer in found) == 10
    assert endpoint.peak <= 4


async def test_the_pace_in_requests_a_minute_is_kept(serve: Serve, cache_dir: Path) -> None:
    endpoint = serve(lambda received: "hi")
    config = config_for(endpoint, limits=Limits(rpm=600))
    began = time.monotonic()
    async with Models(config, cache_dir=cache_dir) as models:
        await asyncio.gather(*(models.chat(ask(n)) for n in range(60)))
    assert time.monotonic() - began >= 0.9


async def test_the_pace_in_tokens_a_minute_is_kept(serve: Serve, cache_dir: Path) -> None:
    endpoint = serve(lambda received: text("hi", tokens=(900, 100)))
    config = config_for(endpoint, limits=Limits(tpm=60_000), max_tokens=100)
    began = time.monotonic()
    async with Models(config, cache_dir=cache_dir) as models:
        for n in range(7):
            await models.chat(ask(n).replace(max_tokens=100))
    assert time.monotonic() - began >= 0.9


async def test_a_ping_says_what_is_wrong(serve: Serve, cache_dir: Path) -> None:
    endpoint = serve(lambda received: "pong")
    async with Models(config_for(endpoint), cache_dir=cache_dir) as models:
        assert await models.ping("m") == ""
        endpoint.script = lambda received: error(401, "who are you")
        assert "who are you" in await models.ping("m")
        assert "api_key_env" in await models.ping("m")
        assert models.ledger.rows == []


def test_models_know_their_loop(cache_dir: Path) -> None:
    config = ModelsConfig(
        endpoints={"default": Endpoint(base_url="http://127.0.0.1:9/v1")}, models={"m": Model()}
    )

    async def enter() -> Models:
        return await Models(config, cache_dir=cache_dir).__aenter__()

    models = asyncio.run(enter())
    with pytest.raises(RuntimeError, match="one event loop"):
        asyncio.run(models.chat(ask(1)))
    asyncio.run(models.__aexit__(None, None, None))
