"""`tracemill doctor`: what is missing is named once, with the command that mends it."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from pipeline.cli import app


def test_a_missing_engine_is_named_with_the_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
    answer = CliRunner().invoke(app, ["doctor", "--json"])
    assert answer.exit_code == 0, "nothing that a run without code needs is missing"
    findings = {finding["name"]: finding for finding in json.loads(answer.stdout)}
    assert findings["python"]["ok"]
    assert findings["worlds"]["what"].startswith("12 ")
    assert not findings["docker"]["ok"]
    assert "unix:///nowhere/docker.sock" in findings["docker"]["what"]
    assert "sandboxes/prepare.sh" in findings["docker"]["mend"]
