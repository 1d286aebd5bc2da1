"""The worker inside the container: one process, frames on stdin and stdout, standard library only.

Its source is sent to `python3 -I` over the attached stream, so that images need nothing but Python 3.9+. It
imports nothing of ours. A frame is

    header length (4 bytes, big endian) · body length (4) · MAC (16) · header (JSON) · body (bytes)

The MAC is keyed BLAKE2b over the frame's number and content. Code in the container may reach the stream (it can
open the file descriptors of process 1), but not this process's memory, so it can break the stream but not forge
an answer.
"""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import json
import os
import selectors
import shutil
import signal
import stat
import subprocess
import sys
import time
from typing import IO, Any

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

    def __init__(self, key: bytes, source: IO[bytes], sink: IO[bytes]) -> None:
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
        given: int | None = None
        if body:
            given = os.memfd_create("stdin")
            with os.fdopen(os.dup(given), "wb") as file:
                file.write(body)
            os.lseek(given, 0, os.SEEK_SET)
        try:
            os.write(self.score, b"1000")  # children inherit it: the kernel takes them before this process
            process = subprocess.Popen(
                request["argv"],
                cwd=request["cwd"],
                env=dict(os.environ, **request["env"]),
                stdin=subprocess.DEVNULL if given is None else given,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT if request["merge"] else subprocess.PIPE,
                start_new_session=True,
                bufsize=0,
            )
        finally:
            os.write(self.score, b"0")
            if given is not None:
                os.close(given)
        kept = [Kept(request["keep"]), Kept(request["keep"])]
        timed_out = self.watch(process, kept, started + request["timeout"])
        if request["reap"] or timed_out:
            kill_everything()
        code = process.wait()
        (out, out_cut), (err, err_cut) = kept[0].close(), kept[1].close()
        header = {
            "exit": code if code >= 0 else None,
            "signal": -code if code < 0 else None,
            "timed_out": timed_out,
            "oom": oom_kills() > kills,
            "seconds": time.monotonic() - started,
            "out": [len(out), kept[0].half, out_cut],
            "err": [len(err), kept[1].half, err_cut],
        }
        return header, out + err

    def watch(self, process: subprocess.Popen[bytes], kept: list[Kept], deadline: float) -> bool:
        """Drains both streams until the command has ended; True when the deadline came first."""
        ended = os.pidfd_open(process.pid)
        pipes = {process.stdout: kept[0], process.stderr: kept[1]}
        pipes.pop(None, None)  # merged into one
        streams = [stream for stream in pipes if stream]
        running = True
        try:
            with selectors.DefaultSelector() as selector:
                selector.register(ended, selectors.EVENT_READ, "ended")
                selector.register(self.source, selectors.EVENT_READ, "host")
                for stream in streams:
                    selector.register(stream, selectors.EVENT_READ, stream)
                while pipes or running:
                    left = deadline - time.monotonic()
                    if left <= 0:
                        return running
                    for entry, _ in selector.select(left):
                        if entry.data == "ended":
                            running = False
                            selector.unregister(ended)
                            deadline = min(deadline, time.monotonic() + DRAIN_SECONDS)
                        elif entry.data == "host":
                            if not self.source.peek(1):  # type: ignore[attr-defined]
                                os._exit(0)  # the host is gone, and the container goes with this process
                            selector.unregister(self.source)  # a request waits; it is read in its turn
                        else:
                            data = os.read(entry.fd, CHUNK)
                            if data:
                                pipes[entry.data].add(data)
                            else:
                                selector.unregister(entry.data)
                                del pipes[entry.data]
                return False
        finally:
            os.close(ended)
            for stream in streams:
                stream.close()

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
                shutil.rmtree(path)
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
                shutil.rmtree(entry.path)
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


def kill_everything() -> None:
    """Kills every other process of the container at once, also one that left its session or keeps forking."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(-1, signal.SIGKILL)


def main() -> None:
    source, sink = sys.stdin.buffer, sys.stdout.buffer
    key = bytes.fromhex(source.readline().decode().strip())
    Guest(key, source, sink).serve()


if __name__ == "__main__":
    main()
