"""The teacher at code tasks: its edits lead to the reference, its flaws do not, and equal seeds give equal turns."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.records import CodeTask, Message
from pipeline.sandbox import load_tasks
from pipeline.teacher.code import FLAWS, RECOVERIES, CodeTeacher, choose_way
from pipeline.teacher.code_edits import Act, changed_names, mutated, plan_acts, spoiled

DATA = Path(__file__).parent.parent.parent / "data" / "code_tasks"
TASKS = {task.name: task for task in load_tasks(DATA) if isinstance(task, CodeTask)}


def carried_out(files: dict[str, str], acts: list[Act]) -> dict[str, str]:
    """What the files are after edits and writes."""
    files = dict(files)
    for act in acts:
        if act.tool == "write_file":
            files[act.path] = str(act.arguments["content"])
        elif act.tool == "edit":
            assert files[act.path].count(str(act.arguments["old"])) == 1
            files[act.path] = files[act.path].replace(str(act.arguments["old"]), str(act.arguments["new"]))
        elif str(act.arguments["command"]).startswith("rm "):
            del files[str(act.arguments["command"]).removeprefix("rm ")]
    return files


@pytest.mark.parametrize("name", TASKS)
def test_the_edits_lead_to_the_reference(name: str) -> None:
    task = TASKS[name]
    after = carried_out(task.files, plan_acts(task, task.gold))
    wanted = {**task.files, **task.gold}
    assert after == {path: text for path, text in wanted.items() if text is not None}


LINES = st.lists(
    st.sampled_from(["a = 1\n", "b = 2\n", "\n", "def f():\n", "    return a\n"]), max_size=12
).map("".join)


@given(LINES, LINES)
def test_any_two_texts_are_led_to_each_other(before: str, after: str) -> None:
    task = CodeTask(name="x", statement="x", files={"x.py": before}, tests={}, gold={"x.py": after})
    assert carried_out(task.files, plan_acts(task, task.gold)) == {"x.py": after}


@pytest.mark.parametrize("name", TASKS)
def test_an_inexact_copy_matches_nowhere(name: str) -> None:
    task = TASKS[name]
    for act in plan_acts(task, task.gold):
        if act.tool == "edit":
            assert str(spoiled(act.arguments)["old"]) not in task.files[act.path]


def test_a_wrong_value_differs_in_one_place() -> None:
    task = TASKS["merge-intervals"]
    wrong = mutated(task, task.gold, random.Random(1))
    (path,) = wrong
    before, after = str(task.gold[path]).splitlines(), str(wrong[path]).splitlines()
    assert sum(a != b for a, b in zip(before, after, strict=True)) == 1


def test_changed_names() -> None:
    old = "def a(): pass\n\nclass B:\n    def c(self): pass\n    def d(self): pass\n"
    new = "def a(): pass\n\nclass B:\n    def c(self): return 1\n    def d(self): pass\n\ndef e(): pass\n"
    assert changed_names(old, new) == ["B.c", "e"]


async def turns(task: CodeTask, way: str, seed: str = "s") -> list[tuple[str, str]]:
    """The whole script as (text and calls, note)."""
    teacher, messages, found = CodeTeacher(task, seed, way), [Message(role="user", content="go")], []
    while True:
        turn = await teacher.act(messages, ())
        found.append((turn.content + "".join(f"\n{call.name} {call.raw}" for call in turn.calls), turn.note))
        if not turn.calls:
            return found
        messages.append(Message(role="assistant", content=turn.content, calls=turn.calls))


@pytest.mark.parametrize(
    "way", ["", *(f"recovery:{way}" for way in RECOVERIES), *(f"flaw:{way}" for way in FLAWS)]
)
async def test_equal_seeds_give_equal_turns_and_ways_are_labeled(way: str) -> None:
    task = TASKS["stock-ledger"]
    first = await turns(task, way)
    assert first == await turns(task, way)
    assert first != await turns(task, way, "other")
    assert {note for _, note in first} - {""} == ({way} if way else set())
    assert "<" not in "".join(text.split("\n")[0] for text, _ in first), first


async def test_a_flaw_that_does_not_fit_becomes_another_one() -> None:
    notes = {note for _, note in await turns(TASKS["binary-search-bounds"], "flaw:half_done")}
    assert notes - {""} == {"flaw:wrong_value"}


def test_the_share_of_flaws_is_the_configured_one() -> None:
    ways = [choose_way(f"t{number}", 0.3) for number in range(2000)]
    assert 0.27 < sum(way.startswith("flaw:") for way in ways) / 2000 < 0.33
    assert {way.partition(":")[2] for way in ways} == {"", *RECOVERIES, *FLAWS}
