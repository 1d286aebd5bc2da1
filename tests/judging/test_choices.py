"""Task quality, selection, preference pairs, agreement and comparison."""

from __future__ import annotations

import csv
import io

import pytest

from pipeline.config.judging import QualityConfig, SelectionConfig
from pipeline.judging.agreement import Labelled, read_labels, sample
from pipeline.judging.compare import Judging, compare
from pipeline.judging.intervals import Share, kappa
from pipeline.judging.labelling import Question, Shown, to_csv
from pipeline.judging.planting import Story
from pipeline.judging.quality import AttemptOutcome, task_quality
from pipeline.judging.selection import Candidate, preference_pairs, select
from pipeline.records import InputError, Owner, Value

P, F, U = Value.PASS, Value.FAIL, Value.UNSCORED


def standing(*outcomes: tuple[Value, Owner | None], config: QualityConfig | None = None) -> str:
    attempts = [AttemptOutcome(f"t{i}", "task", v, o, "why") for i, (v, o) in enumerate(outcomes)]
    return task_quality(attempts, config or QualityConfig())[0].standing


@pytest.mark.parametrize(
    ("outcomes", "expected"),
    [
        ([(P, None), (F, Owner.AGENT)], "good"),
        ([(P, None), (P, None)], "good"),
        ([(F, Owner.AGENT), (F, Owner.AGENT)], "hopeless"),
        ([(F, Owner.TOOL), (F, Owner.TOOL), (P, None)], "faulty"),
        ([(U, Owner.USER), (U, Owner.USER), (F, Owner.AGENT)], "faulty"),
        ([(U, Owner.INFRA), (P, None)], "good"),
        ([(U, Owner.INFRA)], "unknown"),
    ],
)
def test_a_tasks_standing(outcomes: list[tuple[Value, Owner | None]], expected: str) -> None:
    assert standing(*outcomes) == expected


def test_bounds_set_tasks_aside() -> None:
    always = QualityConfig(max_pass_rate=0.9)
    assert standing((P, None), (P, None), config=always) == "trivial"
    assert (
        standing((P, None), (F, Owner.AGENT), (F, Owner.AGENT), config=QualityConfig(min_pass_rate=0.5))
        == "hopeless"
    )


def test_planted_flaws_do_not_speak_for_a_task() -> None:
    attempts = [
        AttemptOutcome("a", "task", P, None),
        AttemptOutcome("b", "task", F, Owner.AGENT, honest=False),
    ]
    (found,) = task_quality(attempts, QualityConfig())
    assert found.passed == Share(1, 1)
    assert found.difficulty == 0


def candidates(stories: list[Story]) -> list[Candidate]:
    """Five attempts at one task: two alike, one longer, one failed with a long common prefix, one unscored."""
    base = next(s.trajectory for s in stories if s.landed)
    events = base.events
    last = events[-1]
    other = tuple(
        e.replace(content=f"{e.content} Well then.", calls=()) if e.role == "assistant" and e.index > 2 else e
        for e in events
    )
    made = {
        "one": events,
        "same": events,
        "other": (*other, last.replace(index=len(events), content="More words at the end of it all.")),
        "bad": (*events[:-1], last.replace(role="assistant", content="Nothing.")),
        "unsure": events,
    }
    values = {"one": P, "same": P, "other": P, "bad": F, "unsure": U}
    rewards = {"one": 0.5, "same": 0.5, "other": 1.0, "bad": 0.0, "unsure": 0.0}
    return [
        Candidate(base.replace(id=name, attempt=i, events=e), values[name], rewards[name], "it says nothing")
        for i, (name, e) in enumerate(made.items())
    ]


def kept(stories: list[Story], **config: object) -> list[str]:
    return [c.trajectory for c in select(candidates(stories), SelectionConfig(**config)) if c.kept]


def test_all_but_near_duplicates(stories: list[Story]) -> None:
    assert kept(stories, rule="all") == ["one", "other"]


def test_best_and_shortest(stories: list[Story]) -> None:
    assert kept(stories, rule="best") == ["other"]
    shortest = kept(stories, rule="shortest")
    assert len(shortest) == 1
    assert kept(stories, rule="diverse", per_task=2) == ["one", "other"]


def test_a_planted_flaw_is_never_kept(stories: list[Story]) -> None:
    one, *_ = candidates(stories)
    flawed = Candidate(one.trajectory.replace(planted=("wrong_number",)), P, 1.0, "")
    (choice,) = select([flawed], SelectionConfig())
    assert not choice.kept
    assert "planted" in choice.reason


