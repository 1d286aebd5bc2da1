"""The page on tools, documents and code tasks of one's own: its files and commands work as they stand."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from pipeline.sandbox import BadTask, load_tasks

PAGE = Path(__file__).parent.parent.parent / "docs" / "own.md"


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_files_and_commands_of_the_page_work_as_they_stand(tmp_path: Path) -> None:
    text = PAGE.read_text(encoding="utf-8")
    for name, content in re.findall(r"```\w+ (\S+)\n(.*?)```", text, re.S):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content, encoding="utf-8")
    outputs = []
    for line in re.findall(r"^\$ tracemill (.*)$", text, re.M):
        command = f"{sys.executable} -c 'from pipeline.cli import main; main()' {line}"
        done = subprocess.run(
            command,
            shell=True,
            cwd=tmp_path,
            env=os.environ.copy(),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{line}\n{done.stderr[-2000:]}"
        outputs.append(done.stdout)
    assert "plan_watering" in outputs[1]
    assert "kept" in outputs[3]
    (task,) = load_tasks(tmp_path / "tasks")
    assert not isinstance(task, BadTask)
    config = yaml.safe_load(re.findall(r"```yaml\n(.*?)```", text, re.S)[0])
    assert set(config) == {"worlds", "tools", "rephrase", "code"}
