"""The host whose tools work on a repository in a container."""

from __future__ import annotations

import base64
import contextlib
from collections.abc import Mapping

from pipeline.records import CodeTask, Json, Snapshot, ToolSpec, WorldError
from pipeline.records.base import content_id
from pipeline.sandbox import BoxEnded, File, GuestError, Link, Pool
from pipeline.sandbox.tools import TOOL_BY_NAME, CodeTools
from pipeline.worlds.host import Ability, CallResult


class ContainerHost:
    """One fresh container for one episode.

    A snapshot is the difference of the work area from the task's repository: files come back when it is restored,
    processes do not; hence `recorded`.
    """

    ability: Ability = "recorded"
    tools: Mapping[str, ToolSpec] = TOOL_BY_NAME

    def __init__(self, task: CodeTask, desk: CodeTools, stack: contextlib.AsyncExitStack) -> None:
        self.task = task
        self._desk = desk
        self._stack = stack
        self._changes: dict[str, File | Link | None] = {}
        self._gone = False

    @classmethod
    async def open(cls, pool: Pool, task: CodeTask) -> ContainerHost:
        """A container with the repository in it. Raises SandboxError when no engine can give one."""
        async with contextlib.AsyncExitStack() as stack:
            desk = CodeTools(await stack.enter_async_context(pool.box(task.image)), task)
            await desk.open()
            return cls(task, desk, stack.pop_all())
        raise AssertionError("unreachable")

    async def call(self, name: str, arguments: dict[str, Json]) -> CallResult:
        before = self.snapshot().ref
        answer = await self._desk.call(name, arguments)
        tool = TOOL_BY_NAME.get(name)
        if tool and not tool.annotations.read_only:
            await self._look()
        return CallResult(answer.ok, answer.value, answer.error, before, self.snapshot().ref)

    async def _look(self) -> None:
        if not self._gone:
            try:
                self._changes = await self._desk.diff()
            except BoxEnded:
                self._gone = True  # what had been changed before is the last that is known
            except GuestError:
                self._changes = {}  # more than can be carried: no solution

    def snapshot(self) -> Snapshot:
        rows: list[Json] = []
        for path, file in sorted(self._changes.items()):
            if isinstance(file, File):
                data = base64.b64encode(file.data).decode()
                rows.append(["file", path, {"base64": data, "executable": file.executable}])
            else:
                rows.append(["file", path, None if file is None else {"link": file.target}])
        state = content_id("tree", [self.task.id, rows], size=16)
        return Snapshot(ref=state, state=state, world=self.task.id, rows=tuple(rows))

    async def restore(self, snapshot: Snapshot) -> None:
        if snapshot.world != self.task.id:
            raise WorldError(f"The snapshot {snapshot.ref} is of another task than {self.task.name}.")
        files: dict[str, File | bytes | None] = {}
        for _, path, row in snapshot.rows:
            if row is not None and "link" in row:
                continue  # links are not carried into grading either
            files[path] = None if row is None else File(base64.b64decode(row["base64"]), row["executable"])
        try:
            await self._desk.reset(files)
        except (BoxEnded, GuestError) as error:
            raise WorldError(f"The container cannot be set back: {error}.") from error
        await self._look()

    def advance(self, seconds: float) -> None:
        """Containers have no virtual clock; waiting costs nothing here."""

    def changes(self) -> dict[str, File | Link | None]:
        """What the agent has changed so far: the solution that is graded."""
        return dict(self._changes)

    async def close(self) -> None:
        await self._stack.aclose()
