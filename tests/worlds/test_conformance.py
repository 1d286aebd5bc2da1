"""One suite for every host: each is held to the interface, and to the ability it declares."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from pipeline.records import Failure, Fault, Snapshot, WorldError, canonical_json
from pipeline.sandbox import engine_problem
from pipeline.worlds.cassette import CassetteHost, Recorded, Recorder
from pipeline.worlds.faults import FaultyHost
from pipeline.worlds.host import CallResult, ToolHost
from tests.worlds.hosts import CASES, Called, Case, Open


@pytest.fixture(params=[pytest.param(case, id=case.name, marks=case.marks) for case in CASES])
def case(request: pytest.FixtureRequest) -> Case:
    found: Case = request.param
    if found.name == "container":
        request.getfixturevalue("needs_docker")
    return found


@pytest.fixture(scope="session")
def needs_docker() -> None:
    if problem := engine_problem():
        pytest.skip(problem)


@pytest_asyncio.fixture
async def open_one(case: Case) -> AsyncIterator[Open]:
    async with case.opener() as opener:
        yield opener


async def make(host: ToolHost, call: Called) -> CallResult:
    result = await host.call(*call)
    assert result.after == host.snapshot().ref
    assert canonical_json(result.value)
    assert result.ok is (result.error is None)
    return result


async def test_calls_that_cannot_be_made_are_results_and_change_nothing(case: Case, open_one: Open) -> None:
    host = await open_one()
    assert host.ability == case.ability
    assert all(name == tool.name for name, tool in host.tools.items())
    first = host.snapshot()
    for call, code in (
        (("no_such_tool", {}), Failure.UNKNOWN_TOOL),
        (("__class__", {}), Failure.UNKNOWN_TOOL),
        (case.invalid, Failure.INVALID_ARGUMENTS),
        (case.refused, case.code),
    ):
        result = await make(host, call)
        assert result.error is not None
        assert (result.error[0], result.before, result.after) == (code, first.ref, first.ref)
        assert result.error[1]
    assert host.snapshot() == first


async def test_what_is_written_is_read_back_and_states_follow_each_other(case: Case, open_one: Open) -> None:
    host = await open_one()
    before = host.snapshot().ref
    written = await make(host, case.write)
    assert written.ok, written.error
    assert (written.before, written.before != written.after) == (before, True)
    for _ in range(2):
        read = await make(host, case.read)
        assert read.ok, read.error
        assert case.shown(read.value)
        assert read.before == read.after == written.after


async def test_hosts_side_by_side_see_only_their_own(case: Case, open_one: Open) -> None:
    one, other = await asyncio.gather(open_one(), open_one())
    assert one.snapshot() == other.snapshot()
    await make(one, case.write)
    unseen = await make(other, case.read)
    assert not (unseen.ok and case.shown(unseen.value))
    await make(other, case.other_write)
    assert one.snapshot().ref != other.snapshot().ref
    assert case.shown((await make(one, case.read)).value)


async def test_a_closed_host_leaves_nothing_to_the_next(case: Case, open_one: Open) -> None:
    host = await open_one()
    first = host.snapshot()
    await make(host, case.write)
    await host.close()
    await host.close()
    after = await open_one()
    assert after.snapshot() == first
    read = await make(after, case.read)
    assert not (read.ok and case.shown(read.value))


async def test_states_come_back_as_declared(case: Case, open_one: Open) -> None:
    host = await open_one()
    first = host.snapshot()
    if case.ability == "none":
        with pytest.raises(WorldError):
            await host.restore(first)
        return
    answers = [await make(host, case.write), await make(host, case.read)]
    kept = Snapshot.model_validate_json(host.snapshot().model_dump_json())
    await make(host, case.other_write)
    assert host.snapshot().ref != kept.ref
    await host.restore(kept)
    assert host.snapshot() == kept
    assert (await make(host, case.read)).value == answers[1].value
    other = await open_one()
    await other.restore(kept)
    assert other.snapshot() == kept
    assert (await make(other, case.read)).value == answers[1].value
    await host.restore(first)
    assert host.snapshot() == first
    again = [await make(host, case.write), await make(host, case.read)]
    assert again == answers, "equal states and calls give equal answers"
    with pytest.raises(WorldError):
        await host.restore(kept.replace(world="another"))


async def test_faults_are_the_same_above_every_host(case: Case, open_one: Open) -> None:
    host = await open_one()
    tool = case.write[0]
    plan = [Fault(tool=tool, nth=1, kind="timeout_before"), Fault(tool=tool, nth=2, kind="timeout_after")]
    faulty = FaultyHost(host, plan)
    first = host.snapshot().ref
    lost, kept = await faulty.call(*case.write), await faulty.call(*case.write)
    assert [one.result.error and one.result.error[0] for one in (lost, kept)] == [Failure.TIMEOUT] * 2
    assert (lost.result.before, lost.result.after) == (first, first)
    assert kept.fault
    assert kept.fault.committed
    assert case.shown((await make(host, case.read)).value)
    host.advance(3600)


async def test_a_recording_answers_in_its_place(case: Case, open_one: Open) -> None:
    recorder = Recorder(await open_one())
    made = [case.write, case.read, case.refused, case.invalid, case.other_write, case.read]
    answers = [await recorder.call(*call) for call in made]
    recording = [Recorded.from_json(one.to_json()) for one in recorder.take()]
    assert recorder.take() == []
    replayed = CassetteHost(list(recorder.tools.values()), recording)
    assert [await replayed.call(*call) for call in made] == answers
    with pytest.raises(WorldError, match="has ended"):
        await replayed.call(*case.read)
    other = CassetteHost(list(recorder.tools.values()), recording)
    with pytest.raises(WorldError, match="goes on with"):
        await other.call(*case.read)
