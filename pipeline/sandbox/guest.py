"""The worker inside the container: one process, frames on stdin and stdout, standard library only.

Its source is sent to `python3 -I` over the attached stream, so that images need nothing but Python 3.9+. It
imports nothing of ours. A frame is

    header length (4 bytes, big endian) · body length (4) · MAC (16) · header (JSON) · body (bytes)

The MAC is keyed BLAKE2b over the frame's number and content. Code in the container may reach the stream (it can
open the file descriptors of process 1), but not this process's memory, so it can break the stream but not forge
an answer.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
import select
import signal
import stat
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:  # every import costs each container some milliseconds
    from typing import Any, BinaryIO

SKIPPED = {".git", "__pycache__", ".pytest_cache", ".hg"}
DRAIN_SECONDS = 0.3
"""How long output is still read after the command itself has ended (a child may hold the pipe)."""
CHUNK = 1 << 16


class BrokenFrame(Exception):
    """The stream carries something that is no frame of the other side."""


def frame(key: bytes, number: int, header: dict[str, Any], body: bytes = b"") -> bytes:
    """One frame, ready to be sent."""
    text = json.dumps(header).encode()
    return (
        len(text).to_bytes(4, "big")
        + len(body).to_bytes(4, "big")
        + _mac(key, number, text, body)
        + text
        + body
    )


def open_frame(key: bytes, number: int, mac: bytes, text: bytes, body: bytes) -> dict[str, Any]:
    """The header of a received frame. Raises BrokenFrame when the MAC does not fit."""
    if mac != _mac(key, number, text, body):
        raise BrokenFrame("a frame was not written by the other side")
    header = json.loads(text)
    assert isinstance(header, dict)
    return header


def _mac(key: bytes, number: int, text: bytes, body: bytes) -> bytes:
    digest = hashlib.blake2b(b"%d:%d:" % (number, len(text)), key=key, digest_size=16)
    digest.update(text)
    digest.update(body)
    return digest.digest()


class Kept:
    """Head and tail of a stream, in bounded memory."""

    def __init__(self, limit: int) -> None:
        self.half = max(limit // 2, 1)
        self.head = bytearray()
        self.tail = bytearray()
        self.seen = 0

    def add(self, data: bytes) -> None:
        self.seen += len(data)
        room = self.half - len(self.head)
        if room > 0:
            self.head += data[:room]
            data = data[room:]
        self.tail += data
        if len(self.tail) > self.half + CHUNK:
            del self.tail[: len(self.tail) - self.half]

    def close(self) -> tuple[bytes, int]:
        """The kept bytes, and how many are missing after the head."""
        del self.tail[: max(0, len(self.tail) - self.half)]
        return bytes(self.head + self.tail), self.seen - len(self.head) - len(self.tail)


def oom_kills() -> int:
    """How many processes of this container the kernel has killed for memory (cgroup v1 or v2)."""
    for path in ("/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control"):
        try:
            with open(path) as lines:
                for line in lines:
                    if line.startswith("oom_kill "):
                        return int(line.split()[1])
        except OSError:
            continue
    return 0


class Guest:
    """Answers requests until stdin ends; then everything in the container ends with it."""

    def __init__(self, key: bytes, source: BinaryIO, sink: BinaryIO) -> None:
        self.key = key
        self.source = source
        self.sink = sink
        self.number = 0
        self.base: dict[str, tuple[str, int]] = {}
        # Opened while this process is still dumpable; afterwards its /proc entries belong to root.
        self.score = os.open("/proc/self/oom_score_adj", os.O_WRONLY)
        ctypes.CDLL(None).prctl(
            4, 0, 0, 0, 0
        )  # PR_SET_DUMPABLE: no ptrace, no /proc/PID/mem by the same user

    def serve(self) -> None:
        while True:
            prefix = self.source.read(24)
            if len(prefix) < 24:
                return
            size, length = int.from_bytes(prefix[:4], "big"), int.from_bytes(prefix[4:8], "big")
            text, body = self.source.read(size), self.source.read(length)
            request = open_frame(self.key, self.number, prefix[8:], text, body)
            try:
                header, answer = getattr(self, "do_" + request["op"])(request, body)
            except Exception as error:  # noqa: BLE001 - whatever happens here is told to the host, which decides
                header, answer = {"error": type(error).__name__, "message": str(error)}, b""
            self.sink.write(frame(self.key, self.number, header, answer))
            self.sink.flush()
            self.number += 1

    def do_ping(self, request: dict[str, Any], body: bytes) -> tuple[dict[str, Any], bytes]:
        return {"python": sys.version.split()[0], "uid": os.getuid()}, b""

    # -- commands ------------------------------------------------------------------------------------------------

    def do_run(self, request: dict[str, Any], body: bytes) -> tuple[dict[str, Any], bytes]:
        """Runs `argv`; `body` is its stdin. With `reap`, no process survives the call."""
        kills, started = oom_kills(), time.monotonic()
        out, err = os.pipe(), os.pipe()
        given = os.memfd_create("stdin") if body else os.open(os.devnull, os.O_RDONLY)
        try:
            if body:
                with open(given, "wb", closefd=False) as file:
                    file.write(body)
                os.lseek(given, 0, os.SEEK_SET)
            os.write(self.score, b"1000")  # children inherit it: the kernel takes them before this process
            pid = spawn(request, given, out[1], out[1] if request["merge"] else err[1])
        except OSError:
            os.close(out[0])
            os.close(err[0])
            raise
        finally:
            os.write(self.score, b"0")
            for end in (given, out[1], err[1]):
                os.close(end)
        kept = {out[0]: Kept(request["keep"]), err[0]: Kept(request["keep"])}
        timed_out = self.watch(pid, kept, started + request["timeout"])
        if request["reap"] or timed_out:
            kill_everything()
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        data, cuts = zip(*(keep.close() for keep in kept.values()))  # noqa: B905 - Python 3.9 knows no `strict`
        header = {
            "exit": code if code >= 0 else None,
            "signal": -code if code < 0 else None,
            "timed_out": timed_out,
            "oom": oom_kills() > kills,
            "seconds": time.monotonic() - started,
            "half": kept[out[0]].half,
            "out": [len(data[0]), cuts[0]],
            "err": [len(data[1]), cuts[1]],
        }
        return header, b"".join(data)

    def watch(self, pid: int, kept: dict[int, Kept], deadline: float) -> bool:
        """Drains both pipes until the command has ended; True when the deadline came first."""
        ended, host, pipes, running = os.pidfd_open(pid), self.source.fileno(), set(kept), True
        poll = select.poll()
        for fd in (ended, host, *pipes):
            poll.register(fd, select.POLLIN)
        try:
            while pipes or running:
                left = deadline - time.monotonic()
                if left <= 0:
                    return running
                for fd, _ in poll.poll(left * 1000):
                    if fd in pipes:
                        if data := os.read(fd, CHUNK):
                            kept[fd].add(data)
                        else:
                            poll.unregister(fd)
                            pipes.remove(fd)
                    elif fd == ended:
                        running = False
                        poll.unregister(ended)
                        deadline = min(deadline, time.monotonic() + DRAIN_SECONDS)
                    elif self.source.peek(1):  # type: ignore[attr-defined]
                        poll.unregister(host)  # a request waits; it is read in its turn
                    else:
                        os._exit(0)  # the host is gone, and the container goes with this process
            return False
        finally:
            for fd in (ended, *kept):
                os.close(fd)

    def do_reap(self, request: dict[str, Any], body: bytes) -> tuple[dict[str, Any], bytes]:
        kill_everything()
        return {}, b""

    # -- files ---------------------------------------------------------------------------------------------------

    def do_put(self, request: dict[str, Any], body: bytes) -> tuple[dict[str, Any], bytes]:
        """Writes `files`: [path, size or None (delete), mode]; parents are made, a link is replaced, not followed."""
        at = 0
        for path, size, mode in request["files"]:
            if os.path.islink(path) or os.path.isfile(path):
                os.unlink(path)
            elif size is None and os.path.isdir(path):
                remove_tree(path)
            if size is None:
                continue
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "xb") as file:
                file.write(body[at : at + size])
            os.chmod(path, mode)
            at += size
        return {}, b""

    def do_get(self, request: dict[str, Any], body: bytes) -> tuple[dict[str, Any], bytes]:
        with open(request["path"], "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise ValueError("not a regular file")
            file.seek(request["offset"])
            return {"size": status.st_size, "mode": status.st_mode & 0o777}, file.read(request["limit"])

    def do_list(self, request: dict[str, Any], body: bytes) -> tuple[dict[str, Any], bytes]:
        """Entries below `path` down to `depth`, sorted: [relative path, kind, size]; at most `limit`."""
        found: list[list[Any]] = []
        root = request["path"]
        if not os.path.isdir(root):
            raise NotADirectoryError(root)
        for folder, folders, files in os.walk(root):
            inner = os.path.relpath(folder, root)
            level = 0 if inner == "." else inner.count("/") + 1
            folders[:] = sorted(name for name in folders if name not in SKIPPED)
            for name in [*folders, *sorted(files)]:
                path = os.path.join(folder, name)
                kind = "link" if os.path.islink(path) else "folder" if os.path.isdir(path) else "file"
                found.append([os.path.relpath(path, root), kind, os.lstat(path).st_size])
            if level + 1 >= request["depth"]:
                folders.clear()
            if len(found) > request["limit"]:
                break
        found.sort()
        return {"entries": found[: request["limit"]], "more": len(found) > request["limit"]}, b""

    def do_mark(self, request: dict[str, Any], body: bytes) -> tuple[dict[str, Any], bytes]:
        """Remembers the files below `path` as they are now; `diff` compares with them."""
        self.base = tree(request["path"])
        return {"files": len(self.base)}, b""

    def do_changed(self, request: dict[str, Any], body: bytes) -> tuple[dict[str, Any], bytes]:
        now = tree(request["path"])
        return {
            "paths": sorted(path for path in {*now, *self.base} if now.get(path) != self.base.get(path))
        }, b""

    def do_clear(self, request: dict[str, Any], body: bytes) -> tuple[dict[str, Any], bytes]:
        kill_everything()
        for entry in os.scandir(request["path"]):
            if entry.is_dir(follow_symlinks=False):
                remove_tree(entry.path)
            else:
                os.unlink(entry.path)
        return {}, b""

    def do_diff(self, request: dict[str, Any], body: bytes) -> tuple[dict[str, Any], bytes]:
        """What changed since `mark`: [path, size or None, mode, kind]; contents follow in order."""
        now, parts, changed, total = tree(request["path"]), [], [], 0
        for path in sorted(set(now) | set(self.base)):
            if now.get(path) == self.base.get(path):
                continue
            if path not in now:
                changed.append([path, None, 0, "gone"])
                continue
            digest, mode = now[path]
            if digest.startswith("link:"):
                changed.append([path, 0, 0, digest])
                continue
            with open(os.path.join(request["path"], path), "rb") as file:
                data = file.read(request["limit"] - total + 1)
            total += len(data)
            if total > request["limit"]:
                raise OverflowError(f"the changed files are larger than {request['limit']} bytes")
            parts.append(data)
            changed.append([path, len(data), mode, "file"])
        return {"changed": changed}, b"".join(parts)


def tree(root: str) -> dict[str, tuple[str, int]]:
    """Path (relative) to (digest, permission bits); a link's digest is `link:` and its target."""
    found: dict[str, tuple[str, int]] = {}
    for folder, folders, files in os.walk(root):
        links = [name for name in folders if os.path.islink(os.path.join(folder, name))]
        folders[:] = [name for name in folders if name not in SKIPPED and name not in links]
        for name in [*files, *links]:
            path = os.path.join(folder, name)
            key = os.path.relpath(path, root)
            status = os.lstat(path)
            if stat.S_ISLNK(status.st_mode):
                found[key] = ("link:" + os.readlink(path), 0)
            elif stat.S_ISREG(status.st_mode):
                found[key] = (digest_of(path), status.st_mode & 0o777)
    return found


