"""Writing so that a file stands whole or not at all, and saying so when the disk is full."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pipeline.records import RunError

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


@contextmanager
def told_when_full(path: Path) -> Iterator[None]:
    """Turns an out-of-space error of the operating system into a RunError that names `path`."""
    try:
        yield
    except OSError as error:
        if error.errno in _FULL:
            raise RunError(
                f"The disk is full: {path} could not be written ({os.strerror(error.errno or 0)}).",
                way_out="Nothing was left half-written; free some space and resume.",
            ) from error
        raise


def sync_file(path: Path) -> None:
    """Forces a file, or the entries of a folder, to the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_atomically(path: Path, data: bytes) -> None:
    """Replaces `path` by `data`: temporary name beside it, sync, rename, sync of the folder.

    Raises RunError when the disk is full; the old content then stands.
    """
    handle, name = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
    temporary = Path(name)
    try:
        with told_when_full(path):
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.chmod(temporary, 0o644)
            os.replace(temporary, path)
            sync_file(path.parent)
    finally:
        temporary.unlink(missing_ok=True)
