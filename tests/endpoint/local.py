"""A real small model for slow tests: import the fixture `local_model` and use its base URL.

The weights are put together once by a script among the shared test data and kept outside the repository. Where they
or the extra `local` cannot be had the tests are skipped, and say why.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
KEPT = Path(tempfile.gettempdir()) / "tracemill-weights"
SERVE = (
    "import sys, threading, pathlib; from pipeline.models.local import serve; stop = threading.Event(); "
    "threading.Thread(target=lambda: (sys.stdin.read(), stop.set()), daemon=True).start(); "
    "serve(pathlib.Path(sys.argv[1]), 0, stop=stop, ready=lambda url: print(url, flush=True))"
)


def weights(shared: Path, name: str = "smollm2") -> Path:
    """The path of the weights; skips the test where they cannot be had."""
    path = KEPT / f"{name}.gguf"
    if not path.exists():
        script = shared / "tools" / "assemble_gguf.py"
        KEPT.mkdir(exist_ok=True)
        done = subprocess.run(
            [sys.executable, str(script), name, str(path)], capture_output=True, text=True, timeout=600
        )
        if done.returncode or not path.exists():
            pytest.skip(f"the weights of {name} cannot be had: {(done.stderr or done.stdout).strip()[-200:]}")
    return path


@pytest.fixture(scope="session")
def local_model(shared: Path) -> Iterator[str]:
    """The base URL of SmolLM2-135M, served by a process of its own. The model's name is `smollm2`."""
    pytest.importorskip("xllamacpp", reason="the extra `local` is not installed")
    command = [sys.executable, "-c", SERVE, str(weights(shared))]
    process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        url = process.stdout.readline().strip()
        assert url.startswith("http://127.0.0.1:"), "the local model did not start"
        yield url
    finally:
        process.communicate("", timeout=60)
