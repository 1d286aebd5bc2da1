"""The wheel works in an empty environment, from any folder: prompts, worlds and lists travel inside it."""

from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_wheel_makes_data_in_an_empty_environment(tmp_path: Path) -> None:
    build = [
        sys.executable,
        "-m",
        "build",
        "--wheel",
        "--no-isolation",
        "--outdir",
        str(tmp_path / "dist"),
        str(ROOT),
    ]
    subprocess.run(build, check=True, capture_output=True, timeout=300)
    wheel = next((tmp_path / "dist").glob("*.whl"))
    venv.create(tmp_path / "env", with_pip=True)
    python = tmp_path / "env" / "bin" / "python"
    install = [str(python), "-m", "pip", "install", "-q", "-c", str(ROOT / "constraints.txt"), str(wheel)]
    subprocess.run(install, check=True, capture_output=True, timeout=600)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    tracemill = tmp_path / "env" / "bin" / "tracemill"
    for words, said in (
        (["prompts", "list"], "user/turn@"),
        (["preview", "trajectories", "-n", "1"], "assistant"),
        (["init"], "tracemill.yaml"),
        (["validate", "tracemill.yaml"], "is fine"),
    ):
        done = subprocess.run(
            [str(tracemill), *words], cwd=elsewhere, capture_output=True, text=True, timeout=280, check=False
        )
        assert done.returncode == 0, done.stderr[-2000:]
        assert said in done.stdout
