"""Endpoints, models, who plays what, prices, limits and the cache of answers."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal, Self
from urllib.parse import urlsplit

from pydantic import ConfigDict, Discriminator, Field, Tag, field_validator, model_validator

from pipeline.config.section import Section
from pipeline.records.errors import ConfigError

Structured = Literal["auto", "json_schema", "json_object", "text"]

TEACHER = "teacher"
"""The player of every role that no model is named for."""

Role = Literal["author", "user", "policy", "simulator", "judge", "rewriter", "checker"]

_SHORT = re.compile(r"^(?P<model>.+)@(?P<url>https?://.+)$")


class Price(Section):
    """What a million tokens cost, in any one currency."""

    input: float = Field(default=0.0, ge=0)
    output: float = Field(default=0.0, ge=0)
    cached: float | None = Field(default=None, ge=0)
    """For input tokens that the endpoint had in its own cache; as `input` when not given."""

    def cost(self, tokens_in: int, tokens_out: int, tokens_cached: int = 0) -> float:
        cached = self.input if self.cached is None else self.cached
        fresh = max(0, tokens_in - tokens_cached)
        return (fresh * self.input + tokens_cached * cached + tokens_out * self.output) / 1e6


class Limits(Section):
    """How many calls one (endpoint, model) may have in flight, and how many a minute.

    They hold for all workers and runs of this machine together that share `cache.dir`: whoever is at work has an equal part.
    """

    concurrency: int | None = Field(default=None, ge=1)
    """A fixed number of calls in flight; not given: found by itself, from `start` up to `most`."""
    start: int = Field(default=8, ge=1)
    most: int = Field(default=256, ge=1)
    rpm: int | None = Field(default=None, ge=1)
    """Requests a minute."""
    tpm: int | None = Field(default=None, ge=1)
    """Tokens a minute, in and out."""

    @property
    def ceiling(self) -> int:
        return self.concurrency or self.most


class Endpoint(Section):
    """An OpenAI-compatible server."""

    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=(), hide_input_in_errors=True)

    base_url: str = "https://api.openai.com/v1"
    api_key_env: str = "OPENAI_API_KEY"
    """The environment variable that holds the key. A server that wants none is called without."""
    headers_env: dict[str, str] = {}
    """Further secret headers: header name to environment variable."""
    connect_timeout: float = Field(default=10.0, gt=0)
    """Seconds."""
    first_byte_timeout: float = Field(default=300.0, gt=0)
    """Seconds of silence, before the first byte or between two pieces of an answer."""
    answer_timeout: float = Field(default=600.0, gt=0)
    """Seconds for one whole answer."""
    patience: float = Field(default=120.0, gt=0)
    """Seconds without one good answer after which the endpoint counts as down and the run pauses."""
    attempts: int = Field(default=6, ge=1)
    """Tries of one request while the endpoint serves others; rate limits do not count."""
    max_answer_bytes: int = Field(default=32_000_000, ge=1000)

    @field_validator("base_url")
    @classmethod
    def _plain_url(cls, url: str) -> str:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError("base_url must look like http://host:port/v1")
        if parts.username or parts.password or parts.query or parts.fragment:
            raise ValueError(
                "base_url must hold no credentials and no query: name an environment variable in "
                "api_key_env or headers_env instead"
            )
        return url.rstrip("/")


class Model(Section):
    """A model at an endpoint, and how to talk to it."""

    endpoint: str = "default"
    """A name in `endpoints`."""
    name: str = ""
    """The model's name at the endpoint; empty: the name of this entry."""
    structured: Structured = "auto"
    """How structured answers are asked for; `auto` tries json_schema, then json_object, then text."""
    tools: Literal["native", "structured"] = "native"
    """`structured` asks for tool calls as a structured answer, for models whose tool calling cannot be relied on."""
    temperature: float | None = Field(default=None, ge=0)
    top_p: float | None = Field(default=None, gt=0, le=1)
    max_tokens: int | None = Field(default=None, ge=1)
    max_tokens_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    logprobs: bool = False
    context: int | None = Field(default=None, ge=1)
    """Tokens of context, where known."""
    extra: dict[str, Any] = {}
    """Further fields of the request body, passed as they stand."""
    price: Price | None = None
    """Not given: the entry of `prices` under the model's name at the endpoint."""
    limits: Limits | None = None
    """Not given: the general `limits`."""


