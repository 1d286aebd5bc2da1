"""A GGUF file served on loopback as an endpoint like every other (extra `local`: xllamacpp, which bundles llama.cpp).

The server runs in threads of this process, outside Python; leaving the context ends it.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from pipeline.records import ConfigError, ModelError


@contextmanager
def running(
    gguf: Path, *, port: int = 0, context: int = 4096, parallel: int = 2, threads: int | None = None
) -> Iterator[str]:
    """Serve `gguf` for the length of a block; yields the base URL, which ends in /v1. The model is named as the file.

    `port` 0 takes a free one; `context` is in tokens, for each of `parallel` answers at once; `threads` defaults to
    half the processors, since threads that wait for each other crawl on a busy machine.
    Raises ConfigError when the extra is not installed or the file is no GGUF, ModelError when the server does not start.
    """
    library = _library()
    _check(gguf)
    parameters = library.CommonParams()
    parameters.model.path = str(gguf)
    parameters.model_alias = {gguf.stem}
    parameters.port = port
    parameters.n_ctx = context * parallel
    parameters.n_parallel = parallel
    parameters.cpuparams.n_threads = threads or max(1, (os.cpu_count() or 1) // 2)
    parameters.cpuparams_batch.n_threads = threads or max(1, (os.cpu_count() or 1) // 2)
    parameters.use_jinja = True
    parameters.ui = False
    parameters.verbosity = 0
    try:
        server = library.Server(parameters)
    except RuntimeError as error:
        raise ModelError(
            f"The model {gguf.name} cannot be served on port {port}.",
            way_out="Look whether the port is free, the file whole, and its kind known to this xllamacpp.",
        ) from error
    try:
        yield f"{server.listening_address}/v1"
    finally:
        del server


def serve(
    gguf: Path,
    port: int = 8080,
    *,
    context: int = 4096,
    parallel: int = 2,
    threads: int | None = None,
    ready: Callable[[str], None] = print,
    stop: threading.Event | None = None,
) -> None:
    """Serve `gguf` until Ctrl-C, or until `stop` is set; `ready` is told the base URL. Raises as `running` does."""
    stop = stop or threading.Event()
    with running(gguf, port=port, context=context, parallel=parallel, threads=threads) as url:
        ready(url)
        try:
            # Short waits, so that a signal is seen on every platform
            while not stop.wait(0.5):
                pass
        except KeyboardInterrupt:
            stop.set()


def _library() -> Any:
    try:
        return import_module("xllamacpp")
    except ImportError as error:
        raise ConfigError(
            "A local model needs the package xllamacpp.",
            way_out="Install it: pip install 'tracemill[local]'.",
        ) from error


def _check(gguf: Path) -> None:
    try:
        with gguf.open("rb") as file:
            magic = file.read(4)
    except OSError as error:
        raise ConfigError(f"The model {gguf} cannot be read ({error.strerror}).") from error
    if magic != b"GGUF":
        raise ConfigError(f"The file {gguf} is no GGUF model.", way_out="Give the path of a .gguf file.")
