"""Foreign processes under a keeper: isolated while they run, gone with their whole tree afterwards.

A process sees an empty home, a working and temporary folder below it, and only the variables it is given. The
keeper (`_keeper.py`) ends the tree when it is closed here, and also when this process dies. Only if the keeper
itself is killed can something survive: every process carries a mark that names its owner, and `sweep` ends the ones
whose owner is gone.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import shutil
import signal
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import anyio

from pipeline.worlds import _keeper

MARK = "TRACEMILL_OWNER"
_SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_HOME = re.compile(r"tracemill-home-(\d+\.\d+)-")
_TAIL = 4096
_CHUNK = 1 << 16


@dataclass(frozen=True)
class ProcessLimits:
    """What one foreign process tree may use."""

    memory: int = 1 << 30
    """Bytes resident in the whole tree."""
    seconds: float = 120.0
    """Lifetime."""
    cpu: int = 120
    """Seconds of one process."""
    file_size: int = 1 << 30
    """Bytes of one file."""
    grace: float = 2.0
    """Seconds between closing stdin, SIGTERM and SIGKILL."""


@dataclass
class Process:
    """A running command with pipes. `stderr_tail` keeps the last 4 kB; everything before is dropped."""

    stdin: asyncio.StreamWriter
    stdout: asyncio.StreamReader
    home: Path
    _process: asyncio.subprocess.Process
    _control: int
    _grace: float
    _stderr: bytearray = field(default_factory=bytearray)
    _drain: asyncio.Task[None] | None = None

    @property
    def pid(self) -> int:
        """The keeper's process id; the tree lies below it."""
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        """None while anything of the tree may run."""
        return self._process.returncode

    @property
    def stderr_tail(self) -> str:
        return self._stderr.decode("utf-8", "replace").strip()

    async def wait(self, seconds: float) -> int | None:
        """The exit code, once the whole tree is gone; None if that takes longer."""
        with anyio.move_on_after(seconds):
            # Not process.wait(): that also waits for pipes which a survivor may hold.
            while self._process.returncode is None:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        return self._process.returncode

    async def close(self) -> None:
        """Ends the tree: end of input, then SIGTERM, then SIGKILL. Safe to call twice and under cancellation."""
        with anyio.CancelScope(shield=True):
            self.stdin.close()
            await self.wait(self._grace)
            if self._control >= 0:
                os.close(self._control)
                self._control = -1
            if await self.wait(self._grace + 12) is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(self._process.pid, signal.SIGKILL)
            if self._drain is not None:
                await asyncio.wait([self._drain], timeout=1)
                self._drain.cancel()
            _close_transport(self._process)
            await asyncio.to_thread(shutil.rmtree, self.home, ignore_errors=True)

    async def drain_stderr(self) -> None:
        stream = self._process.stderr
        assert stream is not None
        while chunk := await stream.read(_CHUNK):
            self._stderr += chunk
            del self._stderr[:-_TAIL]


def _close_transport(process: asyncio.subprocess.Process) -> None:
    transport = getattr(process, "_transport", None)
    if transport is not None:
        transport.close()


def _owner() -> str:
    return f"{os.getpid()}.{_start_time(os.getpid())}"


def _start_time(pid: int) -> str:
    """Clock ticks since boot when the process began: with the id it names one process for good; "" when gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] in (b"Z", b"X") else fields[19].decode()


def _alive(owner: str) -> bool:
    pid, _, started = owner.partition(".")
    return pid.isdigit() and bool(started) and _start_time(int(pid)) == started


def isolated_environment(home: Path, extra: Mapping[str, str], path: Sequence[str] = ()) -> dict[str, str]:
    """The variables of a foreign process: nothing of ours, but what `extra` says."""
    folders = {name: str(home / name.lower()) for name in ("TMPDIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME")}
    for folder in folders.values():
        Path(folder).mkdir(parents=True, exist_ok=True)
    return {
        "PATH": os.pathsep.join([*path, _SYSTEM_PATH]),
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "PYTHONUNBUFFERED": "1",
        "NO_COLOR": "1",
        **folders,
        **extra,
        MARK: _owner(),
    }


@asynccontextmanager
async def run_isolated(
    argv: Sequence[str],
    *,
    env: Mapping[str, str] | None = None,
    path: Sequence[str] = (),
    limits: ProcessLimits | None = None,
    cwd: Path | None = None,
) -> AsyncIterator[Process]:
    """A command under a keeper; when the block is left, its whole tree is gone.

    `env` is added to the isolated environment, `path` stands before the system's folders in PATH, `cwd` is an
    empty home unless given. A command that cannot be started ends with exit code `_keeper.NOT_STARTED`.
    """
    limits = limits or ProcessLimits()
    home = Path(tempfile.mkdtemp(prefix=f"tracemill-home-{_owner()}-"))
    control_read, control_write = os.pipe()
    spec = {
        "argv": list(argv),
        "memory": limits.memory,
        "seconds": limits.seconds,
        "cpu": limits.cpu,
        "file_size": limits.file_size,
        "grace": limits.grace,
    }
    try:
        child = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-I", "-S", str(Path(_keeper.__file__)), str(control_read), json.dumps(spec)),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=isolated_environment(home, env or {}, path),
            cwd=cwd or home,
            pass_fds=(control_read,),
            start_new_session=True,
        )
    except BaseException:
        os.close(control_write)
        shutil.rmtree(home, ignore_errors=True)
        raise
    finally:
        os.close(control_read)
    assert child.stdin is not None
    assert child.stdout is not None
    process = Process(child.stdin, child.stdout, home, child, control_write, limits.grace)
    process._drain = asyncio.create_task(process.drain_stderr())
    try:
        yield process
    finally:
        await process.close()


def sweep() -> int:
    """End what runs of earlier, killed owners left behind, and remove their folders; the number of processes."""
    ended = 0
    mark = f"{MARK}=".encode()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            variables = (folder / "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        owner = next((item[len(mark) :].decode() for item in variables if item.startswith(mark)), None)
        if owner is not None and not _alive(owner):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(int(folder.name), signal.SIGKILL)
                ended += 1
    for left in Path(tempfile.gettempdir()).glob("tracemill-home-*"):
        named = _HOME.match(left.name)
        if named and not _alive(named[1]):
            shutil.rmtree(left, ignore_errors=True)
    return ended
