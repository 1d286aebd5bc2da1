"""The door to Docker engines: connection, diagnosis, one vocabulary of errors.

Two clients share the work. `docker` does whatever is one question with one answer: finding the engine, its version,
images, listing, inspection, removal; its calls block, so they run in threads. `aiodocker` does only what `docker` cannot
do without a thread for each container: the attached stream, which is read for as long as its container lives and has
to be given up at any moment, and the create and start beside it, on the way to every fresh container.

Nothing here retries. A failed grade is repeated by `pool.py`, and by it alone.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import re
import socket
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from types import TracebackType
from typing import Any, TypeVar

import aiodocker
import aiohttp
import docker
from aiodocker.exceptions import DockerError
from docker.errors import APIError, DockerException, NotFound
from urllib3.exceptions import HTTPError

from pipeline.records.errors import SandboxError

T = TypeVar("T")
log = logging.getLogger(__name__)

LABEL = "tracemill"
"""Every container of ours carries this label; nothing is ever swept by anything else."""
START = "Start one with `sh sandboxes/prepare.sh` (as root), or name a running one in DOCKER_HOST."
CONNECT_SECONDS = 10
REMOVAL_WAITS = (0.1, 0.2, 0.5, 1.0, 2.0, 4.0, 8.0)
"""Seconds between two attempts to remove a container."""
SILENCE_SECONDS = 600
"""An engine that says nothing for so long in the middle of an answer is taken for lost."""
FAILURES = (
    DockerException,
    DockerError,
    aiohttp.ClientError,
    HTTPError,
    OSError,
    TimeoutError,
    AssertionError,
)
"""What the two clients raise, their transports included."""


@contextlib.contextmanager
def engine_errors(doing: str) -> Iterator[None]:
    """Turns what the clients raise into SandboxError."""
    try:
        yield
    except FAILURES as error:
        raise SandboxError(f"The Docker engine failed while {doing}: {reason(error)}.") from error


def reason(error: Exception) -> str:
    """What an engine or a client said, without the address of the request and the layers it came through."""
    said = (isinstance(error, APIError) and error.explanation) or str(error) or type(error).__name__
    if found := re.search(r"(?:\[Errno \d+\] |Error\(\d+, ')([\w ]+)", str(said)):
        said = found[1].lower()
    return str(said).strip().rstrip(".")


async def each(pieces: Iterable[T]) -> AsyncIterator[T]:
    """The pieces of a blocking stream, each waited for in a thread: who is cancelled waits for one, not for the end."""
    iterator = iter(pieces)
    while (piece := await asyncio.to_thread(next, iterator, None)) is not None:
        yield piece


class Engine:
    """One Docker engine. An async context manager; belongs to the event loop that opened it.

    `docker` is the blocking client, to be called in threads; `live` the asynchronous one.
    """

    def __init__(self, host: str = "") -> None:
        self.host = host
        self.docker: docker.DockerClient
        self.live: aiodocker.Docker
        self.architecture = ""
        self._address: str | None = None

    @classmethod
    @contextlib.asynccontextmanager
    async def connect(cls, host: str = "") -> AsyncIterator[Engine]:
        """The engine at `host`, or the one the environment names. Raises SandboxError when none answers."""
        async with cls(host) as engine:
            yield engine

    async def __aenter__(self) -> Engine:
        self._address = address = await asyncio.to_thread(_address, self.host)
        self.docker, self.architecture = await asyncio.to_thread(_connect, self.host)
        try:
            self.live = aiodocker.Docker(url=address, api_version=f"v{self.docker.api.api_version}")
            try:
                async with asyncio.timeout(CONNECT_SECONDS):
                    await self.live.version()
            except BaseException:
                await self.live.close()
                raise
        except (*FAILURES, ImportError, ValueError) as error:
            self.docker.close()
            raise _no_engine(self.host, error) from error
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.docker.close()
        await self.live.close()

    async def answers(self) -> bool:
        """Whether the engine answers whoever comes now; one that shuts down still answers its old connections."""

        def come() -> bool:
            try:
                _address(self.host)
                _connect(self.host)[0].close()
            except SandboxError:
                return False
            return True

        return await asyncio.to_thread(come)

    async def ask(self, call: Callable[..., T], *arguments: Any, **options: Any) -> T:
        """A call of the blocking client, in a thread."""

        def ask() -> T:
            _knock(self._address)
            return call(*arguments, **options)

        return await asyncio.to_thread(ask)

    async def create(self, config: dict[str, Any], name: str) -> str:
        """The id of a new container, not yet started."""
        with engine_errors("creating a container"):
            container = await self.live.containers.create(config, name=name)
        return str(container.id)

    async def start(self, container: str) -> None:
        with engine_errors("starting a container"):
            await self.live.containers.container(container).start()

    async def remove(self, container: str) -> None:
        """Kills and removes, and returns when the container is gone.

        An engine under load gives up on a kill after ten seconds, or says that a removal is on its way: both are asked
        again. Raises SandboxError when the container is still there after that.
        """
        with engine_errors(f"removing {container[:12]}"):
            for wait in REMOVAL_WAITS:
                try:
                    await self.ask(self.docker.api.remove_container, container, v=True, force=True)
                except NotFound:
                    return
                except APIError as error:
                    log.info("Container %s is not removed yet: %s", container[:12], reason(error))
                else:
                    return
                await asyncio.sleep(wait)
            with contextlib.suppress(NotFound):
                await self.ask(self.docker.api.remove_container, container, v=True, force=True)

    async def running(self, container: str) -> bool:
        """Whether the container still runs. Raises SandboxError when the engine does not answer."""
        with engine_errors(f"looking at {container[:12]}"):
            try:
                found = await self.ask(self.docker.containers.get, container)
            except NotFound:
                return False
        return bool(found.attrs["State"]["Running"])

    async def labeled(self) -> list[dict[str, Any]]:
        """All containers of ours, running or not: `{"Id", "Labels", "State", …}`."""
        with engine_errors("listing containers"):
            # Sparse: a container that goes away meanwhile is no error.
            found = await self.ask(
                self.docker.containers.list, all=True, sparse=True, filters={"label": LABEL}
            )
        return [dict(container.attrs) for container in found]


def engine_problem(host: str = "") -> str | None:
    """None when an engine answers both clients, else one sentence that says why not and the mending command."""

    async def ask() -> str | None:
        try:
            async with Engine(host):
                return None
        except SandboxError as error:
            return str(error)

    return asyncio.run(ask())


def _environment(host: str) -> dict[str, str]:
    return {**os.environ, **({"DOCKER_HOST": host} if host else {})}


def _address(host: str) -> str | None:
    """Where `docker` will look, for `aiodocker` to look there, too; None for a context with its own certificates.

    Blocks. Raises SandboxError when it is a local socket and nobody listens there.
    """
    environment = _environment(host)
    try:
        named = environment.get("DOCKER_HOST")
        if not named:
            context = docker.ContextAPI.get_context(environment.get("DOCKER_CONTEXT"))
            if context is None:
                raise DockerException("the Docker context that is chosen here does not exist")
            if context.TLSConfig is not None:
                return None
            named = context.Host
        address = str(docker.utils.parse_host(named)).removeprefix("http+")
        _knock(address)
    except (*FAILURES, ValueError) as error:
        raise _no_engine(host, error) from error
    return address


def _knock(address: str | None) -> None:
    """Raises OSError when nobody listens on a local socket: `docker` would leave its own end open. Blocks."""
    kind, _, path = (address or "").partition("://")
    if kind == "unix":
        with socket.socket(socket.AF_UNIX) as knocking:
            knocking.settimeout(CONNECT_SECONDS)
            knocking.connect(path)


def _connect(host: str) -> tuple[docker.DockerClient, str]:
    """A client whose engine has answered, and the engine's architecture. Blocks. Raises SandboxError."""
    try:
        client = docker.from_env(timeout=CONNECT_SECONDS, environment=_environment(host))
        try:
            architecture = str(client.version().get("Arch", ""))
        except FAILURES:
            client.close()
            raise
    except (*FAILURES, ValueError) as error:
        raise _no_engine(host, error) from error
    client.api.timeout = SILENCE_SECONDS
    return client, architecture


def _no_engine(host: str, error: Exception) -> SandboxError:
    where = host or os.environ.get("DOCKER_HOST") or "this machine"
    return SandboxError(f"No Docker engine answers on {where}: {reason(error)}.", way_out=START)
