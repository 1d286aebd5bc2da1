"""Calls a second of tau2-bench's retail environment, run by an interpreter that has its dependencies: one JSON line.

Written against its public interface alone: `get_environment`, `get_tasks`, `get_response`, `get_db_hash`. The same shape
as `gym.py`: episodes of 20 reference calls of one task each, every one in an environment of its own.
"""

from __future__ import annotations

import json
import time

from loguru import logger

logger.remove()

from tau2.data_model.message import ToolCall  # noqa: E402
from tau2.domains.retail.environment import get_environment, get_tasks  # noqa: E402

CALLS = 20


def plans() -> list[list[ToolCall]]:
    found = []
    for task in get_tasks():
        criteria = task.evaluation_criteria
        actions = list(criteria.actions or []) if criteria else []
        if actions:
            calls = [ToolCall(id=str(n), name=a.name, arguments=a.arguments) for n, a in enumerate(actions)]
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


print(
    json.dumps(
        {
            "whole": rate(8.0, fresh=True, hashed=True),
            "hashed": rate(8.0, fresh=False, hashed=True),
            "within": rate(8.0, fresh=False, hashed=False),
        }
    )
)
