"""Shared by the tests of the door to the models."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pipeline.config.models import Endpoint, Limits, Model, ModelsConfig, Price
from tests.endpoint import server

Serve = Callable[[server.Script], server.Endpoint]


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Starts scripted endpoints and stops them after the test."""
    running: list[server.Endpoint] = []

    def start(script: server.Script) -> server.Endpoint:
        running.append(server.Endpoint(script).__enter__())
        return running[-1]

    yield start
    for endpoint in running:
        endpoint.__exit__(None, None, None)


@pytest.fixture
def cache_dir(tmp_path: Path) -> Path:
    return tmp_path / "cache"


def config_for(
    endpoint: server.Endpoint,
    *,
    limits: Limits | None = None,
    repairs: int = 2,
    patient: bool = False,
    **model: object,
) -> ModelsConfig:
    """A configuration with one model, `m`, at the scripted endpoint; impatient unless told otherwise."""
    at = Endpoint(
        base_url=endpoint.base_url, first_byte_timeout=1.0, answer_timeout=1.5, patience=1.0, attempts=3
    )
    if patient:
        at = Endpoint(base_url=endpoint.base_url)
    return ModelsConfig(
        endpoints={"default": at},
        models={"m": Model.model_validate({"name": "tiny", "price": Price(input=1.0, output=2.0), **model})},
        limits=limits or Limits(),
        repairs=repairs,
    )
