"""Solutions that try to spoil grading, each graded for real. None may pass that does not solve the task."""

from __future__ import annotations

import asyncio

import pytest

from pipeline.config.sandbox import SandboxSection
from pipeline.records import CodeTask, RunStatus, TestReport
from pipeline.sandbox import Engine, File, Link, Pool, grade

pytestmark = [pytest.mark.slow, pytest.mark.docker]

TESTS = """
import double as module
from double import double


def test_small():
    assert double(2) == 4
    assert type(double(2)) is int


def test_text():
    assert repr(double("ab")) == "'abab'"


def test_zero():
    assert double(0) == 0
"""
TASK = CodeTask(
    name="double",
    statement="Write `double`.",
    files={"double.py": "def double(x):\n    return x\n", "README.md": "double\n"},
    tests={"tests/test_double.py": TESTS},
    gold={"double.py": "def double(x):\n    return x * 2\n"},
    fail_to_pass=("tests/test_double.py::test_small", "tests/test_double.py::test_text"),
    pass_to_pass=("tests/test_double.py::test_zero",),
    timeout=30,
)
WRONG = "def double(x):\n    return x\n"
RIGHT = "def double(x):\n    return x * 2\n"
ALL_PASS = """
import pytest
@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    outcome.get_result().outcome = "passed"
"""
FORGED = "print('tests/test_double.py::test_small PASSED\\n3 passed in 0.01s', flush=True)\n"

# What is carried over, and what the run then says.
CASES: dict[str, tuple[dict[str, str], set[RunStatus]]] = {
    "conftest": ({"conftest.py": ALL_PASS, "tests/conftest.py": ALL_PASS, "double.py": WRONG}, {RunStatus.FAILED}),
    "site": (
        {
            "sitecustomize.py": "import os; os._exit(0)",
            "usercustomize.py": "import os; os._exit(0)",
            "x.pth": "import os; os._exit(0)",
            "pytest.ini": "[pytest]\naddopts = --collect-only",
            "tox.ini": "[pytest]\naddopts = -k nothing",
            "setup.cfg": "[tool:pytest]\naddopts = -k nothing",
            "pyproject.toml": "[tool.pytest.ini_options]\naddopts = '-k nothing'",
            "double.py": RIGHT,
        },
        {RunStatus.PASSED},
    ),
    "test file": (
        {"tests/test_double.py": "def test_small(): pass", "tests/test_more.py": "1/0", "double.py": WRONG},
        {RunStatus.FAILED},
    ),
    "forged lines": (
        {"double.py": FORGED + "import os\nos._exit(0)\n"},
        {RunStatus.INVALID_RESULT, RunStatus.FAILED},
    ),
    "exit 1 at import": ({"double.py": FORGED + "import os\nos._exit(1)\n"}, {RunStatus.INVALID_RESULT}),
    "sys.exit at import": ({"double.py": "import sys\nsys.exit(0)\n"}, {RunStatus.FAILED}),
    "exit at the end": (
        {"double.py": WRONG + "import atexit, os\natexit.register(lambda: os._exit(0))\n"},
        {RunStatus.INVALID_RESULT},
    ),
    "patched runner": (
        {
            "double.py": WRONG + "import _pytest.runner\n_pytest.reports.TestReport.failed = property(lambda s: False)\n"
            "_pytest.reports.TestReport.passed = property(lambda s: True)\n"
        },
        {RunStatus.INVALID_RESULT},
    ),
    "patched calls": (
        {"double.py": WRONG + "import _pytest.python\n_pytest.python.Function.runtest = lambda self: None\n"},
        {RunStatus.INVALID_RESULT},
    ),
    "rewrites the tests at run time": (
        {
            "double.py": WRONG
            + "import pathlib\nfor p in pathlib.Path('/work').rglob('test_*.py'):\n    p.write_text('def test_small(): pass')\n"
        },
        {RunStatus.INVALID_RESULT, RunStatus.FAILED},
    ),
    "writes the report": (
        {
            "double.py": WRONG
            + "import glob, json\nfor p in glob.glob('/grade/report-*'):\n"
            + "    open(p, 'a').write(''.join(json.dumps({'id': 'tests/test_double.py::' + t, 'outcome': 'passed'}) + '\\n'"
            + " for t in ('test_small', 'test_text', 'test_zero')))\n"
        },
        {RunStatus.INVALID_RESULT, RunStatus.FAILED},
    ),
    "breaks the worker's stream": (
        {"double.py": WRONG + "open('/proc/1/fd/1', 'wb').write(b'\\0' * 64)\n"},
        {RunStatus.FAILED, RunStatus.INVALID_RESULT},
    ),
    "shadows modules": ({"pytest/__init__.py": "1/0", "json.py": "1/0", "double.py": WRONG}, {RunStatus.FAILED}),
    "equals everything": (
        {"double.py": "class Any:\n    def __eq__(self, other):\n        return True\n\ndef double(x):\n    return Any()\n"},
        {RunStatus.FAILED},
    ),
    "setsid sleeper": (
        {"double.py": RIGHT + "import subprocess\nsubprocess.Popen(['sleep', '600'], start_new_session=True)\n"},
        {RunStatus.PASSED},
    ),
    "sleeps": ({"double.py": "import time\ntime.sleep(600)\n"}, {RunStatus.TIMEOUT}),
    "busy": ({"double.py": "while True: pass\n"}, {RunStatus.TIMEOUT}),
    "waits for input": ({"double.py": "input()\n"}, {RunStatus.FAILED}),
    "memory": ({"double.py": "x = []\nwhile True: x.append(bytearray(1 << 24))\n"}, {RunStatus.OOM}),
    "fork bomb": ({"double.py": "import os\nwhile True: os.fork()\n"}, {RunStatus.TIMEOUT, RunStatus.FAILED, RunStatus.OOM, RunStatus.INVALID_RESULT}),
    "fills the disk": (
        {"double.py": "f = open('/work/big', 'wb')\nwhile True: f.write(b'x' * (1 << 20))\n"},
        {RunStatus.FAILED},
    ),
    "opens files": ({"double.py": "files = [open('/dev/null') for _ in range(100000)]\n"}, {RunStatus.FAILED, RunStatus.INVALID_RESULT}),
    "prints two gigabytes": (
        {"double.py": RIGHT + "import os\nfor _ in range(2000): os.write(1, b'x' * 1000000)\n"},
        {RunStatus.PASSED},
    ),
    "prints no text": ({"double.py": RIGHT + "import os\nos.write(2, bytes(range(256)) * 10)\n"}, {RunStatus.PASSED}),
    "kills everything": ({"double.py": "import os\nos.kill(-1, 9)\n"}, {RunStatus.FAILED}),
    "kills its parent": ({"double.py": "import os\nos.kill(os.getppid(), 9)\n"}, {RunStatus.FAILED}),
    "signals process 1": ({"double.py": RIGHT + "import os\nfor s in (9, 15, 19): os.kill(1, s)\n"}, {RunStatus.PASSED, RunStatus.FAILED}),
}  # fmt: skip
ENDLESS = {"sleeps", "busy", "fork bomb"}
MARKED = {"equals everything", "patched runner", "patched calls", "forged lines", "kills everything"}


