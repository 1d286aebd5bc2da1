"""How servers misbehave, each played by a real process, and what the harvest makes of it."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from pipeline.config.tools import IngestConfig
from pipeline.records import ConfigError
from pipeline.sandbox.engine import Engine, engine_problem
from pipeline.tools.harvest import Harvest
from pipeline.tools.ingest import ingest, list_server
from pipeline.worlds._mcp import connect
from pipeline.worlds.server_process import MARK, _owner, run_isolated, sweep
from pipeline.worlds.servers import ServerEntry, parse_servers

ODD = Path(__file__).parent / "odd_server.py"


def entry(behavior: str, *args: str, **env: str) -> ServerEntry:
    return ServerEntry(name=behavior, command=sys.executable, args=(str(ODD), behavior, *args), env=env)


def run(behavior: str, *args: str, config: IngestConfig | None = None, **env: str) -> Harvest:
    return asyncio.run(list_server(entry(behavior, *args, **env), config or IngestConfig(start_timeout=20)))


def names(harvest: Harvest) -> list[str]:
    return [tool.name for tool in harvest.tools]


def our_processes() -> list[str]:
    """Command lines of all processes that carry this process's mark."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get(MARK, "").startswith(f"{os.getpid()}."):
                found.append(" ".join(process.cmdline()))
        except psutil.Error:
            continue
    return found


def test_a_fine_server_arrives_with_its_provenance() -> None:
    harvest = run("fine")
    assert names(harvest) == ["a", "b"]
    assert harvest.failures == ()
    provenance = harvest.tools[0].provenance
    assert (provenance.source, provenance.server, provenance.server_version) == ("mcp", "fine", "1.2.3")
    assert provenance.protocol == "2025-06-18"
    assert not our_processes()


def test_a_banner_and_a_progress_bar_do_not_matter() -> None:
    harvest = run("banner")
    assert names(harvest) == ["a", "b"]
    assert harvest.servers[0].noise == "*** Welcome to Odd Server ***"


def test_bytes_that_are_no_text_do_not_matter() -> None:
    assert names(run("bytes_noise")) == ["a"]


def test_noise_without_an_answer_is_named() -> None:
    [failure] = run("only_noise", config=IngestConfig(start_timeout=1)).failures
    assert failure.kind == "noise"
    assert "Server listening on port 3000" in failure.message


def test_a_crash_at_start_tells_code_and_traceback() -> None:
    [failure] = run("crash").failures
    assert (failure.step, failure.kind) == ("initialize", "exited")
    assert "code 1" in failure.message
    assert "the configuration file is missing" in failure.stderr


def test_a_server_that_wants_a_key_says_which() -> None:
    [failure] = run("wants_key").failures
    assert failure.kind == "configuration"
    assert "it seems to want WEATHER_API_KEY" in failure.message


def test_a_command_that_is_not_there() -> None:
    nowhere = ServerEntry(name="nowhere", command="no-such-command-here")
    [failure] = asyncio.run(list_server(nowhere, IngestConfig())).failures
    assert "No such file" in failure.stderr


def test_silence_is_a_start_timeout_and_nothing_is_left() -> None:
    [failure] = run("silent", config=IngestConfig(start_timeout=0.5)).failures
    assert (failure.step, failure.kind) == ("initialize", "timeout")
    assert not our_processes()


def test_a_death_while_listing_names_the_step() -> None:
    [failure] = run("dies_on_list").failures
    assert (failure.step, failure.kind) == ("tools/list", "exited")
    assert "code 7" in failure.message


def test_a_repeated_cursor_ends_with_the_tools_so_far() -> None:
    harvest = run("repeating_cursor")
    assert names(harvest) == ["a", "b"]
    [failure] = harvest.failures
    assert failure.kind == "incomplete"
    assert "'again' came twice" in failure.message
    assert failure.tools == 2


def test_an_endless_cursor_is_bounded() -> None:
    harvest = run("endless_cursor", config=IngestConfig(max_pages=5))
    assert names(harvest) == ["t0", "t1", "t2", "t3", "t4"]
    assert harvest.failures[0].message == "more than 5 pages"


def test_four_thousand_tools_over_forty_pages() -> None:
    harvest = run("forty_pages")
    assert names(harvest) == [f"t{number}" for number in range(4000)]
    assert harvest.failures == ()


def test_equal_names_are_kept_apart() -> None:
    harvest = run("same_names")
    assert names(harvest) == ["get", "get_2", "Get_3"]
    assert any("taken by a sibling" in flag for flag in harvest.tools[1].flags)
    assert any("only in case" in flag for flag in harvest.tools[2].flags)
    assert harvest.tools[2].original is not None
    assert harvest.tools[2].original["name"] == "Get"
    assert [item.reason for item in harvest.rejections] == ["the same tool was listed twice"]


