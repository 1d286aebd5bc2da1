"""`Models`: the only way to a language model."""

from __future__ import annotations

import asyncio
import itertools
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from pipeline.config.models import ModelsConfig, Resolved
from pipeline.models import toolcalls, wire
from pipeline.models.cache import AnswerCache, Journal, request_key
from pipeline.models.crew import Crew
from pipeline.models.lane import Lane
from pipeline.models.ledger import Budget, Ledger, ModelCall, found_row, paid_row
from pipeline.models.prompts import shipped, with_prompt
from pipeline.models.retries import CallError, Trouble
from pipeline.models.structured import Unreadable, read_answer
from pipeline.models.target import Got, Target
from pipeline.models.wire import Completion
from pipeline.records import ChatAnswer, ChatRequest, Json, Message, Outcome, Usage, content_id

if TYPE_CHECKING:
    from pipeline.models.client import Client


class Models:
    """All models of a configuration, for one event loop. An async context manager.

    `journal` keeps every answer of this run; the cache in `cache_dir` (default: as configured) keeps the good ones for
    all runs. Workers that name the same `limits_dir` divide the limits of each endpoint. `on_row` is told of each row of the ledger as it is written.
    """

    def __init__(
        self,
        config: ModelsConfig,
        *,
        journal: Journal | None = None,
        cache_dir: Path | None = None,
        budget: Budget | None = None,
        limits_dir: Path | None = None,
        on_row: Callable[[ModelCall], None] | None = None,
    ) -> None:
        self.config = config
        self.ledger = Ledger(budget, on_row)
        self._journal = journal
        self._limits_dir = limits_dir
        self._cache_dir = cache_dir or Path(config.cache.dir)
        self._cache: AnswerCache | None = None
        self._clients: dict[str, Client] = {}
        self._lanes: dict[tuple[str, str], Lane] = {}
        self._targets: dict[str, Target] = {}
        self._asking: dict[str, asyncio.Future[Got]] = {}
        self._replayed: set[str] = set()
        self._loop: asyncio.AbstractEventLoop | None = None

    async def __aenter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        if self.config.cache.enabled:
            self._cache = AnswerCache(self._cache_dir)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop = None
        for lane in self._lanes.values():
            lane.close()
        clients, self._clients = list(self._clients.values()), {}
        await asyncio.gather(*(client.close() for client in clients))
        if self._cache is not None:
            self._cache.close()

    def restore(self, paid: Iterable[tuple[str, str]]) -> None:
        """Takes the rows of calls that an earlier part of this work has paid for into the ledger: (key, row as JSON).

        What is asked again is then found and not counted again; what is never asked again still counts.
        """
        for key, row in paid:
            if key not in self._replayed:
                self._replayed.add(key)
                self.ledger.add(ModelCall.model_validate_json(row))

    async def chat(self, request: ChatRequest) -> ChatAnswer:
        """The answer to `request`: its outcome says whether it is good, cut off, refused, unreadable or missing.

        Raises EndpointDown when no request to this model can succeed any more, BudgetExceeded when a limit of the run
        is reached, ConfigError for a model that is not configured. What went wrong with this request alone is no
        exception: see `ChatAnswer.outcome` and `error`.
        """
        target = self._target(request.model)
        if request.tools and target.resolved.model.tools == "structured":
            asked = toolcalls.as_structured(request)
            return toolcalls.from_structured(await self._converse(asked, target))
        return await self._converse(request, target)

    async def ping(self, name: str) -> str:
        """Whether the model `name` answers at all: empty, or what is wrong and the way out. Costs a token or two.

        Raises ConfigError for a model that is not configured.
        """
        try:
            await self._target(name).ping()
        except CallError as error:
            return f"{error.message} {error.rule.way_out}".strip()
        return ""

    async def _converse(self, request: ChatRequest, target: Target) -> ChatAnswer:
        """Ask; where a structured answer cannot be read, show the model its error and ask again."""
        chain: list[tuple[str, Got]] = []
        usage, asked = Usage(), request
        for repair in itertools.count():
            key = request_key(asked, target.resolved)
            got = await self._get(key, asked, target)
            chain.append((key, got))
            heard = got.heard
            if heard is None:
                return _answer(chain, Outcome.FAILED, usage, error=got.row.error)
            usage = _add(usage, heard, target.resolved)
            outcome, parsed, problem = _judge(heard, request.output_schema)
            self.ledger.add(got.row.model_copy(update={"outcome": outcome, "error": problem}))
            if outcome is not Outcome.INVALID or repair == self.config.repairs:
                break
            asked = _with_error(asked, heard.content, problem)
        if outcome is Outcome.OK and self._cache is not None and _says_something(chain[-1][1].heard):
            for key, got in chain:
                if got.new:
                    self._cache.put(key, request.model, got.text)
        return _answer(chain, outcome, usage, parsed=parsed, error=problem)

    async def _get(self, key: str, request: ChatRequest, target: Target) -> Got:
        """The answer under `key` from the journal, the cache, an equal request in flight, or the endpoint."""
        while (flying := self._asking.get(key)) is not None:
            await asyncio.wait([flying])
            if not flying.cancelled():
                got = flying.result()
                return Got(got.text, got.heard, found_row(request, got.row))
        known = self._known(key, request)
        if known is not None:
            return known
        future: asyncio.Future[Got] = asyncio.get_running_loop().create_future()
        self._asking[key] = future
        try:
            got = await target.call(request)
            if got.heard is not None and self._journal is not None:
                self._journal.record(key, f"{got.row.model_dump_json()}\n{got.text}")
                self._replayed.add(key)
            future.set_result(got)
        finally:
            future.cancel()
            del self._asking[key]
        if got.heard is None:
            self.ledger.add(got.row)
        return got

    def _known(self, key: str, request: ChatRequest) -> Got | None:
        """What the journal or the cache holds. The journal's first replay of an answer restores its paid row."""
        kept = self._journal.answered(key) if self._journal is not None else None
        if kept is not None:
            first, _, text = kept.partition("\n")
            heard = wire.reread(text)
            if heard is not None:
                row = ModelCall.model_validate_json(first)
                row = found_row(request, row) if key in self._replayed else row
                self._replayed.add(key)
                return Got(text, heard, row, new=True)
        cached = self._cache.get(key) if self._cache is not None else None
        heard = wire.reread(cached) if cached is not None else None
        if cached is None or heard is None:
            return None
        return Got(cached, heard, found_row(request, paid_row(request, heard)))

    def _target(self, name: str) -> Target:
        if self._loop is not asyncio.get_running_loop():
            raise RuntimeError("Models belongs to one event loop: use it inside `async with Models(...)`")
        if name not in self._targets:
            resolved = self.config.resolve(name)
            self._targets[name] = Target(resolved, self._client(resolved), self._lane(resolved), self.ledger)
        return self._targets[name]

    def _client(self, resolved: Resolved) -> Client:
        """The one client of an endpoint, with room for every model that is configured there."""
        from pipeline.models.client import (
            Client,
        )  # the import takes half a second that the teacher need not wait

        place = resolved.endpoint.model_dump_json()
        if place not in self._clients:
            there = [self.config.resolve(name) for name in self.config.models]
            most = [found.limits.ceiling for found in there if found.endpoint == resolved.endpoint]
            self._clients[place] = Client(resolved.endpoint, sum(most) or resolved.limits.ceiling)
        return self._clients[place]

    def _lane(self, resolved: Resolved) -> Lane:
        place = (resolved.endpoint.model_dump_json(), resolved.wire_name)
        if place not in self._lanes:
            folder = self._limits_dir and self._limits_dir / content_id("lane", place)
            self._lanes[place] = Lane(resolved, crew=Crew(folder) if folder else None)
        return self._lanes[place]

    @property
    def troubles(self) -> Counter[Trouble]:
        """How often each trouble was met, tries that were repeated included."""
        return sum((target.troubles for target in self._targets.values()), Counter())

    @property
    def limits(self) -> dict[str, int]:
        """Model to the calls it may have in flight at present."""
        return {name: target.lane.limit for name, target in self._targets.items()}


