"""What an agent can do in a container: seven tools on one box, and the repository they work on.

Answers hold nothing that a clock measures, so that equal acts give equal observations.
"""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jsonschema_rs

from pipeline.records.base import Json
from pipeline.records.code import CodeTask
from pipeline.records.errors import Failure
from pipeline.records.tools import DeclaredError, Provenance, ToolAnnotations, ToolSpec
from pipeline.sandbox.box import BoxEnded, ExecResult, File, GuestError, Link, Sandbox
from pipeline.sandbox.carry import task_files

KEPT_OUTPUT = 16 << 10
"""Bytes of a command's output that an agent gets to see."""
KEPT_LINES = 400
KEPT_MATCHES = 100
MAX_SECONDS = 120
RUNNER = "/tmp/.run_tests.py"
SCRIPT = Path(__file__).with_name("runner.py")
"""Sent into the container and never imported here: it needs pytest, which the product does not."""

MISSING = DeclaredError(code="NOT_FOUND", message="There is no such file or folder.")
NO_FILE = DeclaredError(code="NOT_A_FILE", message="The path is not a regular file.")
REFUSED = DeclaredError(code="NOT_WRITABLE", message="The path cannot be written.")
NO_MATCH = DeclaredError(code="NO_MATCH", message="The old text does not occur in the file.")
AMBIGUOUS = DeclaredError(code="AMBIGUOUS", message="The old text occurs more than once.")
NO_FOLDER = DeclaredError(code="NOT_A_FOLDER", message="The path is not a folder.")
BAD_PATTERN = DeclaredError(code="BAD_PATTERN", message="The pattern is no regular expression.")
GONE = DeclaredError(code="SANDBOX_GONE", message="The container has ended; nothing more can be done in it.")


def _text(description: str, **more: Json) -> dict[str, Json]:
    return {"type": "string", "description": description, **more}


def _whole(description: str, **more: Json) -> dict[str, Json]:
    return {"type": "integer", "description": description, **more}


def _tool(
    name: str,
    description: str,
    properties: dict[str, Json],
    required: tuple[str, ...],
    errors: tuple[DeclaredError, ...] = (),
    **hints: bool,
) -> ToolSpec:
    schema: dict[str, Json] = {"type": "object", "properties": properties, "additionalProperties": False}
    if required:
        schema["required"] = list(required)
    return ToolSpec(
        name=name,
        description=description,
        input_schema=schema,
        annotations=ToolAnnotations(**hints),
        errors=(*errors, GONE),
        provenance=Provenance(
            source="evolved", domain="software/coding/repository", author="hand", license="Apache-2.0"
        ),
    )


_PATH = "Path, relative to the root of the repository."
TOOLS: tuple[ToolSpec, ...] = (
    _tool(
        "bash",
        "Run a shell command with bash in the root of the repository. Returns its exit code and what it printed "
        "(standard output and error together; long output is cut in the middle). Nothing can be typed into it, there "
        "is no network, and each command starts in a fresh shell.",
        {
            "command": _text("The command line.", minLength=1),
            "timeout": _whole(
                "Seconds after which it is stopped.", minimum=1, maximum=MAX_SECONDS, default=30
            ),
        },
        ("command",),
        destructive=True,
    ),
    _tool(
        "read_file",
        f"Read a text file, or some of its lines. At most {KEPT_LINES} lines are returned at once.",
        {
            "path": _text(_PATH, minLength=1),
            "start": _whole("First line, counted from 1.", minimum=1, default=1),
            "end": _whole("Last line, included.", minimum=1),
        },
        ("path",),
        (MISSING, NO_FILE),
        read_only=True,
        idempotent=True,
    ),
    _tool(
        "write_file",
        "Create a file, or replace its whole content. Folders are made as needed.",
        {"path": _text(_PATH, minLength=1), "content": _text("The whole content.")},
        ("path", "content"),
        (REFUSED,),
        destructive=True,
        idempotent=True,
    ),
    _tool(
        "edit",
        "Replace a piece of text in a file. The old text must be given exactly, white space included, and occur "
        "exactly once unless `all` is true.",
        {
            "path": _text(_PATH, minLength=1),
            "old": _text("The text to be replaced.", minLength=1),
            "new": _text("What stands there instead."),
            "all": {"type": "boolean", "description": "Replace every occurrence.", "default": False},
        },
        ("path", "old", "new"),
        (MISSING, NO_FILE, NO_MATCH, AMBIGUOUS, REFUSED),
        destructive=True,
    ),
    _tool(
        "list_files",
        "List files and folders below a folder.",
        {
            "path": _text("Folder, relative to the root of the repository.", default="."),
            "depth": _whole("How many levels down.", minimum=1, maximum=10, default=3),
        },
        (),
        (MISSING, NO_FOLDER),
        read_only=True,
        idempotent=True,
    ),
    _tool(
        "search",
        "Search the files of the repository for a regular expression. Returns matching lines with path and number.",
        {
            "pattern": _text("Regular expression.", minLength=1),
            "path": _text("File or folder to search in.", default="."),
            "glob": _text("Only files that fit this glob, e.g. `*.py`."),
        },
        ("pattern",),
        (MISSING, BAD_PATTERN),
        read_only=True,
        idempotent=True,
    ),
    _tool(
        "run_tests",
        "Run the tests that are in the repository with pytest: all of them, or those of one file or one test id.",
        {"target": _text("A test file, folder or test id; empty: everything.", default="")},
        (),
        (MISSING,),
    ),
)
TOOL_BY_NAME: Mapping[str, ToolSpec] = {tool.name: tool for tool in TOOLS}
_VALIDATORS = {tool.name: jsonschema_rs.validator_for(tool.input_schema) for tool in TOOLS}


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """ok: `value` is the result; otherwise `error` is (code, message)."""

    ok: bool
    value: Json = None
    error: tuple[str, str] | None = None


