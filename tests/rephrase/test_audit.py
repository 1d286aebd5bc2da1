"""The audit goes out as a stratified sample, and its answers measure the checker."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pipeline.records import ConfigError, InputError
from pipeline.rephrase.audit import export_audit, import_audit, measure, wilson


def _rows(count: int) -> list[dict[str, Any]]:
    return [
        {
            "id": f"rw_{n}",
            "document": "doc_1",
            "chunk": n,
            "style": ("lecture", "notes")[n % 2],
            "verdict": "kept" if n % 4 else "source_kept",
            "fidelity": "faithful" if n % 4 else "unfaithful",
            "text": f"text {n}",
            "source_text": f"source {n}",
            "refused_text": "" if n % 4 else f"refused {n}",
        }
        for n in range(count)
    ]


def test_every_style_and_verdict_is_drawn_and_equal_seeds_agree(tmp_path: Path) -> None:
    rows = _rows(80)
    finding = {"rewrite": "rw_0", "kind": "number", "direction": "lost", "message": "m"}
    export_audit(rows, [finding], tmp_path / "a.jsonl", share=0.1, seed=3)
    count = export_audit(rows, [finding], tmp_path / "b.jsonl", share=0.1, seed=3)
    text = (tmp_path / "a.jsonl").read_text()
    assert text == (tmp_path / "b.jsonl").read_text()
    drawn = [json.loads(line) for line in text.splitlines()]
    assert len(drawn) == count
    assert {(row["style"], row["fidelity"]) for row in drawn} == {
        (row["style"], row["fidelity"]) for row in rows
    }
    assert all(row["rewriting"].startswith("refused") for row in drawn if row["verdict"] == "source_kept")
    with pytest.raises(ConfigError, match="exists"):
        export_audit(rows, [], tmp_path / "a.jsonl")


def test_answers_give_misses_and_false_alarms_by_style(tmp_path: Path) -> None:
    export_audit(_rows(40), [], tmp_path / "a.jsonl", share=1.0)
    lines = [json.loads(line) for line in (tmp_path / "a.jsonl").read_text().splitlines()]
    for at, row in enumerate(row for row in lines if row["fidelity"] == "faithful"):
        row["answer"] = "reject" if at < 3 else "accept"
    for at, row in enumerate(row for row in lines if row["fidelity"] == "unfaithful"):
        row["answer"] = "accept" if at < 2 else "" if at < 4 else "reject"
    (tmp_path / "b.jsonl").write_text("".join(json.dumps(row) + "\n" for row in lines))
    result = measure(import_audit(tmp_path / "b.jsonl"))
    assert result["misses"]["share"] == 0.1
    assert result["false_alarms"]["share"] == 0.25
    assert result["n"] == 38
    assert set(result["by_style"]) == {"lecture", "notes"}


def test_an_unknown_answer_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"id": "x", "answer": "maybe"}\n')
    with pytest.raises(InputError, match="line 1"):
        import_audit(tmp_path / "a.jsonl")


def test_the_interval_of_a_share() -> None:
    low, high = wilson(0, 20)
    assert low == 0.0
    assert 0.15 < high < 0.17
