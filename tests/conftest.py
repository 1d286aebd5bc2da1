"""Fixtures shared by all tests."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

os.environ.setdefault("PREFECT_SERVER_ANALYTICS_ENABLED", "false")
os.environ.setdefault("DO_NOT_TRACK", "1")


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of shared test data; the test is skipped where it is not given."""
    folder = os.environ.get("TRACEMILL_SHARED")
    if not folder or not Path(folder).is_dir():
        pytest.skip("TRACEMILL_SHARED names no folder of shared test data")
    return Path(folder)