class Refusal(Exception):
    """A declared error of a tool, on its way to the agent."""

    def __init__(self, error: DeclaredError, message: str = "") -> None:
        super().__init__(message or error.message)
        self.code = error.code


class TimedOut(Exception):
    """A command reached its deadline; the message holds what it had printed."""


class CodeTools:
    """The tools on one box. `open` lays out the repository; `call` never raises but SandboxError."""

    tools = TOOL_BY_NAME

    def __init__(self, box: Sandbox, task: CodeTask) -> None:
        self.box = box
        self.task = task

    async def open(self) -> None:
        """Writes the repository into the work area, as one commit of a fresh git history."""
        await self.box.write(task_files(self.task))
        await self.box.mark()
        environment = {
            f"GIT_{who}_{what}": value
            for who in ("AUTHOR", "COMMITTER")
            for what, value in (("NAME", "dev"), ("EMAIL", "dev@localhost"), ("DATE", "2026-01-01T00:00:00Z"))
        }
        command = "git init -q -b main . && git add -A && git commit -q --allow-empty -m 'Initial state'"
        await self.box.run(command, env=environment)

    async def call(self, name: str, arguments: dict[str, Json]) -> ToolAnswer:
        """Executes one call. A wrong name or wrong arguments are answers too."""
        if name not in TOOL_BY_NAME:
            return ToolAnswer(False, error=(Failure.UNKNOWN_TOOL, f"There is no tool {name}."))
        if problem := next(_VALIDATORS[name].iter_errors(arguments), None):
            return ToolAnswer(False, error=(Failure.INVALID_ARGUMENTS, problem.message))
        act: Callable[..., Awaitable[Json]] = getattr(self, f"_{name}")
        try:
            return ToolAnswer(True, await act(**arguments))
        except Refusal as refusal:
            return ToolAnswer(False, error=(refusal.code, str(refusal)))
        except BoxEnded:
            return ToolAnswer(False, error=(GONE.code, GONE.message))
        except TimedOut as late:
            return ToolAnswer(False, error=(Failure.TIMEOUT, str(late)))

    async def reset(self, changes: Mapping[str, File | bytes | None]) -> None:
        """The repository as it was at first, with `changes`. Raises BoxEnded or GuestError."""
        await self.box.clear()
        await self.open()
        await self.box.write(changes)

    async def diff(self) -> dict[str, File | Link | None]:
        """What the agent has changed. Raises BoxEnded when the container is gone, GuestError beyond 16 MB."""
        return await self.box.diff()

    async def _bash(self, command: str, timeout: int = 30) -> Json:  # noqa: ASYNC109 - the tool's own argument
        result = await self.box.run(command, timeout=timeout, merge=True, keep=KEPT_OUTPUT)
        return _finished(result, timeout)

    async def _read_file(self, path: str, start: int = 1, end: int | None = None) -> Json:
        data = await self._bytes(path)
        lines = data.decode("utf-8", "replace").splitlines(keepends=True)
        last = min(len(lines), end or len(lines), start + KEPT_LINES - 1)
        value: dict[str, Json] = {
            "path": path,
            "content": "".join(lines[start - 1 : last]),
            "lines": len(lines),
        }
        if start > 1 or last < len(lines):
            value["shown"] = [start, max(last, start - 1)]
        return value

    async def _write_file(self, path: str, content: str) -> Json:
        await self._put(path, File(content.encode("utf-8", "replace")))
        return {"path": path, "bytes": len(content.encode("utf-8", "replace"))}

    async def _edit(self, path: str, old: str, new: str, all: bool = False) -> Json:
        data, executable = await self._bytes(path), await self._executable(path)
        before, after = old.encode("utf-8", "replace"), new.encode("utf-8", "replace")
        count = data.count(before)
        if count == 0:
            hint = " The file has CRLF line ends." if b"\r\n" in data and b"\r" not in before else ""
            raise Refusal(NO_MATCH, NO_MATCH.message + hint)
        if count > 1 and not all:
            raise Refusal(
                AMBIGUOUS, f"The old text occurs {count} times; give more of its surroundings, or set `all`."
            )
        await self._put(path, File(data.replace(before, after), executable))
        return {"path": path, "replaced": count}

    async def _list_files(self, path: str = ".", depth: int = 3) -> Json:
        try:
            entries, more = await self.box.entries(path, depth=depth, limit=500)
        except GuestError as error:
            raise Refusal(NO_FOLDER if error.kind == "NotADirectoryError" else MISSING) from error
        listed = [f"{name}/" if kind == "folder" else name for name, kind, _ in entries]
        return {"path": path, "entries": listed} | ({"more": True} if more else {})

    async def _search(self, pattern: str, path: str = ".", glob: str = "") -> Json:
        argv = ["rg", "--json", "--sort", "path", "--hidden", "--glob", "!.git", "--max-columns", "400"]
        argv += ["--glob", glob] if glob else []
        result = await self.box.run([*argv, "-e", pattern, "--", path], timeout=30, keep=1 << 20)
        if result.ended:
            raise BoxEnded
        if result.timed_out:
            raise TimedOut("The search did not end within 30 seconds.")
        if result.exit_code == 2:
            message = result.stderr.text.strip()
            raise Refusal(BAD_PATTERN if "regex" in message else MISSING, message[:400])
        matches = _matches(result.stdout.text)
        return {"matches": matches[:KEPT_MATCHES]} | ({"more": True} if len(matches) > KEPT_MATCHES else {})

    async def _run_tests(self, target: str = "") -> Json:
        await self._put(RUNNER, File(SCRIPT.read_bytes()))
        plan = {
            "root": "/work",
            "ids": [target] if target else [],
            "seed": None,
            "report": "/tmp/.report",
            "canary": "",
        }
        await self.box.write({"/tmp/.report": None, "/tmp/.plan": json.dumps(plan).encode()})
        argv = ["python3", "-I", "-B", RUNNER, "/tmp/.plan"]
        result = await self.box.run(argv, timeout=self.task.timeout, merge=True, keep=KEPT_OUTPUT)
        value = _finished(result, int(self.task.timeout))
        if result.exit_code == 4:
            raise Refusal(MISSING, f"There is no test at {target}.")
        try:
            report = await self.box.read("/tmp/.report")
        except GuestError:
            report = b""  # the test process never got that far; its output says why
        tests = [json.loads(line) for line in report.splitlines()]
        outcomes = [each["outcome"] for each in tests if "id" in each]
        counts: dict[str, Json] = {kind: outcomes.count(kind) for kind in sorted(set(outcomes))}
        return {"counts": counts, **value}

    async def _bytes(self, path: str) -> bytes:
        try:
            return await self.box.read(path)
        except GuestError as error:
            missing = error.kind in ("FileNotFoundError", "NotADirectoryError")
            raise Refusal(MISSING if missing else NO_FILE, "" if missing else str(error)) from error

    async def _executable(self, path: str) -> bool:
        return (await self.box.run(["test", "-x", path])).exit_code == 0

    async def _put(self, path: str, file: File) -> None:
        try:
            await self.box.write({path: file})
        except GuestError as error:
            raise Refusal(REFUSED, str(error)) from error


