"""A model writes code tasks: a faulty one is put right by what its admission says, a hopeless one ends in a row."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from pipeline.config import load_config
from pipeline.records import CodeTask, ConfigError
from pipeline.stages.code import code_sources, code_task_units, code_tasks_unit, code_unit
from pipeline.stages.context import Context
from pipeline.stages.inputs import check_inputs
from pipeline.store import RunFolder
from tests.endpoint.server import Endpoint, Received, Reply, completion
from tests.sandbox.conftest import docker_ready

__all__ = ["docker_ready"]

STUB = "def total(prices, off):\n    return sum(prices)\n"
RIGHT = "def total(prices, off):\n    return sum(prices) * (100 - off) // 100\n"
TESTS = (
    "from {name} import total\n\n\ndef test_plain():\n    assert total([1, 2], 0) == 3\n\n\n"
    "def test_off():\n    assert total([100, 100], 50) == 100\n\n\ndef test_all_off():\n    assert total([7], 100) == 0\n"
)


def draft(name: str, gold: str = RIGHT, tests: str = TESTS, **changes: Any) -> dict[str, Any]:
    module = name.replace("-", "_")
    return {
        "name": name,
        "statement": f"In {module}.py, total(prices, off) gives the sum of the prices less so many per cent, rounded down.",
        "files": [{"path": f"{module}.py", "content": STUB}],
        "tests": [{"path": f"tests/test_{module}.py", "content": tests.format(name=module)}],
        "gold": [{"path": f"{module}.py", "content": gold}],
        **changes,
    }


class Writer:
    """Tells its tasks apart by what each is about. The first errs once at admission, the second before it, the third
    always, the fourth refuses, and the fifth writes the first one again."""

    def __init__(self) -> None:
        self.begun: dict[str, int] = {}
        self.shown: list[str] = []

    def __call__(self, received: Received) -> Reply | dict[str, Any]:
        texts = [str(one["content"]) for one in received.body["messages"]]
        number = self.begun.setdefault(texts[1], len(self.begun))
        again = len(texts) > 2
        if again:
            self.shown.append(texts[-1])
        if number == 3:
            return completion("I would rather not write this.", refusal="I would rather not.")
        value = {
            0: draft("shop-total", RIGHT if again else RIGHT.replace("//", "+")),
            1: draft("till-total") if again else draft("till-total", gold=STUB),
            2: draft("easy-total", tests=TESTS.replace("50) == 100", "0) == 200").replace("100) == 0", "0) == 7")),
            4: draft("shop-total"),
        }[number]  # fmt: skip
        return completion(json.dumps(value), tokens=(100, 200))


def context_for(tmp: Path, url: str) -> Context:
    values = {
        "data": str(tmp),
        "cache.enabled": False,
        "models": {"m": f"a@{url}"},
        "prices": {"a": {"input": 1.0, "output": 2.0}},
        "roles.author": "m",
        "author.repairs": 1,
        "code.authored": 5,
        "code.attempts": 1,
        "code.flaw_rate": 0.0,
    }
    config = load_config(None, values, {})
    return Context.open(RunFolder.create(tmp, "r", "code", config.seed, config.to_yaml()).path)


def test_without_a_model_there_is_nobody_to_ask() -> None:
    with pytest.raises(ConfigError, match="the teacher is the author"):
        check_inputs("code", load_config(None, {"code.authored": 2}, {}))


@pytest.mark.slow
@pytest.mark.docker
def test_a_model_writes_code_tasks(tmp_path: Path, docker_ready: None) -> None:
    writer = Writer()
    with Endpoint(writer) as endpoint:
        context = context_for(tmp_path, endpoint.base_url)
        assert (code_sources(context), code_task_units(context)) == ([], 2)
        asyncio.run(code_tasks_unit(context, 0))
        asyncio.run(code_tasks_unit(context, 1))
        asyncio.run(code_unit(context, 0))

    rows = list(context.folder.rows("code_tasks"))
    kept = {row["name"]: CodeTask.model_validate_json(row["record"]) for row in rows if row["admitted"]}
    assert sorted(kept) == ["shop-total", "till-total"]
    for task in kept.values():
        assert task.source == "model:m"
        assert task.prompt.startswith("author/code@")
        assert "+author/again@" in task.prompt or task.name == "shop-total"
        assert [len(task.fail_to_pass), len(task.pass_to_pass)] == [2, 1]
    refused = {row["name"]: row["reason"] for row in rows if not row["admitted"]}
    assert "no test fails without a solution" in refused["easy-total"]

    failures = list(context.folder.rows("failures", stage="code_tasks"))
    assert Counter(row["kind"] for row in failures) == {"rejected": 1, "refused": 1, "same task again": 1}
    assert all(row["message"] and json.loads(row["detail"])["asked"] for row in failures)
    funnel = [row for row in context.folder.rows("funnel", stage="code_tasks") if row["entered"]]
    assert [(row["entered"], row["kept"], row["rejected"]) for row in funnel] == [(5, 2, 3)]
    calls = list(context.folder.rows("model_calls", stage="code_tasks"))
    assert funnel[0]["tokens"] == sum(row["tokens_in"] + row["tokens_out"] for row in calls) > 0
    assert funnel[0]["cost"] > 0
    (measure,) = (
        row for row in context.folder.rows("measures", stage="code_tasks") if row["name"] == "yield"
    )
    assert json.loads(measure["detail"])["lost"] == 3

    told = "\n".join(writer.shown)
    assert "tests fail with its reference solution" in told
    assert "assert" in told
    assert "the solution changes nothing" in told
    trajectories = list(context.folder.rows("trajectories", stage="code"))
    assert len(trajectories) == 2
    assert all("author/code" in json.dumps(row, default=str) for row in trajectories)
