"""Foreign processes in a container: the sandbox image, without network, with the programs of this machine.

The container has its own file system, processes and limits, no capability and no network. The programs of `/usr` and
the folders of the server are mounted read-only at their own places, since an environment made here runs only against the libraries
it was made with; nothing else of this machine can be seen. The client runs under a keeper like any foreign
process; the container itself is removed by name, and by `pipeline.sandbox.sweep` if this process is killed.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from uuid import uuid4

import anyio

from pipeline.records import SandboxError
from pipeline.sandbox.container import box_labels
from pipeline.sandbox.engine import Engine
from pipeline.worlds.server_process import Process, ProcessLimits, run_isolated

_HOME = "/home/user"
# Not /usr/sbin: the engine puts its init there.
_PROGRAMS = [
    path for name in ("bin", "lib", "lib64", "local", "share") if (path := Path("/usr", name)).is_dir()
]
_HARDENING = (
    *(
        "--read-only",
        "--cap-drop",
        "ALL",
        "--security-opt",
        "no-new-privileges",
        "--init",
        "--log-driver",
        "none",
    ),
    *("--tmpfs", "/tmp:size=256m,exec", "--pids-limit", "256", "--workdir", _HOME),
)


@asynccontextmanager
async def run_contained(
    argv: Sequence[str],
    engine: Engine,
    image: str,
    *,
    env: Mapping[str, str] | None = None,
    path: Sequence[str] = (),
    folders: Sequence[Path] = (),
    limits: ProcessLimits | None = None,
    network: str = "none",
) -> AsyncIterator[Process]:
    """Like `run_isolated`, in a container of `image`; `folders` are what the program needs besides `/usr`.

    Raises SandboxError when there is no `docker` client, or the container cannot be removed.
    """
    client = shutil.which("docker")
    if client is None:
        raise SandboxError(
            "There is no docker client on PATH.", way_out="Install one, or isolate by process."
        )
    limits = limits or ProcessLimits()
    name = f"tracemill-server-{uuid4().hex[:12]}"
    inside = {
        "HOME": _HOME,
        "LANG": "C.UTF-8",
        "PYTHONUNBUFFERED": "1",
        "PATH": os.pathsep.join([*path, "/usr/local/bin", "/usr/bin", "/bin"]),
        **(env or {}),
    }
    command = [client, "run", "--rm", "-i", "--name", name, "--network", network, *_HARDENING]
    command += ["--user", f"{os.getuid()}:{os.getgid()}"]
    command += ["--tmpfs", f"{_HOME}:size=256m,exec,uid={os.getuid()},gid={os.getgid()}"]
    command += ["--memory", str(limits.memory), "--memory-swap", str(limits.memory)]
    for key, value in box_labels("tools", limits.seconds + 60).items():
        command += ["--label", f"{key}={value}"]
    for folder in dict.fromkeys([*_PROGRAMS, *_interpreter(), *folders]):
        command += ["--volume", f"{folder}:{folder}:ro"]
    for key in inside:
        # By name only: the values are the client's, and stand in no command line.
        command += ["--env", key]
    client_env = {key: value for key, value in os.environ.items() if key.startswith("DOCKER_")}
    try:
        async with run_isolated(
            [*command, image, *argv],
            env={**client_env, **inside, "PATH": os.environ.get("PATH", "")},
            limits=ProcessLimits(seconds=limits.seconds, grace=limits.grace),
        ) as process:
            yield process
    finally:
        with anyio.CancelScope(shield=True):
            await engine.remove(name)


def _interpreter() -> list[Path]:
    """Where environments find their Python, if that is not below /usr; with pyenv, all versions of it."""
    prefix = Path(sys.base_prefix)
    if prefix.is_relative_to("/usr"):
        return []
    return [prefix.parent if prefix.parent.name == "versions" else prefix]
