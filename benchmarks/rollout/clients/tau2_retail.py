"""Calls a second of tau2-bench's retail environment, run by an interpreter that has its dependencies: one JSON line.

Written against its public interface alone: `get_environment`, `get_tasks`, `get_response`, `get_db_hash`, and for its own
gym surface `AgentGymEnv`, whose user says one fixed sentence (litellm's `mock_response`), so that no model is asked. The
same shape as `gym.py`: episodes of 20 reference calls of one task each, every one in an environment of its own.
"""

from __future__ import annotations

import json
import os
import sys
import time

from loguru import logger

logger.remove()
os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")

from tau2.data_model.message import ToolCall  # noqa: E402
from tau2.data_model.tasks import Task  # noqa: E402
from tau2.domains.retail.environment import get_environment, get_tasks  # noqa: E402

CALLS = 20


def with_calls() -> list[Task]:
    return [task for task in get_tasks() if task.evaluation_criteria and task.evaluation_criteria.actions]


def plans() -> list[list[ToolCall]]:
    found = []
    for task in with_calls():
        calls = [
            ToolCall(id=str(n), name=a.name, arguments=a.arguments)
            for n, a in enumerate(task.evaluation_criteria.actions)
        ]
        found.append([calls[n % len(calls)] for n in range(CALLS)])
    return found


def rate(seconds: float, *, fresh: bool, hashed: bool) -> float:
    """Calls a second; `fresh` counts making the environment, `hashed` the state's hash after each call."""
    made, used, began, number = 0, 0.0, time.perf_counter(), 0
    all_plans = plans()
    while time.perf_counter() - began < seconds:
        start = time.perf_counter()
        environment = get_environment()
        if not fresh:
            start = time.perf_counter()
        for call in all_plans[number % len(all_plans)]:
            environment.get_response(call)
            if hashed:
                environment.get_db_hash()
            made += 1
        used += time.perf_counter() - start
        number += 1
    return made / used


def stepped(seconds: float) -> float:
    """Steps a second through its gym surface, `reset` not counted. Each call of a task once: errors would end the episode,
    and the end asks a model for its verdict."""
    from tau2.gym.gym_agent import AgentGymEnv

    made, used, number, tasks = 0, 0.0, 0, with_calls()
    while used < seconds:
        task = tasks[number % len(tasks)]
        number += 1
        environment = AgentGymEnv(
            "retail", task.id, user_llm="gpt-4o-mini", user_llm_args={"mock_response": "I need help."}
        )
        if environment.reset()[0] == "":
            raise RuntimeError("an episode of tau2-bench's gym has ended before its first step")
        start = time.perf_counter()
        for action in task.evaluation_criteria.actions[:CALLS]:
            environment.step(json.dumps({"name": action.name, "arguments": action.arguments}))
            made += 1
        used += time.perf_counter() - start
    return made / used


figures = {
    "whole": rate(8.0, fresh=True, hashed=True),
    "hashed": rate(8.0, fresh=False, hashed=True),
    "within": rate(8.0, fresh=False, hashed=False),
}
try:
    figures["steps"] = stepped(8.0)
except (ImportError, OSError, RuntimeError) as error:
    print(f"its gym surface is not measured: {error}", file=sys.stderr)
print(json.dumps(figures))
