"""An engine and a pool for tests that run containers; skipped, with the mending command, where no engine answers."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from functools import lru_cache
from pathlib import Path

import pytest
import pytest_asyncio

from pipeline.config.sandbox import SandboxSection
from pipeline.records import CodeTask
from pipeline.sandbox import Engine, Pool, build_image, engine_problem, load_tasks

DATA = Path(__file__).parent.parent.parent / "data" / "code_tasks"


@lru_cache(maxsize=1)
def _problem() -> str | None:
    problem = engine_problem()
    if problem is None:
        asyncio.run(_build())
    return problem


async def _build() -> None:
    async with Engine.connect() as engine:
        await build_image(engine)


@pytest.fixture(scope="session")
def docker_ready() -> None:
    """Skips where no engine answers; in CI, where one has to, that is an error."""
    if problem := _problem():
        if os.environ.get("NEEDS_DOCKER"):
            pytest.fail(problem)
        pytest.skip(problem)


@pytest_asyncio.fixture
async def engine(docker_ready: None) -> AsyncIterator[Engine]:
    async with Engine.connect() as engine:
        yield engine


@pytest.fixture
def limits() -> SandboxSection:
    return SandboxSection(parallel=3, ahead=1)


@pytest_asyncio.fixture
async def pool(docker_ready: None, limits: SandboxSection) -> AsyncIterator[Pool]:
    async with Pool(limits, run="tests") as pool:
        yield pool


@pytest.fixture(scope="session")
def tasks() -> dict[str, CodeTask]:
    return {task.name: task for task in load_tasks(DATA) if isinstance(task, CodeTask)}