def _judge(heard: Completion, schema: dict[str, Any] | None) -> tuple[Outcome, Json, str]:
    """Outcome, structured value and problem of an answer."""
    if heard.outcome is not Outcome.OK or schema is None or heard.calls:
        return heard.outcome, None, ""
    try:
        return Outcome.OK, read_answer(heard.content, schema), ""
    except Unreadable as error:
        return Outcome.INVALID, None, str(error)


def _says_something(heard: Completion | None) -> bool:
    return heard is not None and bool(heard.content.strip() or heard.calls)


def _answer(
    chain: list[tuple[str, Got]], outcome: Outcome, usage: Usage, *, parsed: Json = None, error: str = ""
) -> ChatAnswer:
    """The last answer of a conversation, with what the whole of it took."""
    rows = [got.row for _, got in chain]
    heard = chain[-1][1].heard
    common: dict[str, Any] = {
        "outcome": outcome,
        "usage": usage,
        "parsed": parsed,
        "error": error,
        "cached": all(row.cached for row in rows),
        "attempts": sum(row.attempts for row in rows),
        "repairs": len(chain) - 1,
    }
    if heard is None:
        return ChatAnswer(**common)
    return ChatAnswer(
        content=heard.content,
        reasoning=heard.reasoning,
        refusal=heard.refusal,
        calls=heard.calls,
        finish_reason=heard.finish_reason,
        logprobs=heard.logprobs,
        model=heard.model,
        **common,
    )


def _with_error(request: ChatRequest, content: str, problem: str) -> ChatRequest:
    """The request, the answer that could not be read, and what was wrong with it."""
    prompt = shipped().get("models/repair")
    (message,) = prompt.render(problem=problem)
    said = Message(role="assistant", content=content)
    versions = (
        request.prompt if prompt.version in request.prompt else with_prompt(request.prompt, prompt.version)
    )
    return request.model_copy(update={"messages": (*request.messages, said, message), "prompt": versions})


def _add(usage: Usage, heard: Completion, resolved: Resolved) -> Usage:
    """What an answer is worth, found or paid: the same in every run, so that equal seeds give equal records."""
    price = resolved.price.cost(heard.tokens_in, heard.tokens_out, heard.tokens_cached)
    return Usage(
        tokens_in=usage.tokens_in + heard.tokens_in,
        tokens_out=usage.tokens_out + heard.tokens_out,
        cost=usage.cost + price,
    )
