"""The teacher as author: what it makes of small worlds."""

from __future__ import annotations

import asyncio
import random

from pipeline.config.tasks import TasksConfig
from pipeline.records import Task, World
from pipeline.tasks.money import money_columns
from pipeline.tasks.persons import persons
from pipeline.teacher.author import TeacherAuthor
from pipeline.teacher.drafts import Draft
from pipeline.worlds.admission import admit
from pipeline.worlds.sql import SqlWorld
from tests.worlds.families import bikes, transfers


def _tasks(world: World, count: int = 60, **config: object) -> list[Task]:
    author = TeacherAuthor(TasksConfig.model_validate({"goal_counts": {2: 1.0}, **config}))
    return asyncio.run(author.tasks(world, count, 5))


def test_a_world_with_differently_named_arguments_is_admitted() -> None:
    assert [str(problem) for problem in admit(transfers(), language=False).problems] == []


def test_identifiers_are_looked_up_through_the_column_that_from_names() -> None:
    moves = [
        call
        for task in _tasks(transfers())
        for call in task.reference
        if call.tool == "move_money" and call.error is None
    ]
    assert moves
    for call in moves:
        assert call.sources["from_account"].column == "account_id"
        assert call.sources["to_account"].column == "account_id"
        assert call.sources["from_account"].fact != call.sources["to_account"].fact


def test_a_task_belongs_to_one_person() -> None:
    found = persons(transfers())
    owners = {"OR-101": "070 111 2201", "OR-202": "070 111 2202"}
    assert found.of("orders.order_ref", "OR-101") == found.of("accounts.account_id", "A2")
    assert found.of("orders.order_ref", "OR-101") != found.of("orders.order_ref", "OR-202")
    mixed = 0
    for task in _tasks(transfers()):
        phones = {call.arguments["phone"] for call in task.reference if "phone" in call.arguments}
        orders = {call.arguments["order_ref"] for call in task.reference if "order_ref" in call.arguments}
        assert len(phones) <= 1
        if phones and orders:
            mixed += 1
            assert phones == {owners[one] for one in orders}
    assert mixed


def test_a_refusal_that_needs_calls_before_it_makes_goals_of_them() -> None:
    world = transfers()
    settle = world.tool_by_name["settle"]
    live = SqlWorld(world)
    try:
        draft = Draft(world, live, random.Random(1))
        assert settle.program is not None
        witness = next(one for one in settle.program.witnesses if one.before)
        refused = witness.model_copy(update={"error": "SETTLED"})
        added = draft._add_witness(settle, "refuse", refused)
    finally:
        live.close()
    # the reference is stated, not read, so a refusal would be no more than a known number: not worth a task
    assert not added
    assert draft.goals == []
    assert draft.plan.calls == []


def test_a_refusal_after_a_call_of_ones_own() -> None:
    tasks = _tasks(bikes(), 120, goal_kinds={"refuse": 1.0}, goal_counts={1: 1.0})
    found = [task for task in tasks if any(call.error == "TOO_MANY" for call in task.reference)]
    assert found
    for task in found:
        assert [goal.kind for goal in task.goals[:2]] == ["act", "refuse"]
        assert [call.tool for call in task.reference if call.tool == "start_hire"] == [
            "start_hire",
            "start_hire",
        ]


def test_equal_seeds_give_equal_tasks() -> None:
    assert [task.id for task in _tasks(bikes(), 20)] == [task.id for task in _tasks(bikes(), 20)]


def test_money_is_found_by_the_amounts_where_the_name_does_not_tell() -> None:
    found = money_columns(transfers())
    assert {"balance", "left_over", "amount"} <= found
    assert "weight_kg" not in found


def test_lost_results_are_not_asked_for() -> None:
    tasks = _tasks(bikes(), 150, fault_rate=1.0)
    lost = [task for task in tasks if any(fault.kind == "timeout_after" for fault in task.faults)]
    assert lost
    for task in lost:
        cut = next(fault.tool for fault in task.faults if fault.kind == "timeout_after")
        goals = {call.goal for call in task.reference if call.tool == cut}
        names = {check.name for check in task.rubric.checks}
        if len(goals) == 1:
            assert f"tells the result ({goals.pop() + 1})" not in names
