"""The door to Docker engines: connection, diagnosis, one vocabulary of errors.

Nothing here retries. A failed grade is repeated by `pool.py`, and by it alone.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Iterator
from types import TracebackType
from typing import Any

import aiohttp
from aiodocker import Docker
from aiodocker.exceptions import DockerError

from pipeline.records.errors import SandboxError

LABEL = "tracemill"
"""Every container of ours carries this label; nothing is ever swept by anything else."""
START = "Start one with `sh sandboxes/prepare.sh` (as root), or name a running one in DOCKER_HOST."


@contextlib.contextmanager
def engine_errors(doing: str) -> Iterator[None]:
    """Turns what the client raises into SandboxError."""
    try:
        yield
    except (DockerError, aiohttp.ClientError, OSError, TimeoutError, AssertionError) as error:
        raise SandboxError(
            f"The Docker engine failed while {doing}: {error or type(error).__name__}."
        ) from error


class Engine:
    """One Docker engine. An async context manager; belongs to the event loop that opened it."""

    def __init__(self, host: str = "") -> None:
        self.host = host
        self.docker: Docker
        self.architecture = ""

    @classmethod
    @contextlib.asynccontextmanager
    async def connect(cls, host: str = "") -> AsyncIterator[Engine]:
        """The engine at `host`, or the one the environment names. Raises SandboxError when none answers."""
        async with cls(host) as engine:
            yield engine

    async def __aenter__(self) -> Engine:
        problem = ""
        try:
            self.docker = Docker(url=self.host or None)
        except (AssertionError, ValueError, OSError, DockerError) as error:
            # The client asserts that it found an address at all.
            problem = str(error) or "there is no engine socket on this machine"
        if not problem:
            try:
                async with asyncio.timeout(10):
                    version = await self.docker.version()
                self.architecture = str(version.get("Arch", ""))
            except (DockerError, aiohttp.ClientError, OSError, TimeoutError) as error:
                problem = str(error) or "it does not answer within 10 seconds"
                await self.docker.close()
        if problem:
            where = self.host or os.environ.get("DOCKER_HOST") or "this machine"
            raise SandboxError(f"No Docker engine answers on {where}: {problem.rstrip('.')}.", way_out=START)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.docker.close()

    async def create(self, config: dict[str, Any], name: str) -> str:
        """The id of a new container, not yet started."""
        with engine_errors("creating a container"):
            container = await self.docker.containers.create(config, name=name)
        return str(container.id)

    async def start(self, container: str) -> None:
        with engine_errors("starting a container"):
            await self.docker.containers.container(container).start()

    async def remove(self, container: str) -> None:
        """Kills and removes; a container that is gone or going is fine."""
        try:
            await self.docker.containers.container(container).delete(force=True, v=True)
        except DockerError as error:
            if error.status not in (404, 409):
                raise SandboxError(
                    f"The Docker engine could not remove {container[:12]}: {error}."
                ) from error
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            raise SandboxError(f"The Docker engine could not remove {container[:12]}: {error}.") from error

    async def running(self, container: str) -> bool:
        """Whether the container still runs. Raises SandboxError when the engine does not answer."""
        try:
            data = await self.docker.containers.container(container).show()
        except DockerError as error:
            if error.status == 404:
                return False
            raise SandboxError(f"The Docker engine does not answer: {error}.") from error
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            raise SandboxError(f"The Docker engine does not answer: {error}.") from error
        return bool(data["State"]["Running"])

    async def labeled(self) -> list[dict[str, Any]]:
        """All containers of ours, running or not: `{"Id", "Labels", "State", …}`."""
        with engine_errors("listing containers"):
            found = await self.docker.containers.list(all=1, filters=f'{{"label": ["{LABEL}"]}}')
        return [dict(container._container) for container in found]


def engine_problem(host: str = "") -> str | None:
    """None when an engine answers, else one sentence that says why not and the mending command."""

    async def ask() -> str | None:
        try:
            async with Engine(host):
                return None
        except SandboxError as error:
            return str(error)

    return asyncio.run(ask())
