"""Injected faults: planned by tool and number of the call, seen as a caller would see them."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from pipeline.records import Call, Failure, Fault
from pipeline.worlds.faults import PERMANENT, FaultyHost
from pipeline.worlds.sql import SqlHost
from pipeline.worlds.sql.host import _POOL
from tests.worlds.tiny import tiny_world

WORLD = tiny_world()
ADD = {"name": "bolt", "amount": 1}


@pytest.fixture
async def host() -> AsyncIterator[SqlHost]:
    made = SqlHost(WORLD)
    yield made
    await made.close()


async def test_only_the_planned_call_meets_its_fault(host: SqlHost) -> None:
    faulty = FaultyHost(host, [Fault(tool="add", nth=2, kind="error")])
    answers = [await faulty.call("add", ADD) for _ in range(3)]
    assert [answer.result.ok for answer in answers] == [True, False, True]
    assert [answer.fault is not None for answer in answers] == [False, True, False]
    assert answers[1].result.error
    assert answers[1].result.error[0] == Failure.UNAVAILABLE
    assert host.live.ask("select amount from items where name='bolt'") == [{"amount": 12}]


async def test_other_tools_do_not_count(host: SqlHost) -> None:
    faulty = FaultyHost(host, [Fault(tool="add", nth=1, kind="error")])
    assert (await faulty.call("look", {})).result.ok
    assert not (await faulty.call("add", ADD)).result.ok


async def test_a_permanent_fault_stays(host: SqlHost) -> None:
    faulty = FaultyHost(host, [Fault(tool="add", nth=2, kind="error", permanent=True)])
    answers = [await faulty.call("add", ADD) for _ in range(4)]
    assert [answer.result.ok for answer in answers] == [True, False, False, False]
    assert all(answer.result.error and answer.result.error[1] == PERMANENT for answer in answers[1:])


@pytest.mark.parametrize(("kind", "committed"), [("timeout_before", False), ("timeout_after", True)])
async def test_a_timeout_looks_alike_before_and_after_the_commit(
    host: SqlHost, kind: str, committed: bool
) -> None:
    faulty = FaultyHost(host, [Fault.model_validate({"tool": "add", "nth": 1, "kind": kind})])
    before = host.live.ref
    answer = await faulty.call("add", ADD)
    assert answer.result.error == (
        str(Failure.TIMEOUT),
        answer.result.error[1] if answer.result.error else "",
    )
    assert "not known" in (answer.result.error or ("", ""))[1]
    assert answer.fault
    assert answer.fault.committed is committed
    assert (host.live.ref != before) is committed
    assert (answer.result.before != answer.result.after) is committed


async def test_a_timeout_after_a_refusal_has_committed_nothing(host: SqlHost) -> None:
    faulty = FaultyHost(host, [Fault(tool="take", nth=1, kind="timeout_after")])
    answer = await faulty.call("take", {"name": "zero", "amount": 5})
    assert answer.fault
    assert not answer.fault.committed


async def test_a_rate_limit_moves_the_virtual_clock_and_never_sleeps(host: SqlHost) -> None:
    faulty = FaultyHost(host, [Fault(tool="add", nth=1, kind="rate_limit", wait=3600)])
    answer = await faulty.call("add", ADD)
    assert answer.result.error
    assert "3600 seconds" in answer.result.error[1]
    assert host.live.clock == "2026-03-02T09:00:00"
    assert answer.result.before != answer.result.after
    assert host.live.changes() == []


async def test_a_partial_list_says_so(host: SqlHost) -> None:
    faulty = FaultyHost(host, [Fault(tool="look", nth=1, kind="partial")])
    cut = (await faulty.call("look", {})).result.value
    whole = (await faulty.call("look", {})).result.value
    assert cut["items"] == whole[: len(whole) // 2]
    assert cut["incomplete"] is True
    assert str(len(whole) - len(whole) // 2) in cut["message"]


async def test_denied_is_permission_lost(host: SqlHost) -> None:
    faulty = FaultyHost(host, [Fault(tool="add", nth=1, kind="denied")])
    answer = await faulty.call("add", ADD)
    assert answer.result.error
    assert answer.result.error[0] == Failure.PERMISSION_DENIED
    assert host.live.changes() == []


async def test_calls_before_a_pause_count(host: SqlHost) -> None:
    faulty = FaultyHost(host, [Fault(tool="add", nth=3, kind="error")])
    faulty.recount(["add", "look", "add"])
    assert not (await faulty.call("add", ADD)).result.ok


async def test_a_host_gives_its_world_back_as_new() -> None:
    first = SqlHost(WORLD)
    await first.call("add", ADD)
    await first.close()
    await first.close()
    second = SqlHost(WORLD)
    assert second.live.changes() == []
    assert second.snapshot().ref == first.snapshot().ref
    await second.close()


async def test_idle_copies_of_many_worlds_do_not_pile_up() -> None:
    worlds = [WORLD.replace(summary=str(number)) for number in range(40)]
    for world in worlds:
        hosts = [SqlHost(world) for _ in range(6)]
        for one in hosts:
            await one.close()
    assert len(_POOL) <= 16
    assert all(len(idle) <= 4 for idle in _POOL.values())
    assert worlds[-1].id in _POOL
    again = SqlHost(worlds[0])
    assert (await again.call("add", ADD)).ok
    await again.close()


async def test_a_truncated_list_says_nothing(host: SqlHost) -> None:
    faulty = FaultyHost(host, [Fault(tool="look", nth=1, kind="partial", explicit=False)])
    answer = await faulty.call("look", {})
    whole = (await faulty.call("look", {})).result.value
    assert answer.result.value == whole[: len(whole) // 2]
    assert answer.fault
    assert answer.fault.kind == "partial"


async def test_a_stale_answer_is_that_of_the_beginning(host: SqlHost) -> None:
    faulty = FaultyHost(host, [Fault(tool="look", nth=2, kind="stale")])
    first = (await faulty.call("look", {})).result.value
    await faulty.call("add", ADD)
    ref = host.snapshot().ref
    stale = (await faulty.call("look", {})).result
    assert stale.value == {"items": first, "cached_at": WORLD.clock}
    assert stale.before == stale.after == host.snapshot().ref == ref
    assert (await faulty.call("look", {})).result.value != first


async def test_somebody_else_may_be_first(host: SqlHost) -> None:
    everything = {"name": "bolt", "amount": (await host.call("look", {})).value[0]["amount"]}
    others = Call(tool="take", arguments=everything)
    faulty = FaultyHost(host, [Fault(tool="take", nth=1, kind="changed", by=(others,))])
    before = host.snapshot().ref
    answer = await faulty.call("take", everything)
    assert not answer.result.ok
    assert (answer.result.before, answer.result.after) == (before, host.snapshot().ref)
    assert answer.result.after != before
    assert answer.fault
    assert not answer.fault.committed