_DURATION = re.compile(
    r"(?m)^(.*\b(?:passed|failed|error|errors|skipped|ran)\b.*) in [\d.]+s(?: \([\d:]+\))?"
)
_ADDRESS = re.compile(r"(?<= at )0x[0-9a-f]{6,16}\b")


def _steady(text: str) -> str:
    """Output without what differs from run to run: durations of tests, addresses of objects."""
    return _ADDRESS.sub("0x7f0000000000", _DURATION.sub(r"\1", text))


def _finished(result: ExecResult, seconds: int) -> dict[str, Any]:
    """The answer for a command that ended by itself; raises for one that did not."""
    text = _steady(result.stdout.text)
    if result.timed_out:
        raise TimedOut(
            f"The command did not end within {seconds} seconds and was stopped. It had printed:\n{text}"
        )
    if result.ended:
        raise BoxEnded
    value: dict[str, Any] = {"exit_code": result.exit_code, "output": text}
    if result.signal is not None:
        value = {"exit_code": 128 + result.signal, "output": text}
    if result.oom:
        value["note"] = "A process was killed because the memory of the container was used up."
    if result.exit_code == 127 and not text:
        value["output"] = result.stderr.text
    return value


def _matches(report: str) -> list[Json]:
    found: list[Json] = []
    for line in report.splitlines():
        try:
            entry = json.loads(line)
        except ValueError:
            continue  # a line that was cut in the middle of a very long report
        if entry.get("type") == "match":
            data = entry["data"]
            text = data["lines"].get("text", "").rstrip("\n")
            path = data["path"].get("text", "").removeprefix("./")
            found.append({"path": path, "line": data["line_number"], "text": text[:400]})
    return found