def digest_of(path: str) -> str:
    digest = hashlib.blake2b(digest_size=16)
    try:
        with open(path, "rb") as file:
            for chunk in iter(lambda: file.read(1 << 20), b""):
                digest.update(chunk)
    except OSError as error:
        return "unreadable:" + type(error).__name__
    return digest.hexdigest()


def spawn(request: dict[str, Any], given: int, out: int, err: int) -> int:
    """Starts a command in a session of its own, with its three streams, and returns its process id."""
    pid = os.fork()
    if pid:
        return pid
    try:
        os.setsid()
        os.dup2(given, 0)
        os.dup2(out, 1)
        os.dup2(err, 2)
        for ignored in (
            signal.SIGPIPE,
            signal.SIGXFSZ,
        ):  # as Python sets them; a command expects the defaults
            signal.signal(ignored, signal.SIG_DFL)
        os.chdir(request["cwd"])
        os.execvpe(request["argv"][0], request["argv"], dict(os.environ, **request["env"]))
    except OSError as error:
        os.write(2, f"{request['argv'][0]}: {error.strerror}\n".encode())
    finally:
        os._exit(127)


def remove_tree(path: str) -> None:
    for folder, folders, files in os.walk(path, topdown=False):
        for name in [*files, *folders]:
            inner = os.path.join(folder, name)
            if os.path.isdir(inner) and not os.path.islink(inner):
                os.rmdir(inner)
            else:
                os.unlink(inner)
    os.rmdir(path)


def kill_everything() -> None:
    """Kills every other process of the container at once, also one that left its session or keeps forking."""
    try:  # noqa: SIM105 - contextlib is one import more
        os.kill(-1, signal.SIGKILL)
    except ProcessLookupError:
        pass


def main() -> None:
    source, sink = sys.stdin.buffer, sys.stdout.buffer
    key = bytes.fromhex(source.readline().decode().strip())
    Guest(key, source, sink).serve()


if __name__ == "__main__":
    main()
