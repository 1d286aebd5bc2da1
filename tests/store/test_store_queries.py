"""The page of example queries: every one of them answers, and the page knows every view."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from store_samples import tool, world
from test_store_catalog import fill

from pipeline.records import CodeTask, RunStatus, TestReport
from pipeline.store import (
    TABLES,
    Catalog,
    RunFolder,
    code_report_row,
    code_task_row,
    failure_row,
    tool_row,
)

PAGE = Path(__file__).parent.parent.parent / "docs" / "queries.md"
QUERIES = re.findall(r"```sql\n(.*?)\n```", PAGE.read_text(encoding="utf-8"), re.S)


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    run = RunFolder.create(tmp_path_factory.mktemp("data"), "r1", "all", 7, "", version="0.1.0")
    fill(run, 8)
    code = CodeTask(
        name="add",
        statement="Add.",
        files={"a.py": ""},
        tests={"t.py": ""},
        gold={"a.py": "x"},
        fail_to_pass=("t.py::t",),
    )
    test = TestReport(task=code.id, status=RunStatus.PASSED)
    model_call = {
        "role": "policy",
        "model": "m",
        "tokens_in": 9,
        "tokens_out": 3,
        "cost": 0.1,
        "cached": False,
    }
    run.write_shard(
        "other",
        0,
        {
            "rewrites": [
                {"id": "rw_1", "style": "lecture", "verdict": "kept", "score": 0.9, "coverage": 1.0}
            ],
            "findings": [{"rewrite": "rw_1", "kind": "number", "direction": "changed", "severity": "fail"}],
            "code_tasks": [code_task_row(code)],
            "code_reports": [code_report_row(test, attempt=0)],
            "failures": [
                failure_row("tasks", "gate", "a trivial agent passed", subject="task_1", detail={"agent": 1})
            ],
            "model_calls": [{**model_call, "outcome": "ok"}, {**model_call, "outcome": "refused"}],
        },
    )
    return Catalog(run.data_dir)


@pytest.mark.parametrize("sql", QUERIES)
def test_an_example_query_answers_with_rows(catalog: Catalog, sql: str) -> None:
    found = catalog.query(sql)
    neither = (
        "having pass_rate between" in sql
    )  # the sample has one attempt per task, so no task is in between
    assert found.rows() or neither
    assert found.columns


def test_the_page_names_every_view() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert [name for name in TABLES if f"`{name}`" not in text] == []
    assert len(QUERIES) >= 15


def test_rows_of_tools_without_a_world_are_tools_too() -> None:
    row = tool_row(tool())
    assert row["world"] is None
    assert row["domain"] == "health/animal care/clinic"
    assert tool_row(tool(), world())["world"] == "clinic"
