"""The page to label in, clicked through in a real browser: what a person chooses comes back as labels."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from pipeline.judging.agreement import Labelled, read_labels, to_html
from tests.report.browser import browser, chromium

pytestmark = [pytest.mark.slow, pytest.mark.skipif(chromium() is None, reason="Chromium is not installed")]


def test_labels_are_clicked_saved_and_read_back(tmp_path: Path) -> None:
    asked = [
        Labelled("traj_1", 'says "it" & <b>', "facts", "pass", evidence="3"),
        Labelled("traj_2", "consent, asked", "policy", "fail", evidence="4, 6"),
        Labelled("traj_3", "tone", "reply", "pass"),
    ]
    page = tmp_path / "labels.html"
    hostile = "3 [assistant] <script>window.owned = 1</script> =SUM(A1) héllo\n" * 30
    page.write_text(to_html(asked, {}, {"traj_1": hostile}), encoding="utf-8")
    with browser(tmp_path / "profile") as tab:
        tab.screen(1000, 900)
        tab.send("Page.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path))
        tab.send("Page.navigate", url=page.as_uri())
        tab.wait("document.querySelectorAll('section').length === 3")
        tab.run("document.querySelector('section:nth-of-type(1) input[value=fail]').click()")
        tab.run("document.querySelector('section:nth-of-type(2) input[value=fail]').click()")
        tab.run("document.querySelector('section:nth-of-type(2) .comment').value = 'he said \"no\", twice'")
        tab.shot(tmp_path / "page.png")
        tab.run("document.querySelector('button').click()")
        saved = tmp_path / "labels.csv"
        end = time.monotonic() + 20
        while not (saved.exists() and saved.stat().st_size) and time.monotonic() < end:
            time.sleep(0.05)
        assert tab.run("window.owned") is None
        assert tab.problems == []
    found = read_labels(saved.read_text(encoding="utf-8"), asked)
    assert found.disputed == [("traj_1", 'says "it" & <b>', "fail", "pass")]
    assert found.pairs["policy"] == [("fail", "fail")]
    assert found.unlabelled == 1
    assert 'twice"' in saved.read_text(encoding="utf-8")
