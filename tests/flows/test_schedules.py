"""Schedules on a real Prefect server: one fires, what a killed run left behind is finished, old records go."""

from __future__ import annotations

import itertools
import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from pipeline.config import parse_config
from pipeline.store import RunFolder, readable

ROOT = Path(__file__).parent.parent.parent
CONFIG = "worlds: {only: [skerry-air]}\ntasks: {count: 2}\ntrajectories: {attempts: 1}\nrun: {workers: 1}\n"
pytestmark = pytest.mark.timeout(900)


def test_the_deployments_for_pools_name_flows_and_parameters_that_exist() -> None:
    import inspect

    from flows.scheduled import scheduled
    from pipeline.stages.units import FLOWS

    found = yaml.safe_load((ROOT / "prefect.yaml").read_text(encoding="utf-8"))["deployments"]
    known = set(inspect.signature(scheduled.fn).parameters)
    for one in found:
        assert one["entrypoint"] == "flows.scheduled.scheduled"
        assert set(one["parameters"]) <= known
        assert one["concurrency_limit"]["limit"] == 1
        assert not one["schedules"][0]["active"]
    assert {one["parameters"]["product"] for one in found} == set(FLOWS)
    assert {one["work_pool"]["name"].removeprefix("tracemill-") for one in found} == {
        "process",
        "docker",
        "kubernetes",
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--cron", "trajectories"), "FLOW=CRON"),
        (("--cron", "nonsense=0 3 * * *"), "There is no flow"),
        (("--cron", "tools=whenever"), "is no schedule"),
        ((), "PREFECT_API_URL"),
    ],
)
def test_bad_schedules_are_told(tmp_path: Path, words: tuple[str, ...], said: str) -> None:
    done = subprocess.run(
        _command("serve", *words),
        cwd=tmp_path,
        env=_environment(tmp_path),
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert done.returncode == 1
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def _command(*words: str) -> list[str]:
    return [sys.executable, "-c", "from pipeline.cli import main; main()", *words]


def _environment(home: Path, **more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")}
    return {
        **kept,
        "PREFECT_HOME": str(home / "prefect"),
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "DO_NOT_TRACK": "1",
        **more,
    }


@contextmanager
def _process(folder: Path, name: str, command: list[str], environment: dict[str, str]) -> Iterator[Path]:
    """A process with its output in a file, ended with the block."""
    log = folder / f"{name}.log"
    with log.open("wb") as file:
        process = subprocess.Popen(
            command, cwd=folder, env=environment, stdout=file, stderr=subprocess.STDOUT
        )
        try:
            yield log
        finally:
            process.terminate()
            try:
                process.wait(timeout=40)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _ask(url: str, body: dict[str, Any] | None = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.loads(answer.read())


def _wait(what: str, condition: Any, log: Path, seconds: float = 400) -> Any:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            if found := condition():
                return found
        except OSError:
            pass  # the server is not up yet, or its database is busy
        time.sleep(0.5)
    raise TimeoutError(f"{what} did not happen:\n{log.read_text(errors='replace')[-3000:]}")


@pytest.mark.slow
def test_a_schedule_fires_an_overlapping_run_waits_and_a_killed_one_is_finished(tmp_path: Path) -> None:
    config = tmp_path / "run.yaml"
    config.write_text(CONFIG, encoding="utf-8")
    values = {**yaml.safe_load(CONFIG), "data": str(tmp_path / "data")}
    RunFolder.create(
        tmp_path / "data", "killed", "trajectories", 5, parse_config(values, where="test").to_yaml()
    )
    for name, text in (("damaged", "{"), ("older", json.dumps({**_facts(tmp_path / "data"), "schema": 1}))):
        RunFolder.create(tmp_path / "data", name, "trajectories", 5, "")
        (tmp_path / "data" / "runs" / name / "run.json").write_text(text, encoding="utf-8")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    api = f"http://127.0.0.1:{port}/api"
    database = f"sqlite+aiosqlite:///{tmp_path / 'prefect.db'}"
    environment = _environment(
        tmp_path,
        PREFECT_SERVER_DATABASE_CONNECTION_URL=database,
        PREFECT_SERVER_SERVICES_SCHEDULER_LOOP_SECONDS="5",
        PREFECT_API_URL=api,
        PREFECT_RUNNER_POLL_FREQUENCY="1",
        PYTHONPATH=str(ROOT),
    )
    start = [sys.executable, "-m", "prefect", "server", "start", "--host", "127.0.0.1", "--port", str(port)]
    serving = _command(
        "serve", "--cron", "trajectories=* * * * *", "--config", str(config), "--data", str(tmp_path / "data"),
        "--on-failure", f"cat >> {tmp_path / 'told.jsonl'}",
    )  # fmt: skip
    with _process(tmp_path, "server", start, environment) as log:
        _wait("the server's start", lambda: _ask(f"{api}/health"), log)
        with _process(tmp_path, "serve", serving, environment) as log:
            _wait("a run's start", lambda: _started(api), log)
            deployed = _wait("an answer", lambda: _ask(f"{api}/deployments/filter", {}), log)
            one = next(one for one in deployed if one["name"] == "trajectories")
            create = f"{api}/deployments/{one['id']}/create_flow_run"
            _wait("a run by hand", lambda: _ask(create, {"parameters": {}}), log)
            runs = _wait("three finished runs", lambda: _finished(tmp_path / "data", 3), log)
            records = _wait("an answer", lambda: _ours(api), log)
        prefect = [sys.executable, "-m", "prefect", "--no-prompt"]
        file = str(ROOT / "prefect.yaml")
        for words in (
            ("work-pool", "create", "tracemill-process", "--type", "process"),
            ("deploy", "--prefect-file", file, "--name", "code"),
        ):
            done = subprocess.run(
                [*prefect, *words],
                cwd=tmp_path,
                env=environment,
                capture_output=True,
                text=True,
                timeout=200,
                check=False,
            )
            assert done.returncode == 0, done.stdout + done.stderr
        pooled = _wait("an answer", lambda: _ask(f"{api}/deployments/filter", {}), log)
    assert "killed" in runs
    fresh = RunFolder.open(tmp_path / "data", next(name for name in runs if name != "killed"))
    assert list(fresh.rows("trajectories"))
    assert fresh.seed != RunFolder.open(tmp_path / "data", "killed").seed
    assert {one["name"] for one in deployed} >= {"trajectories", "rephrase", "code", "tools"}
    assert one["global_concurrency_limit"]["limit"] == 1
    assert [one["name"] for one in pooled if one["work_pool_name"] == "tracemill-process"] == ["code"]
    assert {run["state_type"] for run in records}.isdisjoint({"FAILED", "CRASHED"})
    spans = sorted((run["start_time"], run["end_time"]) for run in records if run["end_time"])
    assert len(spans) >= 2
    assert all(end <= start for (_, end), (start, _) in itertools.pairwise(spans)), "two runs at once"
    assert not (tmp_path / "told.jsonl").exists()


def _facts(data: Path) -> dict[str, Any]:
    facts: dict[str, Any] = json.loads((data / "runs" / "killed" / "run.json").read_text(encoding="utf-8"))
    return facts


def _ours(api: str) -> list[dict[str, Any]]:
    """The flow runs that schedules or people started, without the chains inside them."""
    body = {"flows": {"name": {"any_": ["tracemill-scheduled"]}}}
    return [run for run in _ask(f"{api}/flow_runs/filter", body) if run["start_time"]]


def _started(api: str) -> bool:
    return bool(_ours(api))


def _finished(data: Path, count: int) -> list[str]:
    found = [folder.name for folder in readable(data) if folder.status == "finished"]
    return found if len(found) >= count else []


@pytest.mark.slow
def test_a_failure_is_told_and_old_records_go(tmp_path: Path) -> None:
    told = tmp_path / "told.jsonl"
    bad = tmp_path / "bad.yaml"
    bad.write_text("worlds: {paths: [nowhere]}\n", encoding="utf-8")
    script = f"""
import json
from flows.scheduled import prune, scheduled
once = scheduled.with_options(retries=0)
state = once("trajectories", config={str(bad)!r}, data={str(tmp_path / "data")!r}, on_failure={f"cat >> {told}"!r}, return_state=True)
print(json.dumps([state.is_failed(), prune(1), prune(-1) > 0, prune(-1)]))
"""
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, env=_environment(tmp_path, PYTHONPATH=str(ROOT)), capture_output=True,
        text=True, timeout=400, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    assert json.loads(done.stdout.splitlines()[-1]) == [True, 0, True, 0]
    event = json.loads(told.read_text(encoding="utf-8"))
    assert event["flow"] == "trajectories"
    assert event["state"] == "Failed"
    assert "nowhere" in event["message"]
