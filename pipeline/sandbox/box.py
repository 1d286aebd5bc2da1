"""One container, hardened, with a worker in it that is spoken to over an attached stream."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import shlex
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from types import TracebackType
from typing import Any

from aiodocker.stream import Stream
from yarl import URL

from pipeline.config.sandbox import SandboxSection
from pipeline.records.errors import SandboxError
from pipeline.sandbox import guest
from pipeline.sandbox.container import WORK, box_labels, container_config
from pipeline.sandbox.engine import Engine, engine_errors

MAX_FRAME = 64 << 20
"""No answer of the worker is larger; what claims to be is not the worker's."""
MAX_DIFF = 16 << 20


class BoxEnded(Exception):
    """The container ended, or its stream was broken, by what ran in it. Not the engine's fault."""


class GuestError(Exception):
    """The worker refused or failed a request (a missing file, say). `kind` is Python's exception name."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


@dataclass(frozen=True, slots=True)
class File:
    """A file's content and whether it can be executed."""

    data: bytes
    executable: bool = False


@dataclass(frozen=True, slots=True)
class Link:
    """A changed path that is a symbolic link. It is told, never followed and never carried."""

    target: str


@dataclass(frozen=True, slots=True)
class Output:
    """What a stream said: head and tail, and how many bytes between them were not kept."""

    head: bytes = b""
    tail: bytes = b""
    cut: int = 0

    @property
    def text(self) -> str:
        """Decoded once, invalid bytes replaced; a marker stands where something was cut."""
        marker = f"\n[… {self.cut} bytes cut …]\n".encode() if self.cut else b""
        return (self.head + marker + self.tail).decode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class ExecResult:
    """How a command ended. `exit_code` is None when a signal, the deadline or the container's end came first."""

    exit_code: int | None
    stdout: Output = field(default_factory=Output)
    stderr: Output = field(default_factory=Output)
    signal: int | None = None
    timed_out: bool = False
    oom: bool = False
    ended: bool = False
    """The container itself is gone: the command killed the worker, broke the stream or ignored its deadline."""
    seconds: float = 0.0

    @property
    def ok(self) -> bool:
        return self.exit_code == 0 and not self.timed_out


