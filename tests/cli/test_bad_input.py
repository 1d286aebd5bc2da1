"""Bad input at the front door: one message that blames the right place, and nothing made before it is found."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from typer.testing import CliRunner

from pipeline.cli import app
from pipeline.config import load_config
from pipeline.records import ConfigError, TracemillError


def _told(file: Path, text: str | None, flags: Mapping[str, object], variables: Mapping[str, str]) -> str:
    if text is not None:
        file.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError) as found:
        load_config(file if text is not None else None, flags, variables)
    return str(found.value)


@pytest.mark.parametrize(
    ("text", "flags", "variables", "said"),
    [
        ("tasks: {cuont: 3}", {}, {}, "c.yaml: unknown key tasks.cuont (did you mean count?)"),
        ("tasks: {count: 0}", {}, {}, "c.yaml: tasks.count has to be at least 1 and is 0"),
        ("tasks: {count: 5}", {"tasks.count": 0}, {}, "--count: tasks.count has to be at least 1 and is 0"),
        ("seed: 1", {}, {"TRACEMILL_SEED": "x"}, "TRACEMILL_SEED: seed has to be a whole number"),
        (None, {}, {"TRACEMILL_SEDE": "1"}, "TRACEMILL_SEDE: unknown key sede (did you mean seed?)"),
        (None, {}, {"TRACEMILL_SEED": "["}, "The variable TRACEMILL_SEED is no YAML value"),
        (None, {"roles.policy": "nosuch"}, {}, "--model: No model is called nosuch"),
        ("roles: {boss: x}", {}, {}, "unknown key roles.boss, which has to be one of 'author'"),
        ("run: {runner: foo}", {}, {}, "run.runner has to be one of 'process'"),
        ("tasks:\n  count: 1\n  count: 2", {}, {}, "the key 'count' stands there twice in line 3, column 3"),
        ("tasks: {goal_kinds: {act: -1}}", {}, {}, "the weight of act has to be 0 or more and is -1"),
        ("tasks: {goal_counts: {1: 0}}", {}, {}, "one of the weights has to be more than 0"),
        ("tasks: {goal_kinds: {dance: 1}}", {}, {}, "unknown key tasks.goal_kinds.dance"),
        ("tasks: {goal_counts: {0: 1}}", {}, {}, "tasks.goal_counts.0 has to be at least 1 and is 0"),
        ("tasks: [1]", {}, {}, "tasks has to be a mapping"),
        ("x: [", {}, {}, "in line 2"),
        ("- a", {}, {}, "holds no mapping"),
    ],
)
def test_a_bad_setting_is_told_in_plain_words_where_it_came_from(
    tmp_path: Path, text: str | None, flags: dict[str, object], variables: dict[str, str], said: str
) -> None:
    told = _told(tmp_path / "c.yaml", text, flags, variables)
    assert said in told
    assert "Input should" not in told
    assert "pydantic" not in told


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("run", "rephrase", "--input", "nowhere"), "nowhere names no file"),
        (("run", "code", "--tasks", "nowhere"), "nowhere"),
        (("run", "tools", "--mcp", "nowhere.json"), "nowhere.json cannot be read"),
        (("run", "tools", "--mcp-dump", "nowhere.json"), "no saved list of tools"),
        (("run", "tools", "--mcp-dump", "broken.json"), "holds no tool"),
        (("run", "tools", "--mcp-dump", "empty.json"), "holds no tool"),
        (("run", "trajectories", "--config", "only.yaml"), "Did you mean skerry-air?"),
        (("run", "trajectories", "--config", "verify.yaml"), "publish.verify names 'hermse'"),
        (("run", "rephrase", "--config", "styles.yaml"), "rephrase.styles names 'lectuer'"),
        (("validate", "only.yaml"), "Did you mean skerry-air?"),
        (("validate", "inputs.yaml"), "nowhere names no file"),
        (("validate", "nowhere.yaml"), "cannot be read"),
        (("world", "check", "nowhere.yaml"), "There is no world file"),
        (("world", "check", "."), "only.yaml: unknown key worlds"),
        (("world", "show", "."), "There is no world"),
        (("sql", "select * from read_csv('/etc/passwd')"), "reaches outside the runs"),
    ],
)
def test_nothing_is_made_before_bad_input_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in {
        "broken.json": '{"tools": [',
        "empty.json": '{"tools": []}',
        "only.yaml": "worlds: {only: [skery-air]}",
        "verify.yaml": "publish: {verify: [hermse]}",
        "styles.yaml": "rephrase: {styles: [lectuer]}",
        "inputs.yaml": "rephrase: {inputs: [nowhere]}",
    }.items():
        Path(name).write_text(text, encoding="utf-8")
    done = CliRunner().invoke(app, words)
    told = str(done.exception) if isinstance(done.exception, TracemillError) else done.output
    assert done.exit_code == 1, told
    assert said in told
    assert not [path for path in tmp_path.glob("data/runs/*") if path.name != ".empty"]
