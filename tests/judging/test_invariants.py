"""Invariants hold after every write, and judges are told what changed."""

from __future__ import annotations

import pytest

from pipeline.config import parse_config
from pipeline.judging.differences import differences
from pipeline.judging.invariants import invariant_verdicts
from pipeline.records import ConfigError, Domain, Event, Invariant, Owner, Snapshot, Value, World
from pipeline.worlds.sql import SqlWorld

WORLD = World(
    name="shelf",
    domain=Domain(path="a/b/c"),
    clock="2026-01-01T09:00:00",
    schema_sql="create table jars (id text primary key, full integer not null); create table notes (id text primary key);",
    seed={"jars": ({"id": "J1", "full": 3},)},
    invariants=(Invariant(name="never negative", sql="select min(full) >= 0 from jars"),),
)


def states(*statements: str) -> list[Snapshot]:
    """The states after each statement."""
    live, found = SqlWorld(WORLD), []
    try:
        for statement in statements:
            live.apply([statement])
            found.append(live.snapshot())
    finally:
        live.close()
    return found


def writes(*after: Snapshot) -> list[Event]:
    return [
        Event(index=number, turn=number, role="tool", name="fill", ok=True, before=str(number), after=one.ref)
        for number, one in enumerate(after)
    ]


def test_an_invariant_broken_on_the_way_is_told_with_its_write() -> None:
    bad, good = states("update jars set full = -1", "update jars set full = 2")
    recorded = {one.ref: one for one in (bad, good)}
    (verdict,) = invariant_verdicts(writes(bad, good), WORLD, good, recorded)
    assert (verdict.value, verdict.owner, verdict.evidence) == (Value.FAIL, Owner.TOOL, (0,))
    (fine,) = invariant_verdicts(writes(good), WORLD, good, recorded)
    assert fine.value is Value.PASS
    (unknown,) = invariant_verdicts(writes(bad, good), WORLD, good, {good.ref: good})
    assert unknown.value is Value.UNSCORED
    assert invariant_verdicts([], WORLD, SqlWorld(WORLD).snapshot(), {}) == []


def test_differences_are_lines_and_nothing_is_said() -> None:
    (state,) = states("update jars set full = 2")
    assert differences(WORLD, state) == "jars J1: full 3 -> 2"
    (new,) = states("insert into notes values ('N1')")
    assert differences(WORLD, new) == 'notes N1: new row: id "N1"'
    assert differences(WORLD, state, ["update jars set full = 2"]) == "nothing"
    assert differences(None, None) == ""


@pytest.mark.parametrize(
    ("judging", "said"),
    [
        ({"judges": ["nosuch"]}, "No model is called nosuch"),
        ({"escalation": "nosuch"}, "No model is called nosuch"),
        ({"judges": ["m@http://user:secret@host/v1"]}, "no usable address"),
        ({"judges": ["teacher"]}, "rules alone"),
    ],
)
def test_names_of_judges_are_checked(judging: dict[str, object], said: str) -> None:
    with pytest.raises(ConfigError, match=said) as error:
        parse_config({"judging": judging}, where="test")
    assert "secret" not in str(error.value)
