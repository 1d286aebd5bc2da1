"""What can go wrong with a call, and what is done about it: the one table, and the only owner of retries.

The `openai` client's own retries are switched off; nothing above `pipeline.models` tries a call again.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from enum import StrEnum


class Trouble(StrEnum):
    """Why a call brought no answer."""

    RATE_LIMITED = "rate_limited"
    OVERLOADED = "overloaded"
    SERVER_ERROR = "server_error"
    NO_CONNECTION = "no_connection"
    CONNECTION_LOST = "connection_lost"
    TIMEOUT = "timeout"
    BROKEN_BODY = "broken_body"
    TOO_LARGE = "too_large"
    CONTEXT_OVERFLOW = "context_overflow"
    BAD_REQUEST = "bad_request"
    NO_ACCESS = "no_access"
    NO_MODEL = "no_model"
    NO_QUOTA = "no_quota"
    NOT_AN_API = "not_an_api"


@dataclass(frozen=True)
class Rule:
    """What follows from a trouble."""

    retry: bool = False
    counts: bool = True
    """Whether a try is used up. Rate limits use none: they end with the endpoint's patience, not the request's."""
    slows: bool = False
    """Whether fewer calls may be in flight afterwards."""
    fatal: bool = False
    """No request to this model can succeed until the user has acted: the run pauses at once."""
    way_out: str = ""


RULES: dict[Trouble, Rule] = {
    Trouble.RATE_LIMITED: Rule(retry=True, counts=False, slows=True),
    Trouble.OVERLOADED: Rule(retry=True, counts=False, slows=True),
    Trouble.SERVER_ERROR: Rule(retry=True),
    Trouble.NO_CONNECTION: Rule(retry=True),
    Trouble.CONNECTION_LOST: Rule(retry=True),
    Trouble.TIMEOUT: Rule(retry=True),
    Trouble.BROKEN_BODY: Rule(retry=True),
    Trouble.TOO_LARGE: Rule(way_out="Set max_tokens, or raise max_answer_bytes of the endpoint."),
    Trouble.CONTEXT_OVERFLOW: Rule(
        way_out="Use a model with a longer context, or smaller chunks, fewer tools or fewer turns."
    ),
    Trouble.BAD_REQUEST: Rule(
        way_out="Look at the model's entry: extra, structured, tools, max_tokens_field."
    ),
    Trouble.NO_ACCESS: Rule(
        fatal=True, way_out="Check the environment variable of the key (api_key_env), then resume the run."
    ),
    Trouble.NO_MODEL: Rule(fatal=True, way_out="Check the model's name and base_url, then resume the run."),
    Trouble.NO_QUOTA: Rule(fatal=True, way_out="Raise the account's quota, then resume the run."),
    Trouble.NOT_AN_API: Rule(
        fatal=True, way_out="Check base_url: it usually ends in /v1. Then resume the run."
    ),
}


class CallError(Exception):
    """One call brought no answer. `retry_after` in seconds, when the endpoint said it."""

    def __init__(
        self, trouble: Trouble, message: str, *, status: int = 0, retry_after: float | None = None
    ) -> None:
        super().__init__(message)
        self.trouble = trouble
        self.message = message
        self.status = status
        self.retry_after = retry_after
        self.counts = True
        """Whether a try of the request is used up; the lane decides."""

    @property
    def rule(self) -> Rule:
        return RULES[self.trouble]


def delay(attempt: int, retry_after: float | None = None, *, base: float = 0.25, cap: float = 20.0) -> float:
    """Seconds before try number `attempt` + 1 (from 1): exponential with equal jitter, never before `retry_after`.

    The jitter is no part of any result, so it takes the process's own random numbers.
    """
    pause: float = min(cap, base * 2.0 ** min(attempt - 1, 16))
    pause = pause / 2 + random.uniform(0, pause / 2)
    return pause if retry_after is None else retry_after + min(pause, 1.0)
