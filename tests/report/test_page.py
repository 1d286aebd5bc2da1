"""The report as a file: what stands in it, and what must not."""

from __future__ import annotations

import base64
import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.records import RunError
from pipeline.report.blocks import block
from pipeline.report.changes import Differences
from pipeline.report.figures import figures
from pipeline.report.page import write_report
from pipeline.store import Catalog, RunFolder


def _blocks(page: str) -> dict[str, Any]:
    found = re.findall(r'<script type="application/x-block" id="([\w-]+)">([^<]*)</script>', page)
    return {name: json.loads(gzip.decompress(base64.b64decode(text))) for name, text in found}


@pytest.fixture(scope="module")
def page(data: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    out = tmp_path_factory.mktemp("page") / "new" / "report.html"
    assert write_report(data, "small", out, share=1) == out.stat().st_size
    return out.read_text(encoding="utf-8")


def test_the_page_asks_for_nothing_outside(page: str) -> None:
    own = re.sub(r'<script type="application/x-block".*?</script>', "", page, flags=re.S)
    assert not re.search(
        r"https?:|//[a-z]|\bsrc=|<link|@import|\burl\(|innerHTML|insertAdjacentHTML|eval\(", own
    )
    assert "default-src 'none'" in own


def test_no_text_of_the_data_stands_in_the_page_unpacked(page: str) -> None:
    assert "window.owned" not in page


def test_every_event_and_verdict_of_the_run_is_in_the_page(page: str, data: Path) -> None:
    blocks = _blocks(page)
    told = [
        one for name, block in blocks.items() if name.startswith("block-") for one in block["trajectories"]
    ]
    catalog = Catalog(data)
    (events,), (verdicts,) = (
        catalog.query(f"select count(*) from {table} where run = 'small'").rows()[0]
        for table in ("events", "verdicts")
    )
    assert sum(len(one[0]) for one in told) == events
    assert sum(len(one[1]) for one in told) == verdicts
    assert blocks["index"]["rows"] == blocks["index"]["total"] == len(told)


def test_equal_runs_give_equal_pages(page: str, data: Path, tmp_path: Path) -> None:
    write_report(data, "small", tmp_path / "again.html", share=1)
    assert (tmp_path / "again.html").read_text(encoding="utf-8") == page


def test_figures_agree_with_the_rows(data: Path) -> None:
    facts = figures(data, "small")
    passed, scored = (
        Catalog(data)
        .query("select count(*) filter (passed), count(passed) from trajectories where run = 'small'")
        .rows()[0]
    )
    assert (facts["totals"]["passed"], facts["totals"]["scored"]) == (passed, scored)
    for rows in (facts["pass_by"]["difficulty"], facts["pass_by"]["world"], facts["pass_by"]["persona"]):
        assert sum(row["n"] for row in rows) == scored
        assert all(row["ci95"][0] - 1e-9 <= row["share"] <= row["ci95"][1] + 1e-9 for row in rows)
    assert sum(n for _, n in facts["spreads"][0]["bars"]) == facts["totals"]["trajectories"]
    called = (
        Catalog(data)
        .query("select count(*) from calls where run = 'small' and trajectory <> 'traj_evil'")
        .rows()[0][0]
    )
    assert sum(tool["calls"] for tool in facts["tools"]) == called


def test_of_many_trajectories_a_part_is_drawn_and_said(data: Path, tmp_path: Path) -> None:
    write_report(data, "small", tmp_path / "part.html", limit=5)
    index = _blocks((tmp_path / "part.html").read_text(encoding="utf-8"))["index"]
    assert index["rows"] == 5
    assert index["total"] > 5


def test_changes_name_columns_and_the_values_of_the_seed(data: Path) -> None:
    catalog = Catalog(data)
    snapshots = catalog.query(
        "select ref, world_id, rows, parts from snapshots where run = 'small' and world_id <> ''"
    ).rows()
    worlds = dict(catalog.query("select id, record from worlds where run = 'small'").rows())
    differences = Differences({ref: (world, rows, parts) for ref, world, rows, parts in snapshots}, worlds)
    changed = [
        change for ref, _, rows, _ in snapshots if rows != "[]" for change in differences.between("", ref)
    ]
    assert any(kind == "~" for _, _, kind, _ in changed)
    for _, _, kind, cells in changed:
        assert cells
        for column, before, after in cells:
            assert not column.isdigit()
            assert before != after
            assert kind != "+" or before is None
    assert all(differences.between(ref, ref) == [] for ref, *_ in snapshots)


def test_changes_in_further_worlds_and_in_files_are_told() -> None:
    part = {"world": "w2", "rows": [["leave", "L1", {"day": "Monday"}]]}
    files = [
        json.dumps([["file", "a.py", {"base64": base64.b64encode(text).decode()}]])
        for text in (b"x\ny\n", b"x\nz\n")
    ]
    snapshots = {
        "s1": ("w1", "[]", json.dumps([part])),
        "s2": ("c", files[0], "[]"),
        "s3": ("c", files[1], "[]"),
    }
    differences = Differences(snapshots, {})
    assert differences.between("", "s1") == [("w2.leave", "L1", "+", [("day", None, "Monday")])]
    assert differences.between("s2", "s3") == [("file", "a.py", "~", [("lines", "y", "z")])]
    assert differences.between("", "s2") == [("file", "a.py", "+", [("text", None, "x\ny\n")])]


def test_bad_input_is_told(data: Path, tmp_path: Path) -> None:
    with pytest.raises(RunError, match="no run"):
        write_report(data, "nowhere", tmp_path / "x.html")
    with pytest.raises(RunError, match="is a folder"):
        write_report(data, "small", tmp_path)


def test_a_run_that_has_only_begun_has_a_report(data: Path, tmp_path: Path) -> None:
    RunFolder.create(data, "begun", "trajectories", 1, "{}\n")
    write_report(data, "begun", tmp_path / "begun.html")
    assert _blocks((tmp_path / "begun.html").read_text(encoding="utf-8"))["index"]["rows"] == 0


@given(
    value=st.recursive(
        st.none() | st.booleans() | st.integers(-9, 9) | st.text(), lambda one: st.lists(one, max_size=3)
    )
)
def test_whatever_is_packed_comes_back_and_cannot_end_its_element(value: Any) -> None:
    text = block("some", value)
    assert text.count("<") == 2
    assert _blocks(text) == {"some": value}