def test_every_choice_has_a_reason(stories: list[Story]) -> None:
    choices = {c.trajectory: c for c in select(candidates(stories), SelectionConfig())}
    assert all(choice.reason for choice in choices.values())
    assert "nearly the same as one" in choices["same"].reason
    assert choices["unsure"].reason == "not scored"
    assert {c.pass_rate for c in choices.values()} == {0.75}


def test_pairs_prefer_a_common_prefix_and_leave_out_the_unscored(stories: list[Story]) -> None:
    pairs = preference_pairs(candidates(stories), SelectionConfig(pairs_per_task=3))
    assert [(p.chosen, p.rejected) for p in pairs] == [("one", "bad")] or [
        (p.chosen, p.rejected) for p in pairs
    ] == [("same", "bad")]
    assert pairs[0].shared > 3
    assert "it says nothing" in pairs[0].reason


def test_kappa_and_intervals() -> None:
    assert kappa([("pass", "pass"), ("fail", "fail")]) == 1
    assert kappa([("pass", "pass"), ("pass", "fail"), ("fail", "pass"), ("fail", "fail")]) == 0
    assert kappa([("pass", "pass")]) is None
    assert Share(0, 0).value is None
    low, high = Share(0, 300).ci95 or (1, 1)
    assert low < 1e-12
    assert 0 < high < 0.02


VERDICTS = [
    Labelled(f"t{i}", "check", "state" if i % 2 else "policy", "pass" if i % 5 else "fail") for i in range(50)
]


def labelled(rows: list[dict[str, str]]) -> str:
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def test_a_sheet_goes_out_and_comes_back() -> None:
    chosen = sample(VERDICTS, 12, seed=1)
    assert {(one.kind, one.value) for one in chosen} == {
        (k, v) for k in ("state", "policy") for v in ("pass", "fail")
    }
    questions = [Question(one.trajectory, one.check, one.kind, "=1+1") for one in chosen]
    sheet = to_csv(questions, {one.trajectory: Shown((), ("{}",), "agent") for one in chosen})
    rows = list(csv.DictReader(io.StringIO(sheet)))
    assert all(row["label"] == "" and row["criterion"] == "'=1+1" for row in rows)
    assert not {"value", "evidence", "reason"} & set(rows[0])
    values = {one.trajectory: one.value for one in VERDICTS}
    for row in rows:
        row["label"] = values[row["trajectory"]].upper()
    rows[0]["label"] = "unscored"
    rows[1]["label"] = ""
    figures = read_labels(labelled(rows), VERDICTS).to_json()
    assert figures["n"] == 11
    assert figures["unlabelled"] == 1
    assert figures["agreement"]["count"] == 10
    assert set(figures["by_kind"]) == {"state", "policy"}
    assert len(figures["disputed"]) == 1


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({"trajectory": "t0", "check": "check", "label": "great"}, "is no label"),
        ({"trajectory": "t99", "check": "check", "label": "pass"}, "no verdict"),
        ({"trajectory": "t0", "label": "pass"}, "lack the columns check"),
    ],
)
def test_a_sheet_that_does_not_fit_is_named(row: dict[str, str], words: str) -> None:
    with pytest.raises(InputError, match=words):
        read_labels(labelled([row]), VERDICTS)


def test_a_label_twice_is_named() -> None:
    row = {"trajectory": "t0", "check": "check", "label": "pass"}
    with pytest.raises(InputError, match="labelled twice"):
        read_labels(labelled([row, row]), VERDICTS)


def test_two_judgings_compared() -> None:
    before = Judging({"a": "pass", "b": "fail", "c": "pass"}, {("a", "x"): "pass", ("b", "x"): "fail"}, {})
    after = Judging(
        {"a": "pass", "b": "pass", "d": "pass"}, {("a", "x"): "pass", ("b", "y"): "pass"}, {"b": "now"}
    )
    found = compare(before, after).to_json()
    assert found["common"] == 2
    assert (found["only_a"], found["only_b"]) == (1, 1)
    assert found["moves"] == {"fail -> pass": 1}
    assert found["judgements"][0]["reason"] == "now"
    assert {(v["check"], v["a"], v["b"]) for v in found["verdicts"]} == {
        ("x", "fail", None),
        ("y", None, "pass"),
    }
