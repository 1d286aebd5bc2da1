"""Real servers of the package registries, from the configuration to kept trajectories and their replay, by commands."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

SERVERS = {
    "calculator": {"command": "uvx", "args": ["mcp-server-calculator@0.2.1"]},
    "time": {"command": "uvx", "args": ["mcp-server-time@2026.10.19"]},
    "memory": {
        "command": "npx",
        "args": ["-y", "@modelcontextprotocol/server-memory@2026.8.31"],
        "env": {"MEMORY_FILE_PATH": "/proc/self/cwd/memory.jsonl"},
    },
    "locked": {"command": sys.executable, "args": ["-c", "raise SystemExit('API_TOKEN is not set')"]},
}
SETTINGS = """
tasks: {count: 1}
worlds: {only: [harbour-hotel]}
trajectories:
  attempts: 1
  flaw_rate: 0.0
  live: {tasks: 4, servers: [calculator, time, memory, locked], stateless: [calculator, time]}
"""


def _tracemill(place: Path, *words: str) -> str:
    command = [str(Path(sys.executable).with_name("tracemill")), *words]
    done = subprocess.run(command, cwd=place, capture_output=True, text=True)
    assert done.returncode == 0, f"{' '.join(words)}: {done.stdout[-1000:]}{done.stderr[-2000:]}"
    return done.stdout


def _rows(place: Path, query: str) -> list[dict[str, str]]:
    found: list[dict[str, str]] = json.loads(_tracemill(place, "sql", query, "--format", "json"))
    return found


@pytest.mark.skipif(shutil.which("npx") is None, reason="npx is not installed")
def test_from_a_list_of_servers_to_replayed_trajectories(tmp_path: Path) -> None:
    (tmp_path / "servers.json").write_text(json.dumps({"mcpServers": SERVERS}))
    (tmp_path / "run.yaml").write_text(SETTINGS)
    _tracemill(tmp_path, "run", "trajectories", "-c", "run.yaml", "--mcp", "servers.json", "--run", "live")
    tasks = _rows(tmp_path, "select id, world, proof from tasks where host = 'live' and admitted")
    assert {task["world"] for task in tasks} >= {"calculator", "memory"}
    assert {task["proof"] for task in tasks} == {"recorded"}
    kept = _rows(tmp_path, "select id, calls from trajectories where host = 'live' and passed")
    assert kept
    for row in kept:
        told = _tracemill(tmp_path, "replay", row["id"])
        assert f"{row['calls']} calls replayed, all observations and states equal" in told
    refused = _rows(
        tmp_path, "select stage, kind, message from failures where stage in ('mcp', 'live_tasks')"
    )
    assert any("no such server" in row["kind"] and "'locked'" in row["message"] for row in refused)
    assert any(row["kind"] == "not the same twice" and "time" in row["message"] for row in refused)
