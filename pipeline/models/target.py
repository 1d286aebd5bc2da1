"""One model and the way to it: the loop of tries that follows the table of `retries`."""

from __future__ import annotations

import asyncio
import itertools
import json
import logging
import time
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipeline.config.models import Resolved
from pipeline.models import wire
from pipeline.models.lane import Lane
from pipeline.models.ledger import Ledger, ModelCall, blank_row, paid_row
from pipeline.models.prompts import shipped, with_prompt
from pipeline.models.retries import CallError, Trouble
from pipeline.models.wire import Completion
from pipeline.records import ChatRequest, Message

if TYPE_CHECKING:
    from pipeline.models.client import Client, Heard

log = logging.getLogger("tracemill.models")

_FALLBACK = {"json_schema": "json_object", "json_object": "text"}
_PROBE = {"messages": [{"role": "user", "content": "ping"}], "max_tokens": 1}
_NUMBERS = itertools.count()


@dataclass(frozen=True, slots=True)
class Got:
    """An answer from the wire, the journal or the cache, or the reason why there is none."""

    text: str
    heard: Completion | None
    row: ModelCall
    new: bool = False
    """Whether the shared cache may not have it yet."""


class Target:
    """A model as configured, its client and its lane."""

    def __init__(self, resolved: Resolved, client: Client, lane: Lane, ledger: Ledger) -> None:
        self.resolved = resolved
        self.lane = lane
        self._client = client
        self._ledger = ledger
        self.troubles: Counter[Trouble] = Counter()
        """How often each trouble was met, tries that were repeated included."""
        self._said: set[Trouble] = set()
        way = resolved.model.structured
        self._structured: str = "json_schema" if way == "auto" else way
        self._settled = way != "auto"

    async def call(self, request: ChatRequest) -> Got:
        """Ask the endpoint until it answers or the rules say that it will not: the one loop of retries."""
        number, began = next(_NUMBERS), time.perf_counter()
        attempts, counted, way = 0, 0, self._structured
        while True:
            attempts += 1
            try:
                heard = await self._try(request, number, way, again=attempts > 1)
            except CallError as error:
                self.troubles[error.trouble] += 1
                if error.trouble is Trouble.BAD_REQUEST and (easier := self._easier(request, way)):
                    way = easier
                    continue
                self.lane.check()
                counted += error.counts
                if not error.rule.retry or counted >= self.resolved.endpoint.attempts:
                    return Got("", None, self._failed(request, error, attempts))
                await asyncio.sleep(self.lane.backoff(attempts, error))
                await self._probe(error)
                continue
            if request.output_schema is not None:
                self._settle(way)
            row = paid_row(_explained(request, way), heard.completion, self.resolved).model_copy(
                update={
                    "latency": heard.latency,
                    "waited": max(0.0, time.perf_counter() - began - heard.latency),
                    "attempts": attempts,
                }
            )
            return Got(heard.text, heard.completion, row, new=True)

    async def _try(self, request: ChatRequest, number: int, structured: str, *, again: bool) -> Heard:
        """One try in one slot. Raises CallError, with `counts` set."""
        lane = self.lane
        estimate = _estimate(request)
        started = await lane.enter(estimate, again=again)
        self._ledger.totals.in_flight += 1
        try:
            self._ledger.check()
            body = wire.body(_explained(request, structured), self.resolved, structured)
            heard = await self._client.send(body)
            used = heard.completion.tokens_in + heard.completion.tokens_out
            lane.succeeded(started, pause=heard.pause, tokens=(used or estimate) - estimate)
            return heard
        except CallError as error:
            error.counts = lane.failed(number, started, error)
            self._ledger.totals.rate_limited += error.rule.slows
            raise
        finally:
            self._ledger.totals.in_flight -= 1
            lane.leave()

    def _failed(self, request: ChatRequest, error: CallError, attempts: int) -> ModelCall:
        """The row of a request that got no answer; the first of its kind is said aloud."""
        if error.trouble not in self._said:
            self._said.add(error.trouble)
            log.warning(
                "%s: %s %s (said once; further ones are counted)",
                self.lane.name, error.message, error.rule.way_out,
            )  # fmt: skip
        message = f"{error.trouble}: {error.message}"
        return blank_row(request).model_copy(update={"attempts": attempts, "error": message})

    async def _probe(self, error: CallError) -> None:
        """When the endpoint has failed for too long, ask it the smallest question; give it up if that fails too."""
        lane = self.lane
        if error.counts or lane.probing or not lane.out_of_patience:
            return
        lane.probing = True
        try:
            await self.ping()
        except CallError as probe:
            if probe.rule.retry or probe.rule.fatal:
                lane.give_up(
                    f"{lane.name} has given no answer for {self.resolved.endpoint.patience:g} s (last: "
                    f"{error.message}); the run pauses.",
                    "Look after the endpoint, then `tracemill resume` the run: what is done stays done.",
                )
                lane.check()
        finally:
            lane.probing = False
        lane.proven_up()

    async def ping(self) -> None:
        """Ask the smallest question, outside the lane, the cache and the ledger. Raises CallError."""
        await self._client.send({**_PROBE, "model": self.resolved.wire_name, **self.resolved.model.extra})

    def _settle(self, way: str) -> None:
        """Ask in the way that worked from now on; a schema that is refused later changes nothing for the others."""
        if not self._settled and way != self._structured:
            log.warning(
                "%s refuses %s; structured answers are asked for as %s.",
                self.lane.name,
                self._structured,
                way,
            )
            self._structured = way
        self._settled = True

    def _easier(self, request: ChatRequest, way: str) -> str:
        """The next way of asking for a structured answer, when the endpoint may have refused only this one."""
        if request.output_schema is None or self.resolved.model.structured != "auto":
            return ""
        return _FALLBACK.get(way, "")


def _estimate(request: ChatRequest) -> int:
    """Tokens a request will use, roughly: four characters a token, and what it may answer."""
    return sum(len(message.content) for message in request.messages) // 4 + (request.max_tokens or 500)


def _explained(request: ChatRequest, structured: str) -> ChatRequest:
    """The request with its schema in words, where the endpoint is not given the schema itself."""
    if request.output_schema is None or structured == "json_schema":
        return request
    prompt = shipped().get("models/json_only")
    (message,) = prompt.render(schema=json.dumps(request.output_schema, ensure_ascii=False))
    return request.model_copy(
        update={
            "messages": _after_system(request.messages, message.content),
            "prompt": with_prompt(request.prompt, prompt.version),
        }
    )


def _after_system(messages: tuple[Message, ...], text: str) -> tuple[Message, ...]:
    """`messages` with `text` at the end of the system message, or as one."""
    if messages and messages[0].role == "system":
        first = messages[0].model_copy(update={"content": f"{messages[0].content}\n\n{text}"})
        return (first, *messages[1:])
    return (Message(role="system", content=text), *messages)