class Sandbox:
    """One container. `async with Sandbox(engine, image) as box`.

    Requests are answered one at a time. After `BoxEnded`, or a `run` whose result says `ended`, the box is of no
    further use.
    """

    def __init__(
        self,
        engine: Engine,
        image: str,
        limits: SandboxSection | None = None,
        *,
        run: str = "",
        pool: str = "",
    ) -> None:
        self.engine = engine
        self.image = image
        self.limits = limits or SandboxSection()
        self.container = ""
        self._run = run
        self._pool = pool
        self._key = secrets.token_bytes(32)
        self._number = 0
        self._buffer = bytearray()
        self._stream: Stream | None = None
        self._lock = asyncio.Lock()
        self._broken = False

    async def __aenter__(self) -> Sandbox:
        try:
            await self.open()
        except BaseException:
            with contextlib.suppress(SandboxError):  # the first error says more; the sweep finds what is left
                await asyncio.shield(asyncio.ensure_future(self.close()))
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.shield(asyncio.ensure_future(self.close()))

    async def open(self) -> None:
        """Creates and starts the container and its worker. Raises SandboxError."""
        labels = box_labels(self._run, self.limits.lifetime, self._pool)
        name = f"tracemill-{secrets.token_hex(6)}"
        # Under its name the container can be removed even when the answer to `create` is lost.
        self.container = name
        self.container = await self.engine.create(container_config(self.image, self.limits, labels), name)

        async def where() -> tuple[URL, bytes | None, bool]:
            query = {"stream": "1", "stdin": "1", "stdout": "1", "stderr": "1", "logs": "0"}
            return URL(f"containers/{self.container}/attach").with_query(query), None, False

        self._stream = Stream(self.engine.live, where)
        with engine_errors("attaching to a container"):
            await self._stream._init()
        await self.engine.start(self.container)
        code = Path(guest.__file__).read_bytes()
        with engine_errors("starting the worker in a container"):
            await self._stream.write_in(b"%d\n%s%s\n" % (len(code), code, self._key.hex().encode()))
        try:
            async with asyncio.timeout(60):
                await self._request({"op": "ping"})
        except (BoxEnded, GuestError, TimeoutError) as error:
            raise SandboxError(
                f"The worker does not start in image {self.image}: {error or 'no answer in 60 seconds'}.",
                way_out="The image needs python3 3.9 or newer; build it with `tracemill sandbox build`.",
            ) from error

    async def close(self) -> None:
        """Destroys the container with everything in it. May be called twice."""
        container, self.container = self.container, ""
        self._broken = True
        if self._stream is not None:
            stream, self._stream = self._stream, None
            with contextlib.suppress(OSError, AssertionError):
                await stream.close()
        if container:
            await self.engine.remove(container)

    # -- the stream ----------------------------------------------------------------------------------------------

    async def _request(self, header: dict[str, Any], body: bytes = b"") -> tuple[dict[str, Any], bytes]:
        async with self._lock:
            if self._broken or self._stream is None:
                raise BoxEnded("the container is gone")
            done = False
            try:
                await self._write(guest.frame(self._key, self._number, header, body))
                answer = await self._answer()
                done = True
            finally:
                self._broken = self._broken or not done  # half a dialogue cannot be taken up again
        if "error" in answer[0]:
            raise GuestError(answer[0]["error"], answer[0]["message"])
        return answer

    async def _write(self, data: bytes) -> None:
        assert self._stream is not None
        try:
            for at in range(0, len(data), 1 << 20):
                await self._stream.write_in(data[at : at + (1 << 20)])
        except (OSError, RuntimeError, AssertionError) as error:
            await self._ended(error)

    async def _answer(self) -> tuple[dict[str, Any], bytes]:
        prefix = await self._take(24)
        size, length = int.from_bytes(prefix[:4], "big"), int.from_bytes(prefix[4:8], "big")
        if size + length > MAX_FRAME:
            raise BoxEnded("the stream of the worker was broken by what ran in the container")
        content = await self._take(size + length)
        text, body = content[:size], content[size:]
        try:
            header = guest.open_frame(self._key, self._number, prefix[8:], text, body)
        except guest.BrokenFrame as error:
            raise BoxEnded("the stream of the worker was broken by what ran in the container") from error
        self._number += 1
        return header, body

    async def _take(self, size: int) -> bytes:
        assert self._stream is not None
        while len(self._buffer) < size:
            try:
                message = await self._stream.read_out()
            except (OSError, RuntimeError, AssertionError) as error:
                await self._ended(error)
            if message is None:
                await self._ended(None)
            elif message.stream == 1:
                self._buffer += message.data
        data = bytes(self._buffer[:size])
        del self._buffer[:size]
        return data

    async def _ended(self, error: Exception | None) -> None:
        """Says whose fault a lost stream is: the engine must answer and know the container as ended."""
        for _ in range(20):
            if not await self.engine.running(self.container):
                raise BoxEnded("the container ended") from error
            await asyncio.sleep(0.05)
        raise SandboxError("The connection to a running container was lost.") from error

    # -- what can be asked ---------------------------------------------------------------------------------------

    async def run(
        self,
        command: str | Sequence[str],
        *,
        timeout: float = 60.0,  # noqa: ASYNC109 - enforced inside the container first
        cwd: str = WORK,
        env: Mapping[str, str] | None = None,
        stdin: bytes = b"",
        merge: bool = False,
        reap: bool = False,
        keep: int = 0,
    ) -> ExecResult:
        """Runs `command` (a text: by bash) for at most `timeout` seconds; with `reap` nothing it started survives.

        `keep`: bytes kept of each stream, instead of `limits.output_kb`.

        The deadline holds inside the container; `limits.grace` seconds later the container is destroyed. Raises
        SandboxError when the engine failed.
        """
        argv = ["bash", "-c", command] if isinstance(command, str) else list(command)
        request = {
            "op": "run",
            "argv": argv,
            "cwd": cwd,
            "env": dict(env or {}),
            "timeout": timeout,
            "keep": keep or self.limits.output_kb << 10,
            "merge": merge,
            "reap": reap,
        }
        started = time.monotonic()
        try:
            async with asyncio.timeout(timeout + self.limits.grace):
                header, body = await self._request(request, stdin)
        except TimeoutError:
            await self.close()
            return ExecResult(None, timed_out=True, ended=True, seconds=time.monotonic() - started)
        except BoxEnded as error:
            note = Output(head=f"[{error}]".encode())
            await self.close()
            return ExecResult(None, stderr=note, ended=True, seconds=time.monotonic() - started)
        except GuestError as error:
            # The command could not be started at all: a missing program, or no process left to start it.
            note = Output(head=f"{shlex.join(argv[:1])}: {error}\n".encode())
            return ExecResult(127, stderr=note, seconds=time.monotonic() - started)
        (size, cut), (_, err_cut), half = header["out"], header["err"], header["half"]
        return ExecResult(
            exit_code=header["exit"],
            stdout=_output(body[:size], half, cut),
            stderr=_output(body[size:], half, err_cut),
            signal=header["signal"],
            timed_out=header["timed_out"],
            oom=header["oom"],
            seconds=header["seconds"],
        )

    async def reap(self) -> None:
        """Kills everything in the container but its worker."""
        await self._request({"op": "reap"})

    async def write(self, files: Mapping[str, File | bytes | None], *, root: str = WORK) -> None:
        """Writes files (path relative to `root`, or absolute) byte for byte; None deletes. Raises GuestError."""
        entries, parts = [], []
        for path, file in files.items():
            if isinstance(file, bytes):
                file = File(file)
            if file is not None:
                parts.append(file.data)
            mode = 0o755 if file and file.executable else 0o644
            entries.append([str(PurePosixPath(root, path)), None if file is None else len(file.data), mode])
        await self._request({"op": "put", "files": entries}, b"".join(parts))

    async def read(self, path: str, *, offset: int = 0, limit: int = 16 << 20) -> bytes:
        """The bytes of a file, at most `limit`. Raises GuestError (`kind` FileNotFoundError, …)."""
        request = {"op": "get", "path": str(PurePosixPath(WORK, path)), "offset": offset, "limit": limit}
        return (await self._request(request))[1]

    async def entries(
        self, path: str = ".", *, depth: int = 3, limit: int = 1000
    ) -> tuple[list[tuple[str, str, int]], bool]:
        """Entries (path, file | folder | link, size) below `path`, and whether there are more."""
        request = {"op": "list", "path": str(PurePosixPath(WORK, path)), "depth": depth, "limit": limit}
        header, _ = await self._request(request)
        return [tuple(entry) for entry in header["entries"]], header["more"]

    async def mark(self) -> None:
        """Remembers the work area as it is now."""
        await self._request({"op": "mark", "path": WORK})

    async def changed(self) -> list[str]:
        """The paths of the work area that changed since `mark`."""
        header, _ = await self._request({"op": "changed", "path": WORK})
        return [str(path) for path in header["paths"]]

    async def clear(self) -> None:
        """Kills whatever runs and empties the work area."""
        await self._request({"op": "clear", "path": WORK})

    async def diff(self) -> dict[str, File | Link | None]:
        """What changed in the work area since `mark`; None is a deleted file.

        Raises GuestError (`OverflowError`) beyond 16 MB.
        """
        header, body = await self._request({"op": "diff", "path": WORK, "limit": MAX_DIFF})
        changed: dict[str, File | Link | None] = {}
        at = 0
        for path, size, mode, kind in header["changed"]:
            if size is None:
                changed[path] = None
            elif kind != "file":
                changed[path] = Link(kind.removeprefix("link:"))
            else:
                changed[path] = File(body[at : at + size], bool(mode & 0o100))
                at += size
        return changed


def _output(data: bytes, half: int, cut: int) -> Output:
    return Output(data[:half], data[half:], cut)
