"""Judging a run that stands: again, calibrated, compared, selected from, labelled."""

from __future__ import annotations

import asyncio
import csv
import io
import shutil
import time
from pathlib import Path

import pytest

from pipeline.config import parse_config
from pipeline.config.judging import JudgingConfig
from pipeline.records import EndpointDown, RunError
from pipeline.stages.calibration import calibrate_run, measured_error, refuse_unsure
from pipeline.stages.context import Context
from pipeline.stages.judging import judge_again, judge_diff
from pipeline.stages.labels import export_labels, import_labels
from pipeline.stages.selection import qualities, selection_unit, selection_units
from pipeline.stages.stored import open_run
from pipeline.stages.tasks import task_units, tasks_unit
from pipeline.stages.trajectories import trajectories_unit, trajectory_units
from pipeline.stages.worlds import worlds_unit
from pipeline.store import Catalog, Row, RunFolder
from tests.report.browser import browser, chromium

SETTINGS = {
    "worlds": {"only": ["smart-home"]},
    "tasks": {"count": 8},
    "trajectories": {"attempts": 3, "flaw_rate": 0.4},
    "judging": {"calibration_per_kind": 2},
}


async def _make(data: Path) -> None:
    config = parse_config(SETTINGS, where="test")
    folder = RunFolder.create(data, "r", "trajectories", config.seed, config.to_yaml())
    context = Context.open(folder.path)
    await worlds_unit(context, 0)
    for number in range(len(task_units(context))):
        await tasks_unit(context, number)
    for number in range(len(trajectory_units(context))):
        await trajectories_unit(context, number)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data folder of a small finished run."""
    data = tmp_path_factory.mktemp("data")
    asyncio.run(_make(data))
    return data


@pytest.fixture
def run(finished: Path, tmp_path: Path) -> Context:
    """The run in a folder of the test's own."""
    shutil.copytree(finished, tmp_path, dirs_exist_ok=True)
    return Context.open(tmp_path / "runs" / "r")


async def test_judging_again_agrees_and_is_written_beside(run: Context, tmp_path: Path) -> None:
    assert await judge_again(run) == 1
    assert await judge_again(run) == 2
    same = judge_diff(tmp_path, "r", "r")
    assert same.common == 24
    assert not same.judgements
    assert not same.verdicts
    rounds = Catalog(tmp_path).query("select distinct round from all_verdicts order by 1").rows()
    assert [row[0] for row in rounds] == [0, 1, 2]
    with pytest.raises(RunError, match="has no judging '7'"):
        judge_diff(tmp_path, "r", "r@7")


async def test_a_file_changes_how_it_is_judged(run: Context, tmp_path: Path) -> None:
    file = tmp_path / "judge.yaml"
    file.write_text("quality: {min_pass_rate: 0.99}\n")
    changed = open_run(tmp_path, "r", file)
    assert changed.config.judging.quality.min_pass_rate == 0.99
    standings = {one.standing for one in qualities(changed)}
    assert standings <= {"good", "hopeless", "unknown", "faulty"}


async def test_an_unsure_judging_is_not_published(run: Context, tmp_path: Path) -> None:
    strict = JudgingConfig(max_error=0.02)
    refuse_unsure(run.folder, JudgingConfig())
    with pytest.raises(RunError, match="none was measured"):
        refuse_unsure(run.folder, strict)
    measured = await calibrate_run(run)
    figures = measured.to_json()
    assert figures["n_flawed"] > 20
    error = measured_error(run.folder)
    assert error == pytest.approx(max(figures["misses"], figures["false_alarms"]))
    rows = Catalog(tmp_path).query("select part from measures where name = 'judge_misses'").rows()
    assert len(rows) == 1 + len(figures["by_kind"])
    refuse_unsure(run.folder, JudgingConfig(max_error=1.0))
    if error:
        with pytest.raises(RunError, match="nothing is published"):
            refuse_unsure(run.folder, JudgingConfig(max_error=0.0))


def measured(judge: str, misses: float, alarms: float, abstentions: float = 0.0) -> list[Row]:
    values = {"judge_misses": misses, "judge_false_alarms": alarms, "judge_abstentions": abstentions}
    return [
        {"stage": "calibration", "name": name, "part": judge, "value": value, "n": 100, "detail": {}}
        for name, value in values.items()
    ]


async def test_a_dead_endpoint_ends_a_calibration_in_bounded_time_and_stores_nothing(
    run: Context, tmp_path: Path
) -> None:
    file = tmp_path / "dead.yaml"
    file.write_text(
        "endpoints: {nowhere: {base_url: 'http://127.0.0.1:9/v1', patience: 0.5}}\n"
        "models: {dead: {endpoint: nowhere}}\n"
        "judging: {judges: [dead], calibration_per_kind: 1}\n"
    )
    dead = open_run(tmp_path, "r", file)
    began = time.monotonic()
    with pytest.raises(EndpointDown, match=r"nothing is stored.* give `tracemill judge calibrate r` again"):
        await calibrate_run(dead)
    assert time.monotonic() - began < 60
    assert not run.folder.units("calibration")
    assert measured_error(run.folder) is None