def test_one_bad_tool_does_not_cost_the_others() -> None:
    harvest = run("broken_tools")
    assert names(harvest) == ["good", "no_schema"]
    assert len(harvest.rejections) == 4
    assert all(item.reason for item in harvest.rejections)


def test_children_in_sessions_of_their_own_are_gone() -> None:
    assert names(run("leaves_child")) == ["a"]
    assert not our_processes()


def test_sigterm_ignored_means_killed() -> None:
    assert names(run("ignores_sigterm")) == ["a"]
    assert not our_processes()


def test_a_flood_of_stderr_leaves_only_its_tail() -> None:
    [failure] = run("floods_stderr", "60").failures
    assert failure.stderr.endswith("the last words")
    assert len(failure.stderr) <= 4096


@pytest.mark.slow
def test_a_gigabyte_of_stderr_costs_no_memory() -> None:
    before = psutil.Process().memory_info().rss
    [failure] = run("floods_stderr", "1000").failures
    assert failure.stderr.endswith("the last words")
    assert psutil.Process().memory_info().rss - before < 50 << 20


def test_a_line_of_thirty_megabytes_is_refused() -> None:
    [failure] = run("long_line", str(30 << 20)).failures
    assert failure.kind == "too_long"
    assert "longer than 8 MB" in failure.message


def test_a_long_line_within_the_bound_is_read_whole() -> None:
    [tool] = run("long_line", str(900_000)).tools
    assert len(tool.description) == 900_000


def test_an_old_protocol_is_negotiated() -> None:
    harvest = run("old_protocol")
    assert harvest.tools[0].provenance.protocol == "2024-11-05"


def test_an_unknown_protocol_is_one_clear_failure() -> None:
    [failure] = run("unknown_protocol").failures
    assert failure.kind == "version"
    assert "1999-01-01" in failure.message


def test_requests_of_the_server_are_declined() -> None:
    assert names(run("asks_client")) == ["0_declined", "1_declined", "2_declined"]


def test_no_secret_reaches_a_server_or_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OUR_API_KEY", "sk-ours-123456")
    [failure] = run("prints_secrets", GIVEN_TOKEN="tok-given-987654").failures
    assert "ours: None" in failure.stderr
    assert "tok-given" not in failure.to_json()
    assert "given: [removed]" in failure.stderr


def test_a_server_that_eats_memory_is_ended() -> None:
    [failure] = run("eats_memory", config=IngestConfig(memory_mb=200)).failures
    assert "more than 200 MB" in failure.stderr


def test_a_server_that_lives_too_long_is_ended() -> None:
    [failure] = run("silent", config=IngestConfig(server_timeout=1, start_timeout=30)).failures
    assert failure.kind == "exited"
    assert "ended after 1.0 seconds" in failure.stderr


def test_the_throw_away_home_leaves_no_trace() -> None:
    first, second = run("home_in_default"), run("home_in_default")
    assert first.tools[0].id == second.tools[0].id
    assert first.tools[0].input_schema["properties"]["path"]["default"] == "/home/user/x"


async def test_many_servers_at_once_in_order_with_one_failure_each() -> None:
    behaviors = ["fine", "crash", "banner", "dies_on_list", "fine", "old_protocol"] * 3
    servers = {
        str(number): ServerEntry(name=str(number), command=sys.executable, args=(str(ODD), behavior))
        for number, behavior in enumerate(behaviors)
    }
    heard: list[str] = []
    harvest = await ingest(servers, IngestConfig(parallel=4), on_done=lambda name, _: heard.append(name))
    assert [report.server for report in harvest.servers] == [
        str(number) for number, behavior in enumerate(behaviors) if behavior not in ("crash", "dies_on_list")
    ]
    assert len(harvest.failures) == 6
    assert sorted(heard) == sorted(servers)
    assert not our_processes()


async def test_a_tool_is_called_by_its_original_name() -> None:
    async with run_isolated([sys.executable, str(ODD), "fine"]) as process, connect(process) as session:
        result = await session.call("a", {"x": [1, {"y": None}]})
    assert result.ok
    assert json.loads(result.value) == {"x": [1, {"y": None}]}


HARVESTER = """
import asyncio, sys
from pipeline.config.tools import IngestConfig
from pipeline.tools.ingest import ingest
from pipeline.worlds.servers import ServerEntry
odd = sys.argv[1]
servers = {n: ServerEntry(name=n, command=sys.executable, args=(odd, b)) for n, b in
           [("a", "silent"), ("b", "leaves_child"), ("c", "silent"), ("d", "only_noise")]}
def done(name, harvest):
    print(name, flush=True)
asyncio.run(ingest(servers, IngestConfig(start_timeout=60), on_done=done))
"""


def marked(pid: int) -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get(MARK, "").startswith(f"{pid}."):
                found.append(process)
        except psutil.Error:
            continue
    return found


