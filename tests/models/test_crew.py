"""Those who share a limit: parts add up, and the dead have none."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.models.crew import Crew


@pytest.mark.parametrize("whole", [1, 2, 7])
def test_the_parts_add_up_to_the_whole(tmp_path: Path, whole: int) -> None:
    crew = [Crew(tmp_path) for _ in range(3)]
    assert sum(member.part(whole) for member in crew) == whole
    assert crew[0].share == pytest.approx(1 / 3)
    crew.pop().leave()
    assert sum(member.part(whole) for member in crew) == whole
    for member in crew:
        member.leave()
        member.leave()
    assert not list(tmp_path.iterdir())


def test_the_part_of_a_killed_process_goes_to_the_others(tmp_path: Path) -> None:
    code = "import sys, pathlib, pipeline.models.crew as c; m = c.Crew(pathlib.Path(sys.argv[1])); print('in', flush=True); input()"
    clock = [0.0]
    mine = Crew(tmp_path, clock=lambda: clock[0])
    with subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout is not None
        other.stdout.readline()
        assert mine.share == 0.5
        other.kill()
        other.wait()
    clock[0] += 60
    assert mine.share == 1.0
    assert len(list(tmp_path.iterdir())) == 1
    mine.leave()