async def test_only_the_judges_past_the_error_are_named(
    run: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipeline.stages.calibration.judges_used", lambda _: ["harsh", "new", "rules"])
    rows = [*measured("rules", 0.01, 0.0), *measured("harsh", 0.0, 0.25), *measured("idle", 0.9, 0.9)]
    run.folder.write_shard("calibration", 1, {"measures": rows})
    strict = JudgingConfig(max_error=0.02)
    with pytest.raises(RunError, match=r"2\.00%, and none was measured for new\."):
        refuse_unsure(run.folder, strict)
    run.folder.write_shard("calibration", 2, {"measures": [*rows, *measured("new", 0.0, 0.0)]})
    with pytest.raises(RunError, match=r"more was measured for harsh \(25\.00%\): nothing is published"):
        refuse_unsure(run.folder, strict)
    run.folder.write_shard("calibration", 3, {"measures": [*rows, *measured("new", 0.0, 0.0, 1.0)]})
    with pytest.raises(RunError, match=r"none was measured for new\."):
        refuse_unsure(run.folder, strict)


async def test_selection_keeps_only_what_passed(run: Context, tmp_path: Path) -> None:
    await selection_unit(run, 0)
    catalog = Catalog(tmp_path)
    wrong = catalog.query(
        "select count(*) from selections s join trajectories t on t.id = s.trajectory where s.kept and not t.passed"
    ).rows()
    assert wrong == [(0,)]
    pairs = catalog.query(
        "select c.passed, r.passed, p.reason from pairs p join trajectories c on c.id = p.chosen"
        " join trajectories r on r.id = p.rejected"
    ).rows()
    assert all(chosen and not rejected and reason for chosen, rejected, reason in pairs)
    (flow,) = catalog.query("select entered, kept, rejected from funnel where stage = 'selection'").rows()
    assert flow[0] == flow[1] + flow[2]
    assert selection_units(run) == 1
    shared = catalog.query("select min(shared) from pairs").rows()[0][0]
    assert shared is None or shared >= 1


async def test_a_task_set_aside_is_told_with_the_evidence(run: Context, tmp_path: Path) -> None:
    file = tmp_path / "judge.yaml"
    file.write_text("quality: {max_pass_rate: 0.0}\n")
    await selection_unit(run, 0)
    assert await judge_again(open_run(tmp_path, "r", file)) == 1
    assert await judge_again(open_run(tmp_path, "r", file)) == 2
    catalog = Catalog(tmp_path)
    flows = catalog.query(
        "select stage, entered, kept from funnel where stage in ('selection', 'judging')"
    ).rows()
    standing = {row["stage"]: row["entered"] for row in run.folder.funnel() if row["entered"]}
    assert {stage: entered for stage, entered, _ in flows}.items() <= standing.items()
    assert ("judging", 24) in {(stage, entered) for stage, entered, _ in flows}
    assert ("selection", 0) in {(stage, kept) for stage, _, kept in flows}
    assert catalog.query("select count(*) from selections where kept").rows() == [(0,)]
    aside = catalog.query("select subject, message from failures where kind = 'task set aside'").rows()
    assert aside
    assert all(subject.startswith("task_") and "attempts passed" in message for subject, message in aside)
    assert await judge_again(run) == 3
    gone = catalog.query("select count(*) from failures where kind = 'task set aside'").rows()
    assert gone == [(0,)], "what an earlier judging set aside is told no longer"
    rates = catalog.query(
        "select count(*), count(distinct part) from measures where stage = 'selection'"
    ).rows()
    assert rates[0][0] == rates[0][1] > 0


async def test_labels_go_out_and_come_back(run: Context, tmp_path: Path) -> None:
    rows = list(csv.DictReader(io.StringIO(export_labels(run, 10))))
    assert len(rows) == 10
    assert all(row["transcript"] and row["criterion"] != row["check"] for row in rows)
    assert any("What changed in the data:" in row["transcript"] for row in rows)
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]))
    writer.writeheader()
    writer.writerows({**row, "label": "pass"} for row in rows)
    figures = import_labels(run, out.getvalue())
    assert figures["n"] == 10
    kinds = Catalog(tmp_path).query("select part from measures where name = 'human_agreement'").rows()
    assert ("all",) in kinds


@pytest.mark.slow
@pytest.mark.skipif(chromium() is None, reason="Chromium is not installed")
def test_verdicts_are_labelled_in_a_browser(run: Context, tmp_path: Path) -> None:
    page, saved = tmp_path / "sample.html", tmp_path / "labels.csv"
    page.write_text(export_labels(run, 8, html=True), encoding="utf-8")
    with browser(tmp_path / "profile") as tab:
        tab.send("Page.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path))
        for dark, width in ((False, 1280), (True, 390)):
            tab.screen(width, 844, dark=dark, mobile=width < 400)
            tab.open(page)
            assert tab.run("document.documentElement.scrollWidth") == width
        tab.press("p")
        tab.run("document.getElementById('fail').click()")
        tab.run("document.getElementById('comment').focus()")
        tab.press("u")
        tab.open(page)
        text = tab.run("document.getElementById('place').textContent")
        assert text.startswith("3 of 8 · 2 labelled"), "labels and comments outlast the page"
        assert tab.run("document.getElementById('comment').value") == "u"
        tab.press("u")
        tab.run("document.getElementById('save').click()")
        end = time.monotonic() + 30
        while not saved.exists() and time.monotonic() < end:
            time.sleep(0.05)
        assert tab.problems == []
        assert all(url.startswith(page.as_uri()) for url in tab.requests if not url.startswith("blob:"))
    labels = list(csv.DictReader(io.StringIO(saved.read_text(encoding="utf-8"))))
    assert [row["label"] for row in labels] == ["pass", "fail", "unscored", *[""] * 5]
    assert labels[2]["comment"] == "u"
    figures = import_labels(run, saved.read_text(encoding="utf-8"))
    assert (figures["n"], figures["unlabelled"]) == (3, 5)
