"""The wire to one endpoint: one long-lived `openai` client with a pool as large as the calls it may carry."""

from __future__ import annotations

import asyncio
import logging
import os
import re
import resource
import time
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any

import aiohttp
import httpx2
import openai

from pipeline.config.models import Endpoint
from pipeline.models import wire
from pipeline.models.retries import CallError, Trouble
from pipeline.models.wire import Completion
from pipeline.records import ConfigError

log = logging.getLogger("tracemill.models")

_SPARE_FILES = 200


@dataclass(frozen=True, slots=True)
class Heard:
    """An answer from the wire, the seconds it took and what the headers say of the limits."""

    text: str
    """The body."""
    completion: Completion
    latency: float
    pause: float = 0.0
    """Seconds for which the endpoint has announced that nothing more will be let in."""


class Client:
    """One endpoint in one event loop. `close` it, or connections leak."""

    def __init__(self, endpoint: Endpoint, connections: int) -> None:
        self._endpoint = endpoint
        self.secrets = _secrets(endpoint)
        _allow_open_files(connections)
        key = os.environ.get(endpoint.api_key_env, "")
        self._headers: dict[str, str | openai.Omit] = {
            name: os.environ[variable] for name, variable in endpoint.headers_env.items()
        }
        if not key:
            self._headers.setdefault("Authorization", openai.Omit())
        timeout = httpx2.Timeout(
            endpoint.answer_timeout,
            connect=endpoint.connect_timeout,
            read=endpoint.first_byte_timeout,
            pool=None,
        )
        self._client = openai.AsyncOpenAI(
            base_url=endpoint.base_url,
            api_key=key or "none",
            max_retries=0,
            timeout=timeout,
            http_client=openai.DefaultAioHttpClient(
                # aiohttp takes no answer for "100", so the size is always named
                limits=httpx2.Limits(max_connections=connections, max_keepalive_connections=connections),
                timeout=timeout,
            ),
        )

    async def send(self, body: Mapping[str, Any]) -> Heard:
        """One try. Raises CallError for whatever goes wrong, with every secret blotted out of its message."""
        started = time.perf_counter()
        try:
            async with asyncio.timeout(self._endpoint.answer_timeout):
                response = await self._client.post(
                    "/chat/completions",
                    body=body,
                    cast_to=httpx2.Response,
                    options={"headers": self._headers},
                )
        except TimeoutError as error:
            raise CallError(
                Trouble.TIMEOUT, f"No whole answer within {self._endpoint.answer_timeout:g} s."
            ) from error
        except openai.APIStatusError as error:
            raise self._refusal(error) from None
        except (openai.APIConnectionError, aiohttp.ClientError, httpx2.RequestError, OSError) as error:
            raise _lost(error) from error
        latency = time.perf_counter() - started
        text, completion = self._parse(response.content)
        return Heard(text, completion, latency, announced_pause(response.headers))

    def _parse(self, raw: bytes) -> tuple[str, Completion]:
        if len(raw) > self._endpoint.max_answer_bytes:
            raise CallError(Trouble.TOO_LARGE, f"The answer has {len(raw)} bytes.")
        for secret in self.secrets:
            raw = raw.replace(secret.encode(), b"[secret]")
        try:
            return wire.parse(raw)
        except CallError as error:
            raise CallError(error.trouble, self.clean(error.message)) from None

    def _refusal(self, error: openai.APIStatusError) -> CallError:
        """A status of 400 or above as a trouble."""
        text = wire.error_text(
            error.body if isinstance(error.body, dict) else _page_text(error.response.text)
        )
        status = error.status_code
        trouble = _trouble(status, text, str(error.code or ""))
        wait = retry_after(error.response.headers)
        asks = f" (it asks to wait {wait:g} s)" if wait else ""
        return CallError(trouble, f"HTTP {status}: {self.clean(text)}{asks}", status=status, retry_after=wait)

    def clean(self, text: str) -> str:
        """`text` without the secrets of this endpoint."""
        for secret in self.secrets:
            text = text.replace(secret, "[secret]")
        return text

    async def close(self) -> None:
        """Close all connections; afterwards the client cannot be used."""
        await self._client.close()


def _secrets(endpoint: Endpoint) -> list[str]:
    """Values of the environment that must appear nowhere. Raises ConfigError for a missing header variable."""
    for name, variable in endpoint.headers_env.items():
        if variable not in os.environ:
            raise ConfigError(
                f"The header {name} of {endpoint.base_url} comes from {variable}, which is not set.",
                way_out=f"Set {variable} in the environment.",
            )
    values = [os.environ.get(name, "") for name in (endpoint.api_key_env, *endpoint.headers_env.values())]
    return sorted({value for value in values if len(value) >= 6}, key=len, reverse=True)


