"""The tools of an agent in a container, called as an agent would."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from pipeline.records import CodeTask
from pipeline.records.base import Json
from pipeline.sandbox import File, Pool, grade
from pipeline.sandbox.tools import CodeTools

pytestmark = [pytest.mark.slow, pytest.mark.docker]


@pytest_asyncio.fixture
async def desk(pool: Pool, tasks: dict[str, CodeTask]) -> AsyncIterator[CodeTools]:
    async with pool.box() as box:
        desk = CodeTools(box, tasks["stock-ledger"])
        await desk.open()
        yield desk


async def ask(desk: CodeTools, name: str, **arguments: Json) -> Json:
    answer = await desk.call(name, arguments)
    assert answer.ok, answer.error
    return answer.value


async def refused(desk: CodeTools, name: str, **arguments: Json) -> str:
    answer = await desk.call(name, arguments)
    assert not answer.ok
    assert answer.error is not None
    return answer.error[0]


async def test_looking_around(desk: CodeTools) -> None:
    listed = await ask(desk, "list_files")
    assert listed["entries"] == [
        "README.md",
        "shop/",
        "shop/__init__.py",
        "shop/errors.py",
        "shop/ledger.py",
        "shop/report.py",
    ]
    found = await ask(desk, "search", pattern=r"class \w+", glob="*.py")
    assert [(each["path"], each["line"]) for each in found["matches"]] == [
        ("shop/errors.py", 1),
        ("shop/ledger.py", 4),
    ]
    assert (await ask(desk, "search", pattern="nothing like it"))["matches"] == []
    part = await ask(desk, "read_file", path="shop/errors.py", start=2, end=2)
    assert part["content"].startswith('    """The caller')
    assert part["shown"] == [2, 2]
    assert (await ask(desk, "bash", command="git log --oneline | wc -l; git status --short"))[
        "output"
    ] == "1\n"


async def test_changes_are_seen_and_nothing_else(desk: CodeTools) -> None:
    await ask(desk, "edit", path="shop/report.py", old="sorted(", new="list(")
    await ask(desk, "write_file", path="notes/a b.txt", content="first\r\nlast")
    await ask(
        desk,
        "bash",
        command="rm shop/errors.py; printf '#!/bin/sh\\n' > go; chmod +x go; mkdir empty; python3 -c pass",
    )
    changed = await desk.diff()
    assert set(changed) == {"shop/report.py", "notes/a b.txt", "shop/errors.py", "go"}
    assert changed["shop/errors.py"] is None
    assert changed["go"] == File(b"#!/bin/sh\n", executable=True)
    assert changed["notes/a b.txt"] == File(b"first\r\nlast")


async def test_an_edit_keeps_what_it_does_not_touch(desk: CodeTools) -> None:
    raw = b"\xff\xfe one\r\ntwo\r\ntwo"
    await desk.box.write({"raw.bin": File(raw, executable=True)})
    assert await refused(desk, "edit", path="raw.bin", old="two", new="2") == "AMBIGUOUS"
    assert await refused(desk, "edit", path="raw.bin", old="three", new="3") == "NO_MATCH"
    await ask(desk, "edit", path="raw.bin", old="one", new="1")
    assert (await desk.diff())["raw.bin"] == File(b"\xff\xfe 1\r\ntwo\r\ntwo", executable=True)


async def test_mistakes_are_answers(desk: CodeTools) -> None:
    assert await refused(desk, "no_such_tool") == "UNKNOWN_TOOL"
    assert await refused(desk, "bash") == "INVALID_ARGUMENTS"
    assert await refused(desk, "bash", command="true", timeout=0) == "INVALID_ARGUMENTS"
    assert await refused(desk, "read_file", path="nope.py") == "NOT_FOUND"
    assert await refused(desk, "read_file", path="shop") == "NOT_A_FILE"
    assert await refused(desk, "write_file", path="/etc/passwd", content="x") == "NOT_WRITABLE"
    assert await refused(desk, "write_file", path="shop", content="x") == "NOT_WRITABLE"
    assert await refused(desk, "list_files", path="README.md") == "NOT_A_FOLDER"
    assert await refused(desk, "search", pattern="(") == "BAD_PATTERN"
    assert await refused(desk, "search", pattern="x", path="nope") == "NOT_FOUND"
    assert await refused(desk, "run_tests", target="nope.py") == "NOT_FOUND"
    assert await refused(desk, "bash", command="sleep 60", timeout=1) == "TIMEOUT"


async def test_tests_of_the_repository(desk: CodeTools) -> None:
    assert (await ask(desk, "run_tests"))["counts"] == {}
    text = "from shop.ledger import Ledger\n\ndef test_new():\n    assert Ledger().available('x') == 0\n\ndef test_bad():\n    assert 0\n"
    await ask(desk, "write_file", path="tests/test_mine.py", content=text)
    value = await ask(desk, "run_tests")
    assert value["counts"] == {"failed": 1, "passed": 1}
    assert value["exit_code"] == 1
    assert " in 0." not in value["output"]
    assert (await ask(desk, "run_tests", target="tests/test_mine.py::test_new"))["counts"] == {"passed": 1}


async def test_the_container_may_end_and_says_so(desk: CodeTools) -> None:
    assert await refused(desk, "bash", command="kill -9 -1; sleep 5") == "SANDBOX_GONE"
    assert await refused(desk, "read_file", path="README.md") == "SANDBOX_GONE"


async def test_what_the_tools_change_is_what_is_graded(desk: CodeTools, pool: Pool) -> None:
    for path, text in desk.task.gold.items():
        await ask(desk, "write_file", path=path, content=text)
    assert (await grade(pool, desk.task, await desk.diff())).status == "passed"
