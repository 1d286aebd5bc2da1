"""Rubrics of tasks that rules make can be judged by."""

from __future__ import annotations

from pipeline.assets import asset
from pipeline.config.tasks import TasksConfig
from pipeline.records import ArgumentSource, Goal, ReferenceCall
from pipeline.tasks.rubric import _tool_checks
from pipeline.teacher.author import TeacherAuthor
from pipeline.worlds.load import load_world


async def test_no_rubric_of_the_shipped_worlds_contradicts_itself() -> None:
    faults = []
    for path in sorted(asset("tools_repo/worlds").glob("*.yaml")):
        made = await TeacherAuthor(TasksConfig()).tasks(load_world(path), 12, 5)
        faults += [(path.name, task.rubric.faults) for task in made if task.rubric.faults]
    assert not faults


def test_two_rows_looked_up_by_one_tool_are_one_check() -> None:
    world = load_world(asset("tools_repo/worlds") / "smart_home.yaml")
    write = next(tool.name for tool in world.tools if not tool.annotations.read_only)
    look = next(tool.name for tool in world.tools if tool.annotations.read_only)
    read = {f"x{step}": ArgumentSource(kind="read", step=step) for step in (0, 1)}
    calls = [
        ReferenceCall(goal=0, tool=look, arguments={"n": 1}),
        ReferenceCall(goal=0, tool=look, arguments={"n": 2}),
        ReferenceCall(goal=0, tool=write, arguments={"x0": "a", "x1": "b"}, sources=read),
    ]
    names = [check.name for check in _tool_checks(world, [Goal(intent="x")], calls)]
    assert len(names) == len(set(names)) == 2
