"""The report in a real browser: it opens, filters, shows a trajectory, takes answers, and nothing in it acts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.rephrase.audit import import_audit
from pipeline.report.page import write_report
from pipeline.store import Catalog, RunFolder
from tests.report.browser import Tab, browser, chromium

pytestmark = [pytest.mark.slow, pytest.mark.skipif(chromium() is None, reason="Chromium is not installed")]


@pytest.fixture(scope="module")
def report(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("chromium") / "report.html"
    write_report(data, "small", out, share=1)
    return out


@pytest.fixture(scope="module")
def shared_tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    with browser(tmp_path_factory.mktemp("profile")) as tab:
        yield tab


@pytest.fixture
def tab(shared_tab: Tab, report: Path) -> Iterator[Tab]:
    """A tab that ends without a complaint, without a request, and with every script of the data inert."""
    shared_tab.screen(1280, 860)
    shared_tab.problems.clear()
    shared_tab.requests.clear()
    shared_tab.open(report)
    yield shared_tab
    assert shared_tab.run("window.owned") is None
    assert shared_tab.problems == []
    assert all(url.startswith(report.as_uri()) for url in shared_tab.requests)


def _go(tab: Tab, address: str) -> None:
    tab.run(f"location.hash = {address!r}")
    tab.wait(f"document.body.dataset.shown === {address!r}")


def _count(tab: Tab) -> int:
    return int(tab.run("document.getElementById('count').textContent.split(' ')[0]"))


def test_the_overview_shows_the_figures(tab: Tab, data: Path) -> None:
    text = tab.run("document.getElementById('main').innerText")
    total = Catalog(data).query("select count(*) from trajectories where run = 'small'").rows()[0][0]
    assert f"trajectories\n{total}" in text
    for title in ("Funnel", "Pass rate", "Rejected, and why", "Tool coverage", "How long they are"):
        assert title in text
    buttons = "[...document.querySelectorAll('.pick button')]"
    for number in range(tab.run(f"{buttons}.length")):
        tab.run(f"{buttons}[{number}].click()")
        assert tab.run("document.querySelectorAll('.pick + div tbody tr').length") > 0


def test_filters_and_search_agree_with_sql(tab: Tab, data: Path) -> None:
    _go(tab, "#/trajectories")
    tab.wait("document.querySelectorAll('.item').length > 3")
    failed = (
        Catalog(data)
        .query("select count(*) from trajectories where run = 'small' and value = 'fail'")
        .rows()[0][0]
    )
    tab.run(
        "(s => { s.value = 'fail'; s.dispatchEvent(new Event('change')); })(document.getElementById('filter-value'))"
    )
    tab.wait(f"document.getElementById('count').textContent.startsWith('{failed} of')")
    _go(tab, "#/trajectories?world=smart-home")
    here = (
        Catalog(data)
        .query("select count(*) from trajectories where run = 'small' and world = 'smart-home'")
        .rows()[0][0]
    )
    tab.wait(f"document.getElementById('count').textContent.startsWith('{here} of')")


def test_what_was_said_is_found(tab: Tab, data: Path) -> None:
    row = Catalog(data).query(
        "select trajectory, regexp_extract(content, '[A-Za-z]+ [a-z]+ [a-z]+') as words from events where run = 'small'"
        " and role = 'assistant' and length(words) > 14 order by trajectory, index limit 1"
    ).rows()  # fmt: skip
    (id, words), *_ = row
    _go(tab, f"#/trajectories?q={words.replace(' ', '%20')}&whole=1")
    tab.wait("/^[1-9]/.test(document.getElementById('count').textContent)")
    found = _count(tab)
    tab.press("j")
    tab.wait("document.querySelector('.event')")
    assert (
        1
        <= found
        <= Catalog(data).query("select count(*) from trajectories where run = 'small'").rows()[0][0]
    )
    assert tab.run(f"document.body.innerText.toLowerCase().includes({words.lower()!r})"), id


def test_a_trajectory_shows_all_events_changes_and_evidence(tab: Tab, data: Path) -> None:
    catalog = Catalog(data)
    id, count = catalog.query(
        "select trajectory, count(*) from events where run = 'small' and role = 'tool' and before <> after"
        " and trajectory <> 'traj_evil' group by 1 order by 2 desc, 1 limit 1"
    ).rows()[0]  # fmt: skip
    events = catalog.query(f"select count(*) from events where run = 'small' and trajectory = '{id}'").rows()[
        0
    ][0]
    _go(tab, f"#/trajectories/{id}")
    tab.wait(f"document.querySelector('.detail small').textContent.startsWith('{id}')")
    assert tab.run("document.querySelectorAll('.event').length") == events
    assert tab.run("document.querySelectorAll('.diff').length") == count


def test_markup_in_the_data_is_shown_as_text(tab: Tab) -> None:
    _go(tab, "#/trajectories/traj_evil")
    tab.wait("document.querySelectorAll('.event').length === 4")
    assert "<img src=x onerror=" in tab.run("document.querySelector('#event-1 .said').textContent")
    assert tab.run("document.querySelectorAll('#main img, #main script').length") == 0
    assert tab.run("document.querySelectorAll('.event.cited').length") == 2
    assert "onerror" in tab.run("document.querySelector('.diff').textContent")
    tab.press("e")
    assert tab.run("document.querySelector('.lit').id") == "event-2"
    for page in ("#/overview", "#/rewritings/rw_a", "#/audit"):
        _go(tab, page)
        assert tab.run("document.querySelectorAll('#main img, #main script').length") == 0


def test_rewritings_mark_what_differs(tab: Tab) -> None:
    _go(tab, "#/rewritings/rw_a")
    tab.wait("document.querySelectorAll('.text mark').length === 2")
    assert tab.run("[...document.querySelectorAll('.text mark')].map(m => m.textContent).join()") == "12,13"


def test_answers_of_the_audit_can_be_imported(tab: Tab, tmp_path: Path) -> None:
    _go(tab, "#/audit")
    tab.wait("document.querySelector('.answers')")
    tab.press("a")
    tab.wait("document.querySelector('.audit p').textContent.startsWith('2 of 2')")
    tab.run("document.querySelector('.answers .reject').click()")
    tab.wait("document.querySelector('.reject[aria-pressed=true]')")
    tab.run(
        "(i => { i.value = 'number'; i.dispatchEvent(new Event('change')); })(document.querySelector('.answers input'))"
    )
    tab.wait("document.querySelector('.audit p').textContent.includes('2 answered')")
    tab.run("HTMLAnchorElement.prototype.click = () => {}")
    tab.run(
        "window.saved = new Promise(done => { URL.createObjectURL = blob => { blob.text().then(done); return '#'; }; }), 0"
    )
    tab.run("document.getElementById('export').click()")
    file = tmp_path / "audit.jsonl"
    file.write_text(tab.run("window.saved"), encoding="utf-8")
    answers = {row["rewrite"]: (row["answer"], row["error"]) for row in import_audit(file)}
    assert set(answers) == {"rw_a", "rw_b"}
    assert sorted(answers.values()) == [("accept", ""), ("reject", "number")]


def test_keyboard_moves_and_opens(tab: Tab) -> None:
    tab.press("2")
    tab.wait("document.querySelectorAll('.item').length > 3")
    for _ in range(3):
        tab.press("j")
    tab.wait("document.querySelector('.item[aria-selected=true]')?.getAttribute('aria-posinset') === '3'")
    tab.press("/")
    assert tab.run("document.activeElement.id") == "search"
    tab.press("Escape")
    tab.press("?")
    tab.wait("document.getElementById('help').open")
    tab.run("document.querySelector('#help button').click()")
    tab.wait("!document.getElementById('help').open")


def test_a_phone_shows_it_without_scrolling_sideways_and_dark_is_dark(tab: Tab, tmp_path: Path) -> None:
    tab.screen(390, 844, mobile=True, dark=True)
    for page in ("#/overview", "#/trajectories", "#/trajectories/traj_evil", "#/rewritings/rw_a", "#/audit"):
        _go(tab, page)
        assert (
            tab.run("Math.max(document.body.scrollWidth, document.getElementById('main').scrollWidth)") <= 390
        ), page
    background = tab.run("getComputedStyle(document.body).backgroundColor")
    assert max(map(int, background.removeprefix("rgb(").removesuffix(")").split(", "))) < 60
    assert len(tab.shot(tmp_path / "phone.png")) > 5_000


def test_a_run_that_has_only_begun_opens(shared_tab: Tab, data: Path, tmp_path: Path) -> None:
    RunFolder.create(data, "only-begun", "rephrase", 1, "{}\n")
    write_report(data, "only-begun", tmp_path / "begun.html")
    shared_tab.problems.clear()
    shared_tab.open(tmp_path / "begun.html")
    assert "only-begun" in shared_tab.run("document.body.innerText")
    assert shared_tab.problems == []
