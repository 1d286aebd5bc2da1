"""Statuses, messages and headers as endpoints really send them."""

from __future__ import annotations

import time
from email.utils import formatdate

import pytest

from pipeline.config.models import Price
from pipeline.models import client, wire
from pipeline.models.client import announced_pause, retry_after
from pipeline.models.retries import RULES, Trouble, delay


@pytest.mark.parametrize(
    ("status", "message", "code", "trouble"),
    [
        (429, "Rate limit reached for requests", "rate_limit_exceeded", Trouble.RATE_LIMITED),
        (429, "You exceeded your current quota", "insufficient_quota", Trouble.NO_QUOTA),
        (401, "Incorrect API key provided", "invalid_api_key", Trouble.NO_ACCESS),
        (403, "Forbidden", "", Trouble.NO_ACCESS),
        (
            404,
            "The model `x` does not exist or you do not have access to it.",
            "model_not_found",
            Trouble.NO_MODEL,
        ),
        (404, "The model `x` does not exist.", "404", Trouble.NO_MODEL),
        (404, 'model "x" not found, try pulling it first', "", Trouble.NO_MODEL),
        (404, "Not Found", "", Trouble.NOT_AN_API),
        (405, "Method Not Allowed", "", Trouble.NOT_AN_API),
        (
            400,
            "This model's maximum context length is 8192 tokens",
            "context_length_exceeded",
            Trouble.CONTEXT_OVERFLOW,
        ),
        (
            400,
            "the request exceeds the available context size, try increasing it",
            "",
            Trouble.CONTEXT_OVERFLOW,
        ),
        (413, "prompt is too long: 210000 tokens > 200000 maximum", "", Trouble.CONTEXT_OVERFLOW),
        (400, "This model does not support response_format json_schema", "", Trouble.BAD_REQUEST),
        (
            400,
            "'max_tokens' is not supported with this model. Use 'max_completion_tokens'",
            "",
            Trouble.BAD_REQUEST,
        ),
        (422, "seed: extra inputs are not permitted", "", Trouble.BAD_REQUEST),
        (500, "The server had an error", "", Trouble.SERVER_ERROR),
        (502, "Bad gateway", "", Trouble.SERVER_ERROR),
        (503, "Service unavailable", "", Trouble.OVERLOADED),
        (529, "Overloaded", "", Trouble.OVERLOADED),
        (408, "Request timeout", "", Trouble.SERVER_ERROR),
    ],
)
def test_statuses_become_troubles(status: int, message: str, code: str, trouble: Trouble) -> None:
    assert client._trouble(status, message, code) is trouble


def test_every_trouble_has_a_rule_and_every_dead_end_a_way_out() -> None:
    assert set(RULES) == set(Trouble)
    assert all(rule.way_out for rule in RULES.values() if not rule.retry)
    assert not any(rule.retry and rule.fatal for rule in RULES.values())


def test_a_wait_is_read_in_every_form() -> None:
    assert retry_after({"retry-after": "1.5"}) == 1.5
    assert retry_after({"retry-after": "9", "retry-after-ms": "250"}) == 0.25
    assert retry_after({"retry-after": "-3"}) == 0.0
    assert retry_after({"retry-after": "soon"}) is None
    assert retry_after({}) is None
    date = retry_after({"retry-after": formatdate(time.time() + 30, usegmt=True)})
    assert date is not None
    assert 25 < date <= 30


@pytest.mark.parametrize(
    ("remaining", "reset", "seconds"),
    [
        ("0", "1s", 1.0),
        ("0", "6m0s", 60.0),
        ("0", "1.5", 1.5),
        ("0", "20ms", 0.02),
        ("0", "?", 0.0),
        ("1", "9s", 0.0),
    ],
)
def test_announced_pauses(remaining: str, reset: str, seconds: float) -> None:
    headers = {"x-ratelimit-remaining-tokens": remaining, "x-ratelimit-reset-tokens": reset}
    assert announced_pause(headers) == pytest.approx(seconds)


def test_a_delay_grows_and_never_undercuts_what_was_asked() -> None:
    assert all(0.125 <= delay(1) <= 0.25 for _ in range(100))
    assert all(10 <= delay(50) <= 20 for _ in range(100))
    assert all(3.0 <= delay(9, 3.0) <= 4.0 for _ in range(100))


def test_a_price_counts_cached_tokens_at_their_own_rate() -> None:
    assert Price(input=2, output=10, cached=0.5).cost(1000, 100, 600) == pytest.approx(
        (400 * 2 + 600 * 0.5 + 1000) / 1e6
    )
    assert Price(input=2, output=10).cost(1000, 100, 600) == pytest.approx((1000 * 2 + 1000) / 1e6)


def test_ids_of_calls_are_made_where_they_are_missing_or_equal() -> None:
    call = {"function": {"name": "f", "arguments": {"a": 1}}}
    found = wire.read(
        {"choices": [{"message": {"tool_calls": [call, {**call, "id": "x"}, {**call, "id": "x"}]}}]}
    )
    assert [made.id for made in found.calls] == ["call_0_0", "x_1", "x_2"]
    assert [made.arguments for made in found.calls] == [{"a": 1}] * 3