def _allow_open_files(connections: int) -> None:
    """Raise the process's own limit on open files where the pool needs it. Raises ConfigError where it may not."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = connections + _SPARE_FILES
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return
    if hard != resource.RLIM_INFINITY and hard < wanted:
        raise ConfigError(
            f"{connections} calls at once need {wanted} open files, and the system allows {hard}.",
            way_out="Lower limits.most (or limits.concurrency), or raise `ulimit -n`.",
        )
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


_OVERFLOW = re.compile(
    r"context.{0,20}(length|window|size|limit)|maximum context|too many tokens|prompt is too long|exceeds? the"
    r" (available )?context|max_model_len|input is too long",
    re.IGNORECASE,
)
_NO_MODEL = re.compile(
    r"model\b.{0,80}\b(not found|does not exist|doesn't exist)|(unknown|no such|invalid) model\b|model_not_found",
    re.IGNORECASE,
)


def _trouble(status: int, text: str, code: str) -> Trouble:
    """The trouble that a status and its message stand for."""
    if status == 429:
        return Trouble.NO_QUOTA if "insufficient_quota" in (code, text) else Trouble.RATE_LIMITED
    if status in (401, 403):
        return Trouble.NO_ACCESS
    if status == 402:
        return Trouble.NO_QUOTA
    if status in (400, 413, 422) and (code == "context_length_exceeded" or _OVERFLOW.search(text)):
        return Trouble.CONTEXT_OVERFLOW
    if status in (400, 404, 422) and (code == "model_not_found" or _NO_MODEL.search(text)):
        return Trouble.NO_MODEL
    if status in (404, 405, 410):
        return Trouble.NOT_AN_API
    if status in (503, 529):
        return Trouble.OVERLOADED
    if status in (408, 409, 425) or status >= 500:
        return Trouble.SERVER_ERROR
    return Trouble.BAD_REQUEST


def _page_text(page: str) -> str:
    """The words of an error page, without its tags."""
    return re.sub(r"<[^>]*>", " ", page[:4000])


def _lost(error: Exception) -> CallError:
    """A failure below HTTP as a trouble: the cause tells, since the adapter's own names mix the kinds up."""
    causes: list[BaseException] = []
    cause: BaseException | None = error
    while cause is not None and len(causes) < 10:
        causes.append(cause)
        cause = cause.__cause__ or cause.__context__
    if any(isinstance(found, aiohttp.ClientConnectorError) for found in causes):
        return CallError(Trouble.NO_CONNECTION, f"No connection: {causes[-1]}")
    if any(isinstance(found, TimeoutError | aiohttp.ServerTimeoutError) for found in causes):
        connecting = any(isinstance(found, aiohttp.ConnectionTimeoutError) for found in causes)
        return CallError(
            Trouble.TIMEOUT, "No connection in time." if connecting else "The endpoint went silent."
        )
    said = str(causes[-1]) or type(causes[-1]).__name__
    return CallError(Trouble.CONNECTION_LOST, f"The connection was lost: {said[:200]}")


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that the endpoint asks to wait: `retry-after-ms`, or `Retry-After` in seconds or as a date (RFC 9110)."""
    for name, unit in (("retry-after-ms", 1e-3), ("retry-after", 1.0)):
        text = headers.get(name)
        if text is None:
            continue
        try:
            return max(0.0, float(text) * unit)
        except ValueError:
            pass
        try:
            return max(0.0, parsedate_to_datetime(text).timestamp() - time.time())
        except ValueError:
            log.debug("unreadable %s header", name)
    return None


_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
_UNITS = {"ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def announced_pause(headers: Mapping[str, str]) -> float:
    """Seconds until the endpoint lets more in, when its `x-ratelimit-remaining-*` headers say that nothing is left."""
    longest = 0.0
    for kind in ("requests", "tokens"):
        if headers.get(f"x-ratelimit-remaining-{kind}") == "0":
            text = headers.get(f"x-ratelimit-reset-{kind}", "")
            parts = _PART.findall(text) or ([(text, "s")] if text.replace(".", "", 1).isdigit() else [])
            longest = max(longest, sum(float(number) * _UNITS[unit] for number, unit in parts))
    return min(longest, 60.0)
