"""Episodes that pause are set aside, hold nobody up, and are taken up later under the same versions."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from pipeline.config import load_config
from pipeline.records import RunError
from pipeline.sandbox import engine_problem
from pipeline.stages.context import Context, raise_limits, start_clock
from pipeline.stages.paused import paused_count
from pipeline.stages.units import STAGES, stages_of, work
from pipeline.store import RunFolder

FLAGS: dict[str, Any] = {
    "tasks.count": 12,
    "worlds.only": ["harbour-hotel"],
    "trajectories.shard_tasks": 6,
    "cache.enabled": False,
}


def _folder(data: Path, name: str, **more: Any) -> RunFolder:
    config = load_config(None, {**FLAGS, "data": str(data), **more}, {})
    return RunFolder.create(data, name, "trajectories", config.seed, config.to_yaml())


def _execute(folder: RunFolder, flow: str = "trajectories") -> list[tuple[str, int]]:
    """All units that do not stand; those that stay unfinished."""
    context = Context.open(folder.path)
    start_clock(context)
    left = []
    for stage in stages_of(flow, context.config):
        for number in range(STAGES[stage].units(context)):
            if not asyncio.run(work(folder.path, stage, number)):
                left.append((stage, number))
    return left


def _rows(folder: RunFolder, table: str) -> list[str]:
    """Rows of a table over all units, without what depends on which unit they are in."""
    return sorted(json.dumps(row, sort_keys=True) for row in folder.rows(table))


def _funnel(folder: RunFolder) -> tuple[int, int, int]:
    rows = [row for row in folder.rows("funnel") if row["stage"] == "trajectories"]
    entered, pending = (sum(row[key] for row in rows) for key in ("entered", "pending"))
    ended = sum(row["kept"] + row["rejected"] + row["failed"] for row in rows)
    return entered, ended, pending


def test_the_long_ones_are_set_aside_and_end_as_if_nothing_had_been(tmp_path: Path) -> None:
    calm = _folder(tmp_path, "calm")
    assert _execute(calm) == []
    spoken = Counter(row["trajectory"] for row in calm.rows("events") if row["role"] == "assistant")
    half = sorted(spoken.values())[12]
    parts = _folder(tmp_path, "parts", **{"trajectories.limits.pause_after_turns": half})
    assert _execute(parts) == [], "paused episodes hold no unit up"
    waiting = paused_count(parts)
    assert 0 < waiting < 24
    assert _funnel(parts) == (24, 24 - waiting, waiting)
    assert len(_rows(parts, "trajectories")) == 24 - waiting
    assert not list((parts.path / "journal").glob("*.db"))
    assert _execute(parts) == []
    assert paused_count(parts) == waiting, "only when it is asked for"
    raise_limits(parts, {"resume_paused": True})
    for _ in range(12):
        if not paused_count(parts):
            break
        before = paused_count(parts)
        assert _execute(parts) == []
        assert paused_count(parts) < before or before == waiting
    assert _funnel(parts) == (24, 24, 0)
    for table in ("events", "calls", "faults", "verdicts"):
        assert _rows(parts, table) == _rows(calm, table)
    assert {row["content"] for row in parts.rows("trajectories")} == {
        row["content"] for row in calm.rows("trajectories")
    }


def test_a_round_that_is_killed_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parts = _folder(tmp_path, "parts", **{"trajectories.limits.pause_after_turns": 5})
    _execute(parts)
    raise_limits(parts, {"resume_paused": True})
    waiting = paused_count(parts)
    assert waiting
    with monkeypatch.context() as patch:
        patch.setattr(RunFolder, "write_shard", lambda *_: (_ for _ in ()).throw(OSError("killed")))
        with pytest.raises(OSError, match="killed"):
            _execute(parts)
    assert paused_count(parts) == waiting
    _execute(parts)
    assert paused_count(parts) < waiting
    assert len({row["id"] for row in parts.rows("trajectories")}) == 24 - paused_count(parts)


def test_the_deadline_leaves_the_unit_to_the_next_execution(tmp_path: Path) -> None:
    folder = _folder(tmp_path, "late", **{"run.deadline": 1e-9})
    left = _execute(folder)
    assert left == [("trajectories", 0), ("trajectories", 1)]
    assert Context.open(folder.path).time_is_up
    raise_limits(folder, {"deadline": 600})
    assert _execute(folder) == []
    assert _funnel(folder) == (24, 24, 0)


def _rewritten(folder: RunFolder, **versions: Any) -> None:
    """Makes the paused episodes of a run look as if other versions had begun them."""
    for path in (folder.path / "paused").glob("*.db"):
        with sqlite3.connect(path) as db:
            for stream, text in db.execute("select stream, event from events where idx = 0").fetchall():
                body = json.loads(text)
                body["versions"] |= versions
                db.execute(
                    "update events set event = ? where stream = ? and idx = 0", (json.dumps(body), stream)
                )
        db.close()


def test_other_versions_are_refused_by_name_unless_accepted(tmp_path: Path) -> None:
    folder = _folder(tmp_path, "old", **{"trajectories.limits.pause_after_turns": 3})
    _execute(folder)
    waiting = paused_count(folder)
    prompts = {"user/turn": "0123456789ab"}
    _rewritten(folder, policy="small", code="0.0.1+aa", prompts=prompts, judge="another")
    raise_limits(folder, {"resume_paused": True})
    with pytest.raises(RunError) as refused:
        _execute(folder)
    text = str(refused.value)
    assert "policy was small and is teacher" in text
    assert "code was 0.0.1+aa" in text
    assert "prompt user/turn was 0123456789ab and is none" in text
    assert "judge" not in text, "who judges does not shape an episode"
    assert "--accept-changes" in text
    assert paused_count(folder) == waiting
    raise_limits(folder, {"accept_changes": True})
    _execute(folder)
    assert paused_count(folder) < waiting


@pytest.mark.slow
@pytest.mark.docker
def test_a_paused_code_episode_goes_on_in_a_fresh_container(tmp_path: Path) -> None:
    """Its files come back from the recorded difference; the unit has stood without it meanwhile."""
    if problem := engine_problem():
        pytest.skip(problem)
    task = Path(__file__).parent.parent.parent / "data" / "code_tasks" / "csv-totals"
    flags = {"code.tasks": [str(task)], "code.attempts": 2}
    calm = _folder(tmp_path, "calm", **flags)
    assert _execute(calm, "code") == []
    parts = _folder(tmp_path, "parts", **flags, **{"trajectories.limits.pause_after_turns": 2})
    assert _execute(parts, "code") == []
    assert paused_count(parts) == 2
    assert parts.shard_done("code", 0)
    raise_limits(parts, {"resume_paused": True})
    rounds = 0
    while paused_count(parts):
        assert _execute(parts, "code") == []
        rounds += 1
    assert rounds >= 2, "it has gone on from changed files, too"
    for table in ("trajectories", "events", "calls", "verdicts"):
        assert _rows(parts, table) == _rows(calm, table), table
    assert len(list(parts.rows("code_reports"))) == len(list(calm.rows("code_reports")))