def wait_until_gone(pid: int, seconds: float = 20) -> list[str]:
    deadline = time.monotonic() + seconds
    while (left := marked(pid)) and time.monotonic() < deadline:
        time.sleep(0.05)
    return [str(process) for process in left]


def harvester() -> subprocess.Popen[str]:
    """A run in a process of its own, in the middle of listing."""
    process = subprocess.Popen(
        [sys.executable, "-c", HARVESTER, str(ODD)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "b\n"
    assert marked(process.pid)
    return process


def test_ctrl_c_leaves_nothing_running() -> None:
    process = harvester()
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    assert process.returncode != 0
    assert not wait_until_gone(process.pid, 1)


def test_kill_9_of_the_run_leaves_nothing_running() -> None:
    process = harvester()
    process.kill()
    process.communicate(timeout=10)
    assert not wait_until_gone(process.pid)


def test_what_survives_even_the_keeper_is_swept_by_the_next_run() -> None:
    """The whole family killed with -9, keepers first, so that only the mark tells where a helper came from."""
    process = harvester()
    for keeper in [one for one in marked(process.pid) if "_keeper.py" in " ".join(one.cmdline())]:
        keeper.kill()
    left = subprocess.Popen(["sleep", "600"], env={MARK: f"{process.pid}.0"}, start_new_session=True)
    process.kill()
    process.communicate(timeout=10)
    assert sweep() >= 1
    assert left.wait(timeout=5) == -signal.SIGKILL
    assert not wait_until_gone(process.pid, 5)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([], "no `mcpServers` object"),
        ({"mcpServers": {"x": {}}}, "'x' needs either `command` or `url`"),
        ({"mcpServers": {"x": {"command": "a", "url": "b"}}}, "'x' needs either"),
        ({"mcpServers": {"x": {"command": "a", "args": "b"}}}, "'x' has `args`"),
        ({"mcpServers": {"x": {"command": "a", "env": {"K": "${NOT_SET_ANYWHERE}"}}}}, "NOT_SET_ANYWHERE"),
        ({"mcpServers": {"x": {"url": "http://localhost", "type": "sse"}}}, "old SSE transport"),
    ],
)
def test_an_entry_that_makes_no_sense_is_named(data: object, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        parse_servers(data)


def test_variables_in_entries_are_filled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_KEY", "v1")
    data = {
        "mcpServers": {
            "x": {"command": "a", "env": {"K": "${SOME_KEY}", "L": "${NO_KEY:-two}"}},
            "y": {"disabled": True},
        }
    }
    assert parse_servers(data) == {"x": ServerEntry(name="x", command="a", env={"K": "v1", "L": "two"})}


@pytest.mark.slow
@pytest.mark.docker
async def test_servers_run_in_containers_without_network_and_leave_none() -> None:
    if problem := await asyncio.to_thread(engine_problem):
        pytest.skip(problem)
    config = IngestConfig(isolate="docker", parallel=2, start_timeout=60)
    servers = {
        behavior: replace(entry(behavior), command="/usr/bin/python3")
        for behavior in ("fine", "crash", "leaves_child", "looks_around")
    }
    harvest = await ingest(servers, config)
    assert [report.server for report in harvest.servers] == ["fine", "leaves_child", "looks_around"]
    [failure] = harvest.failures
    assert "the configuration file is missing" in failure.stderr
    seen = json.loads(harvest.tools[-1].description)
    assert seen == {"network": ["lo"], "home": [], "writable_usr": False, "host_files": False}
    async with Engine.connect() as engine:
        names = [
            name for one in await engine.labeled() for name in one["Names"] if "tracemill-server" in name
        ]
    assert names == []
    assert not our_processes()


@pytest.mark.slow
async def test_two_hundred_servers_in_one_run_leave_nothing() -> None:
    good = ("fine", "banner", "leaves_child", "old_protocol", "same_names")
    bad = ("crash", "dies_on_list", "only_noise", "unknown_protocol")
    behaviors = [(good * 6 + bad)[number % 34] for number in range(204)]
    servers = {
        f"{number}": replace(entry(behavior), name=f"{number}") for number, behavior in enumerate(behaviors)
    }
    harvest = await ingest(servers, IngestConfig(parallel=6, start_timeout=15))
    assert [report.server for report in harvest.servers] == [
        name for name, one in servers.items() if one.args[1] in good
    ]
    assert len(harvest.failures) == sum(behavior in bad for behavior in behaviors)
    assert not our_processes()
    assert asyncio.all_tasks() == {asyncio.current_task()}


def test_the_sweep_removes_only_homes_of_dead_owners() -> None:
    dead, alive, foreign = (
        Path(tempfile.mkdtemp(prefix=prefix))
        for prefix in ("tracemill-home-999999999.1-", f"tracemill-home-{_owner()}-", "tracemill-a.b-c-")
    )
    sweep()
    assert [folder.exists() for folder in (dead, alive, foreign)] == [False, True, True]
    for folder in (alive, foreign):
        folder.rmdir()