@pytest.mark.parametrize("name", CASES)
async def test_a_hostile_solution_gets_its_own_status(pool: Pool, name: str) -> None:
    files, expected = CASES[name]
    report = await grade(pool, TASK.replace(timeout=5) if name in ENDLESS else TASK, files)
    assert report.status in expected, (report.status, report.reason, report.output[-2000:])
    assert len(report.output) < 600_000
    if name in MARKED:
        assert report.flags
    # The same place takes an honest solution right after.
    assert (await grade(pool, TASK, TASK.gold)).status is RunStatus.PASSED


async def test_links_are_not_carried_over(pool: Pool) -> None:
    report = await grade(
        pool, TASK, {"tests/test_double.py": Link("/dev/null"), "double.py": Link("/etc/passwd")}
    )
    assert report.status is RunStatus.FAILED
    assert len(report.refused) == 2


PROBES = {
    "dns": "import socket; socket.getaddrinfo('localhost.test', 80)",
    "metadata": "import socket; socket.create_connection(('169.254.169.254', 80), 3)",
    "loopback of the host": "import socket; socket.create_connection(('172.17.0.1', 2375), 3)",
    "engine socket": "open('/var/run/docker.sock')",
    "sysrq": "open('/proc/sysrq-trigger', 'w').write('b')",
    "mount": "import subprocess; subprocess.run(['mount', '-t', 'tmpfs', 'x', '/mnt'], check=True)",
    "mknod": "import os; os.mknod('/tmp/sda', 0o60600, os.makedev(8, 0))",
    "root file system": "open('/etc/new', 'w')",
    "other user": "import os; os.setuid(0)",
    "kernel": "open('/proc/sys/kernel/core_pattern', 'w')",
    "disks": "open('/dev/vda')",
    "new namespace": "import ctypes; assert ctypes.CDLL(None).unshare(0x10000000) == 0",
    "worker's memory": "import os; open(f'/proc/{os.getppid()}/mem', 'rb')",
}


@pytest.mark.parametrize("name", PROBES)
async def test_nothing_leads_out_of_the_container(pool: Pool, name: str) -> None:
    async with pool.box() as box:
        result = await box.run(["python3", "-c", PROBES[name]], timeout=20)
        assert result.exit_code == 1, result.stdout.text + result.stderr.text


async def test_the_hostile_side_by_side_with_the_honest(docker_ready: None, engine: Engine) -> None:
    hostile = [
        "fork bomb",
        "memory",
        "fills the disk",
        "setsid sleeper",
        "prints two gigabytes",
        "kills everything",
    ]
    async with Pool(SandboxSection(parallel=4, ahead=1), run="side-by-side") as pool:
        reports: list[TestReport] = await asyncio.gather(
            *(grade(pool, TASK, CASES[name][0]) for name in hostile),
            *(grade(pool, TASK, {"double.py": File(RIGHT.encode())}) for _ in range(10)),
        )
    for name, report in zip(hostile, reports, strict=False):
        assert report.status in CASES[name][1], (name, report.status, report.reason)
    assert [report.status for report in reports[len(hostile) :]] == [RunStatus.PASSED] * 10
    labeled = [
        each["Labels"]["tracemill.run"]
        for each in await engine.labeled()
        if "tracemill.run" in each["Labels"]
    ]
    assert "side-by-side" not in labeled
