"""The aggregation and the vote, as properties."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.judging.verdict import aggregate
from pipeline.judging.voting import vote
from pipeline.records import Owner, PolicyCheck, Task, Trajectory, Value, Verdict

RANK = {Value.FAIL: 0, Value.UNSCORED: 1, Value.PASS: 2}
verdicts = st.lists(
    st.builds(
        Verdict,
        check=st.sampled_from(["a", "b", "c"]),
        kind=st.just("policy"),
        value=st.sampled_from(list(Value)),
        owner=st.sampled_from(list(Owner)),
        evidence=st.lists(st.integers(0, 5), max_size=2).map(tuple),
        mandatory=st.booleans(),
        weight=st.floats(0, 5),
    ),
    max_size=8,
)


@given(verdicts, st.booleans(), st.floats(0, 5), st.floats(0, 1))
def test_an_unscored_check_never_raises_a_judgement(
    given_verdicts: list[Verdict], mandatory: bool, weight: float, threshold: float
) -> None:
    extra = Verdict(check="x", kind="policy", value=Value.UNSCORED, mandatory=mandatory, weight=weight)
    before = aggregate("t", given_verdicts, threshold)
    after = aggregate("t", [*given_verdicts, extra], threshold)
    assert RANK[after.value] <= RANK[before.value]
    assert after.reward <= before.reward + 1e-9


@given(verdicts, st.floats(0, 1))
def test_nothing_unscored_counts_as_passed(given_verdicts: list[Verdict], threshold: float) -> None:
    judged = aggregate("t", given_verdicts, threshold)
    if judged.value is Value.PASS:
        mandatory = [one for one in given_verdicts if one.mandatory]
        assert mandatory
        assert all(one.value is Value.PASS for one in mandatory)
    else:
        assert judged.reward == 0


@given(verdicts, st.floats(0, 1))
def test_a_failed_mandatory_check_fails_whatever_else_is_said(
    given_verdicts: list[Verdict], threshold: float
) -> None:
    failed = Verdict(check="f", kind="state", value=Value.FAIL)
    assert aggregate("t", [*given_verdicts, failed], threshold).value is Value.FAIL


@given(verdicts.filter(bool), st.floats(0, 1), st.data())
def test_a_verdict_taken_back_never_turns_fail_into_pass(
    given_verdicts: list[Verdict], threshold: float, data: st.DataObject
) -> None:
    place = data.draw(st.integers(0, len(given_verdicts) - 1))
    less = list(given_verdicts)
    less[place] = less[place].replace(value=Value.UNSCORED, evidence=())
    before = aggregate("t", given_verdicts, threshold)
    after = aggregate("t", less, threshold)
    assert not (before.value is Value.FAIL and after.value is Value.PASS)


def test_nothing_judged_is_unscored() -> None:
    assert aggregate("t", []).value is Value.UNSCORED


CHECK = PolicyCheck(name="kind", rule="stay kind", form="judge")


class Says:
    """A judge with a fixed answer."""

    def __init__(self, name: str, *answers: Verdict) -> None:
        self.name = name
        self.answers = answers
        self.asked = 0

    async def judge(
        self, task: Task, trajectory: Trajectory, criteria: object, changes: str = ""
    ) -> list[Verdict]:
        self.asked += 1
        return list(self.answers)


def says(value: Value, evidence: tuple[int, ...] = (1,), name: str = "m") -> Says:
    return Says(name, Verdict(check="kind", kind="policy", value=value, evidence=evidence, judge=name))


async def outcome(judges: list[Says], stories: list, escalation: Says | None = None) -> Value:
    story = stories[0]
    (found,) = await vote(judges, escalation, story.task, story.trajectory, [CHECK])
    assert found.check == "kind"
    return found.value


P, F, U = Value.PASS, Value.FAIL, Value.UNSCORED


@pytest.mark.parametrize(
    ("votes", "expected"),
    [
        ([P], P),
        ([F], F),
        ([U], U),
        ([P, F], U),
        ([P, P, F], P),
        ([F, F, P], F),
        ([U, U, P], P),
        ([U, U], U),
        ([], U),
    ],
)
async def test_the_majority_of_those_who_decide(votes: list[Value], expected: Value, stories: list) -> None:
    assert await outcome([says(v) for v in votes], stories) is expected


@pytest.mark.parametrize("evidence", [(), (10_000,), (-1,)])
async def test_a_vote_without_real_evidence_is_an_abstention(
    evidence: tuple[int, ...], stories: list
) -> None:
    assert await outcome([says(P, evidence)], stories) is U
    assert await outcome([says(P), says(P), says(F, evidence), says(F, evidence)], stories) is U


@pytest.mark.parametrize("votes", [[F, F, P], [F, P], [F, F], [F, F, F, P, P]])
async def test_removing_evidence_never_turns_fail_into_pass(votes: list[Value], stories: list) -> None:
    for removed in range(2 ** len(votes)):
        judges = [says(v, () if removed >> i & 1 else (1,)) for i, v in enumerate(votes)]
        assert await outcome(judges, stories) is not P


async def test_only_divided_judges_escalate(stories: list) -> None:
    above = says(F, name="above")
    assert await outcome([says(P), says(P)], stories, above) is P
    assert above.asked == 0
    assert await outcome([says(P), says(F)], stories, above) is F
    assert await outcome([says(U)], stories, says(P)) is P
    assert await outcome([says(P), says(F)], stories, says(U)) is U


async def test_answers_for_other_checks_or_twice_are_abstentions(stories: list) -> None:
    other = Verdict(check="other", kind="policy", value=P, evidence=(1,))
    twice = Verdict(check="kind", kind="policy", value=P, evidence=(1,))
    assert await outcome([Says("m", other)], stories) is U
    assert await outcome([Says("m", twice, twice)], stories) is U
