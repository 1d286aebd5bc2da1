"""Parts that need no engine: frames, kept output, what is carried over, what is suspicious, what is a leftover."""

from __future__ import annotations

import os
import socket
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.config.sandbox import SandboxSection
from pipeline.records import CodeTask
from pipeline.sandbox import File, Link, Output, carry_over, suspicions
from pipeline.sandbox.carry import glob_pattern
from pipeline.sandbox.container import box_labels, container_config, process_start
from pipeline.sandbox.guest import BrokenFrame, Kept, frame, open_frame
from pipeline.sandbox.sweep import abandoned
from tests.sandbox.test_hostile import TASK


@given(st.lists(st.binary(max_size=300), max_size=30), st.integers(2, 400))
def test_kept_output_is_head_and_tail(chunks: list[bytes], limit: int) -> None:
    kept = Kept(limit)
    for chunk in chunks:
        kept.add(chunk)
    data, whole = kept.close(), b"".join(chunks)
    head, tail = data[0][: kept.half], data[0][kept.half :]
    assert whole.startswith(head)
    assert whole.endswith(tail)
    assert len(head) + len(tail) + data[1] == len(whole)
    assert len(data[0]) <= limit
    if len(whole) <= limit // 2 * 2:
        assert (data[0], data[1]) == (whole, 0)


@given(st.binary(max_size=50), st.integers(0, 80))
def test_a_changed_frame_is_noticed(body: bytes, place: int) -> None:
    key = b"k" * 32
    data = bytearray(frame(key, 3, {"op": "x"}, body))
    size = int.from_bytes(data[:4], "big")
    parts = bytes(data[8:24]), bytes(data[24 : 24 + size]), bytes(data[24 + size :])
    assert open_frame(key, 3, *parts) == {"op": "x"}
    with pytest.raises(BrokenFrame):
        open_frame(key, 4, *parts)
    data[8 + place % (len(data) - 8)] ^= 1
    with pytest.raises(BrokenFrame):
        open_frame(key, 3, bytes(data[8:24]), bytes(data[24 : 24 + size]), bytes(data[24 + size :]))


def test_output_is_decoded_once_and_marked() -> None:
    assert Output("é".encode()[:1], "é".encode()[1:]).text == "é"
    assert Output(b"a", b"b", 7).text == "a\n[… 7 bytes cut …]\nb"
    assert Output(b"\xff").text == "�"


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("tests/test_double.py", "a test"),
        ("test_new.py", "a test"),
        ("double_test.py", "a test"),
        ("tests/data.json", "a test"),
        ("conftest.py", "test configuration"),
        ("sub/Conftest.PY", "test configuration"),
        ("sitecustomize.py", "test configuration"),
        ("evil.pth", "test configuration"),
        ("pyproject.toml", "test configuration"),
        (".git/hooks/post-checkout", "not source"),
        ("__pycache__/double.cpython-311.pyc", "not source"),
        ("pytest.py", "shadows a module of the grader"),
        ("json/__init__.py", "shadows a module of the grader"),
        ("../double.py", "not a path inside the repository"),
        ("/etc/passwd", "not a path inside the repository"),
        ("", "not a path inside the repository"),
    ],
)
def test_what_is_not_carried_over(path: str, reason: str) -> None:
    carried, refused = carry_over(TASK, {path: b"", "double.py": b"x", "link.py": Link("/etc/passwd")})
    assert carried == {"double.py": File(b"x")}
    assert set(refused) == {f"{path}: {reason}", "link.py: a symbolic link"}


NAMES: dict[str, File | Link | bytes | str | None] = {
    "a b.py": b"x = 1",
    "quo'te\".py": b"\r\n",
    "new\nline.txt": b"",
    "ключ.txt": "é".encode(),
    "run.sh": File(b"#!/bin/sh", executable=True),
    "gone.py": None,
}


def test_odd_names_are_carried_over_as_they_are() -> None:
    carried, refused = carry_over(TASK, NAMES)
    assert refused == ()
    assert carried == {path: File(data) if isinstance(data, bytes) else data for path, data in NAMES.items()}


def test_a_module_of_the_repository_may_have_the_name_of_a_library() -> None:
    task = TASK.replace(files={"calendar.py": ""}, gold={"calendar.py": "x = 1"})
    assert carry_over(task, {"calendar.py": b"x = 1"}) == ({"calendar.py": File(b"x = 1")}, ())


def test_allowed_paths() -> None:
    task = TASK.replace(allowed=("src/**/*.py", "docs/?.md"))
    changes = dict.fromkeys(
        ("src/a.py", "src/b/c.py", "src/b.txt", "other.py", "docs/a.md", "docs/ab.md"), b""
    )
    assert set(carry_over(task, changes)[0]) == {"src/a.py", "src/b/c.py", "docs/a.md"}
    assert glob_pattern("*.py").fullmatch("a/b.py") is None


@pytest.mark.parametrize(
    "text",
    [
        "import pytest",
        "from _pytest import runner",
        "import os\nos._exit(0)",
        "class A:\n    def __eq__(self, other): return True",
        "print('3 PASSED')",
        "open('/proc/1/fd/1')",
        "import sys\nsys.modules['x'] = 1",
    ],
)
def test_what_looks_like_an_attempt_on_the_tests(text: str) -> None:
    assert suspicions(TASK, {"double.py": File(text.encode())})
    had_it = TASK.replace(files={"double.py": text})
    assert not suspicions(had_it, {"double.py": File(text.encode() + b"\nx = 1\n")})


def test_an_honest_change_is_not_suspicious() -> None:
    text = b"class P:\n    def __eq__(self, other):\n        return self.x == other.x\n\ndef passed(): return 'passed'\n"
    assert (
        suspicions(TASK, {"double.py": File(text), "broken.py": File(b"def ("), "x.bin": File(b"\xff")}) == ()
    )


def test_leftovers_are_told_by_their_labels() -> None:
    mine = box_labels("r", 100)
    assert not abandoned(mine)
    assert abandoned(box_labels("r", -1))
    assert abandoned({})
    dead = f"{socket.gethostname()}:{os.getpid()}:1"
    assert abandoned(mine | {"tracemill.owner": dead})
    assert not abandoned(mine | {"tracemill.owner": "elsewhere:1:1"})
    assert process_start(os.getpid())
    assert int(mine["tracemill.expires"]) > time.time()


def test_everything_is_closed_by_default() -> None:
    config = container_config("sha256:x", SandboxSection(), {})
    host = config["HostConfig"]
    assert config["User"] == "1000:1000"
    assert host["CapDrop"] == ["ALL"]
    assert host["Memory"] == host["MemorySwap"] > 0
    assert host["ReadonlyRootfs"]
    assert host["NetworkMode"] == "none"
    assert "Binds" not in host
    assert "Mounts" not in host
    assert "Runtime" not in host
    assert container_config("x", SandboxSection(runtime="runsc"), {})["HostConfig"]["Runtime"] == "runsc"


def test_the_id_of_a_task_is_its_content() -> None:
    assert TASK.id == CodeTask.model_validate_json(TASK.model_dump_json()).id
    assert TASK.id != TASK.replace(statement="Another.").id
