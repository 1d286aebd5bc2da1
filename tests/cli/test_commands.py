"""Commands that need no run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml

from pipeline.config import load_config, parse_config
from pipeline.config.template import commented


def _tracemill(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from pipeline.cli import main; main()", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False)


def test_the_configuration_that_init_writes_is_the_default(tmp_path: Path) -> None:
    assert parse_config(yaml.safe_load(commented()), where="init") == load_config(environment={})


def test_init_never_overwrites(tmp_path: Path) -> None:
    assert _tracemill(tmp_path, "init").returncode == 0
    second = _tracemill(tmp_path, "init")
    assert second.returncode == 1
    assert "exists already" in second.stderr


def test_flags_beat_environment_beats_file(tmp_path: Path) -> None:
    file = tmp_path / "c.yaml"
    file.write_text("seed: 1\ntasks: {count: 1}\n", encoding="utf-8")
    config = load_config(file, {"seed": 3}, {"TRACEMILL_SEED": "2", "TRACEMILL_TASKS__COUNT": "2"})
    assert (config.seed, config.tasks.count) == (3, 2)


def test_one_flag_takes_several_values_after_the_arguments() -> None:
    import typer.main

    from pipeline.cli import app

    top: Any = typer.main.get_command(app)
    commands = top.commands

    def parsed(command: str, *words: str) -> dict[str, Any]:
        found: dict[str, Any] = commands[command].make_context(command, list(words)).params
        return found

    given = parsed("run", "rephrase", "--input", "a", "b", "--count", "3", "--input", "c", "--run", "r")
    assert [path.name for path in given["input"]] == ["a", "b", "c"]
    assert (given["flow"], given["count"], given["run"]) == ("rephrase", 3, "r")
    assert parsed("run", "--input", "a", "rephrase")["flow"] == "rephrase"
    given = parsed("export", "r1", "r2", "--against", "x", "y", "--out", "d")
    assert (given["runs"], [path.name for path in given["against"]]) == (["r1", "r2"], ["x", "y"])


def test_help_loads_none_of_the_heavy_packages() -> None:
    code = "import sys, pipeline.cli; print([m for m in ('prefect','openai','datasets','duckdb','docker','mcp','pydantic') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_preview_shows_a_whole_conversation_and_stores_nothing(tmp_path: Path) -> None:
    done = _tracemill(tmp_path, "preview", "trajectories", "-n", "1")
    assert done.returncode == 0, done.stderr
    assert "assistant" in done.stdout
    assert not (tmp_path / "data").exists()


def test_world_check_names_what_is_wrong(tmp_path: Path) -> None:
    bad = tmp_path / "bad.yaml"
    bad.write_text(
        "name: x\ndomain: a/b\nclock: '2026-01-01T00:00:00'\nschema: create tabel t(a)\ntools: []\n",
        encoding="utf-8",
    )
    done = _tracemill(tmp_path, "world", "check", str(bad))
    assert done.returncode == 1
    assert "schema is broken" in done.stdout
