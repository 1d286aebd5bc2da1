"""Prefect's temporary server, for runs without one of the user's: one for the run and all its workers."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import flows.settings  # noqa: F401  # isort: skip  (before Prefect)
from prefect.context import FlowRunContext
from prefect.server.api.server import SubprocessASGIServer
from prefect.settings import PREFECT_API_URL, get_current_settings, temporary_settings

_LAUNCH = """
import ctypes, os, signal, sys
if sys.platform == "linux":
    ctypes.CDLL(None).prctl(1, signal.SIGTERM)
if os.getppid() == int(sys.argv.pop(1)):
    from uvicorn.main import main
    main()
"""
"""The server, which on Linux ends with the process that started it, even when that is killed."""


class _Server(SubprocessASGIServer):
    """In a session of its own: a Ctrl-C at the terminal is for the run to decide upon, which still needs the server."""

    def _run_uvicorn_command(self) -> subprocess.Popen[Any]:
        arguments = ["--factory", "prefect.server.api.server:create_app", "--host", "127.0.0.1"]
        arguments += ["--port", str(self.port), "--log-level", "error", "--lifespan", "on"]
        marks = {"PREFECT_UI_ENABLED": "0", "PREFECT__SERVER_EPHEMERAL": "1", "PREFECT__SERVER_FINAL": "1"}
        return subprocess.Popen(
            [sys.executable, "-c", _LAUNCH, str(os.getpid()), *arguments],
            env={
                **os.environ,
                **marks,
                **get_current_settings().to_environment_variables(exclude_unset=True),
            },
            start_new_session=True,
        )


@contextmanager
def server() -> Iterator[None]:
    """A server while the block runs (each worker would start its own otherwise); none where the user has named one, or
    where another flow runs this one and has one already."""
    if get_current_settings().api.url or FlowRunContext.get() is not None:
        yield
        return
    own = _Server()
    own.start()
    try:
        with temporary_settings({PREFECT_API_URL: own.api_url}):
            yield
    finally:
        own.stop()