class CacheConfig(Section):
    """The cache of answers that runs share."""

    enabled: bool = True
    dir: str = "data/cache"
    max_bytes: int = Field(default=20_000_000_000, ge=0)
    """What `cache prune` keeps when told nothing else."""


class Resolved(Section):
    """A model with everything that belongs to it."""

    name: str
    """As configured."""
    endpoint: Endpoint
    model: Model
    wire_name: str
    price: Price
    limits: Limits


def _shown(name: str) -> str:
    """A name as it may be repeated in a message: without what could be a credential in an address."""
    return re.sub(r"//.*@", "//…@", name).split("?")[0]


class ModelsConfig(Section):
    """Everything about language models. The keys stand at the top level of a configuration."""

    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=(), hide_input_in_errors=True)

    endpoints: dict[str, Endpoint] = {"default": Endpoint()}
    models: dict[
        str,
        Annotated[
            Annotated[Model, Tag("(entry)")] | Annotated[str, Tag("(short)")],
            Discriminator(lambda given: "(short)" if isinstance(given, str) else "(entry)"),
        ],
    ] = {}
    """Name to entry, or to the short form `NAME@BASE_URL`."""
    roles: dict[Role, str] = {}
    """Who plays what: a model's name or `teacher`; what is not named is played by the teacher."""
    prices: dict[str, Price] = {}
    """Name of a model at its endpoint to its price; what has no price costs nothing."""
    limits: Limits = Limits()
    repairs: int = Field(default=2, ge=0, le=10)
    """How often a model is shown what was wrong with its structured answer."""
    cache: CacheConfig = CacheConfig()

    @property
    def further_names(self) -> tuple[str, ...]:
        """Names of models that other sections hold."""
        return ()

    @model_validator(mode="after")
    def _names_resolve(self) -> Self:
        """A name that leads nowhere, or an address with credentials, is found before anything is written down."""
        for name in (*self.models, *self.roles.values(), *self.further_names):
            if name != TEACHER:
                try:
                    self.resolve(name)
                except ConfigError as error:
                    raise ValueError(str(error)) from None
        return self

    def resolve(self, name: str) -> Resolved:
        """The model `name`: an entry of `models`, or the short form `NAME@BASE_URL`.

        Raises ConfigError for a name that is neither, and for an endpoint that is not configured.
        """
        entry = self.models.get(name, name)
        if isinstance(entry, str):
            return self._short(name, entry)
        endpoint = self.endpoints.get(entry.endpoint)
        if endpoint is None:
            raise ConfigError(
                f"The model {name} names the endpoint {entry.endpoint}, which is not configured.",
                way_out=f"Known endpoints: {', '.join(sorted(self.endpoints)) or 'none'}.",
            )
        wire_name = entry.name or name
        return Resolved(
            name=name,
            endpoint=endpoint,
            model=entry,
            wire_name=wire_name,
            price=entry.price or self.prices.get(wire_name) or self.prices.get(name) or Price(),
            limits=entry.limits or self.limits,
        )

    def _short(self, name: str, text: str) -> Resolved:
        match = _SHORT.match(text)
        if match is None:
            known = ", ".join(sorted(self.models)) or "none"
            raise ConfigError(
                f"No model is called {_shown(name)}.",
                way_out=f"Add it to models (known: {known}) or write NAME@BASE_URL, e.g. qwen3@http://127.0.0.1:8080/v1.",
            )
        wire_name = match["model"]
        try:
            endpoint = Endpoint(base_url=match["url"])
        except ValueError as error:
            raise ConfigError(
                f"The model {_shown(text)} has no usable address.",
                way_out="Write NAME@http://host:port/v1, without credentials and without a query.",
            ) from error
        price = self.prices.get(wire_name) or self.prices.get(name) or Price()
        return Resolved(
            name=name,
            endpoint=endpoint,
            model=Model(name=wire_name),
            wire_name=wire_name,
            price=price,
            limits=self.limits,
        )
