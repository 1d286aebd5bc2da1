"""Keeps one foreign process tree: starts it with limits, and leaves nothing of it behind.

Run as a script of its own (`python -I -S _keeper.py CONTROL_FD SPEC`), standard library only. The keeper is the
subreaper of everything the command starts, so a child that called `setsid` or whose parent died is still found
below it. It ends the whole tree when the command exits, when the other end of CONTROL_FD closes (the owner is
done, was interrupted, or was killed), or when a limit is reached. SPEC is JSON: `argv`, `memory` (bytes resident
in the whole tree), `seconds` (lifetime), `cpu` (seconds per process), `file_size` (bytes), `grace` (seconds between
SIGTERM and SIGKILL). The environment and the working directory are the keeper's own. It exits with the command's
code, 128 + N after signal N, or one of the codes below.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import resource
import select
import signal
import sys
import time
from typing import Any

OUT_OF_MEMORY = 251
OUT_OF_TIME = 252
NOT_STARTED = 253

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_TICK = 0.25
_PAGE = resource.getpagesize()


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


def _stat(pid: int) -> tuple[int, str]:
    """Parent and state letter of a process; (0, "X") when it is gone."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
    except OSError:
        return 0, "X"
    return int(fields[1]), fields[0].decode()


def descendants(root: int) -> list[int]:
    """All living processes below `root`, which is not among them."""
    children: dict[int, list[int]] = {}
    with contextlib.suppress(OSError):
        for name in os.listdir("/proc"):
            if name.isdigit():
                parent, state = _stat(int(name))
                if state not in "XZ":
                    children.setdefault(parent, []).append(int(name))
    found, queue = [], [root]
    while queue:
        below = children.get(queue.pop(), [])
        found += below
        queue += below
    return found


def _resident(pids: list[int]) -> int:
    total = 0
    for pid in pids:
        with contextlib.suppress(OSError, ValueError, IndexError):
            with open(f"/proc/{pid}/statm", "rb") as file:
                fields = file.read().split()
                total += (int(fields[1]) - int(fields[2])) * _PAGE
    return total


def _kill(pids: list[int], number: int) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def _reap(main: int) -> int | None:
    """Collect all dead children; the exit code of `main` if it is among them."""
    code = None
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return code
        if pid == 0:
            return code
        if pid == main:
            code = os.waitstatus_to_exitcode(status)
            code = 128 - code if code < 0 else code


def _end_tree(main: int, grace: float) -> int | None:
    """SIGTERM, then SIGKILL, until nothing is left below this process."""
    code = None
    started = time.monotonic()
    _kill(descendants(os.getpid()), signal.SIGTERM)
    while True:
        ended = _reap(main)
        code = ended if code is None else code
        left = descendants(os.getpid())
        waited = time.monotonic() - started
        if not left or waited > grace + 10:
            return code
        if waited > grace:
            _kill(left, signal.SIGKILL)
        time.sleep(0.01)


def _start(spec: dict[str, Any], control: int) -> int:
    pid = os.fork()
    if pid:
        return pid
    try:
        os.close(control)
        os.setsid()
        _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        for name, key in (("RLIMIT_CPU", "cpu"), ("RLIMIT_FSIZE", "file_size")):
            if spec.get(key):
                resource.setrlimit(getattr(resource, name), (int(spec[key]), int(spec[key])))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if spec.get("memory"):
            # Private writable memory: reservations (V8, Go) do not count. The sum over the tree is watched below.
            resource.setrlimit(resource.RLIMIT_DATA, (2 * int(spec["memory"]),) * 2)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
        os.execvpe(spec["argv"][0], spec["argv"], os.environ)
    except OSError as error:
        os.write(2, f"{spec['argv'][0]}: {error.strerror}\n".encode())
    finally:
        os._exit(NOT_STARTED)


def _watch(spec: dict[str, Any], control: int, main: int, parent: int, wakeup: int) -> int:
    deadline = time.monotonic() + float(spec.get("seconds") or 1e9)
    while True:
        ready, _, _ = select.select([control, wakeup], [], [], _TICK)
        if wakeup in ready:
            os.read(wakeup, 512)
        code = _reap(main)
        if code is not None:
            return code
        if control in ready or os.getppid() != parent:
            return 128 + signal.SIGTERM
        if time.monotonic() > deadline:
            os.write(2, f"\nended after {spec['seconds']} seconds\n".encode())
            return OUT_OF_TIME
        if spec.get("memory") and _resident(descendants(os.getpid())) > spec["memory"]:
            os.write(2, f"\nended for holding more than {spec['memory'] >> 20} MB\n".encode())
            return OUT_OF_MEMORY


def main() -> int:
    control, spec = int(sys.argv[1]), json.loads(sys.argv[2])
    parent = os.getppid()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    wakeup, write = os.pipe()
    os.set_blocking(write, False)
    signal.set_wakeup_fd(write)
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    pid = _start(spec, control)
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)
    code = _watch(spec, control, pid, parent, wakeup)
    with contextlib.suppress(OSError):
        ended = _end_tree(pid, float(spec.get("grace", 2.0)))
        if code == 128 + signal.SIGTERM and ended is not None:
            code = ended
    return code


if __name__ == "__main__":
    sys.exit(main())
