"""Code tasks as episodes: the request as a task of the rollout, and the test report as a judgement."""

from __future__ import annotations

import random
from typing import Literal, cast

from pipeline.judging.checks import protocol
from pipeline.judging.evidence import Evidence
from pipeline.judging.verdict import aggregate
from pipeline.records import (
    AgentProfile,
    CodeTask,
    Goal,
    Judgement,
    Owner,
    Persona,
    PolicyCheck,
    Rubric,
    RunStatus,
    Task,
    TestReport,
    Toolset,
    Trajectory,
    Value,
    Verdict,
)
from pipeline.sandbox.tools import TOOLS

PROMPTS = (
    "You are a software engineer working in a repository through tools. Find out what is asked, change the code, check your "
    "work, and say in a few sentences what you did.",
    "You are a coding assistant with access to a repository. Read before you change, keep changes small, run what can be "
    "run, and report what you changed.",
    "You work on the code in the current repository with the tools you are given. Do exactly what is asked, leave the tests "
    "alone, and finish with a short summary.",
    "You are an experienced developer. The user describes a change to a repository; carry it out with the tools, verify it, "
    "and tell the user when it is done.",
)
CHECK = "tests pass"
"""The verdict that the grade decides."""
_DIFFICULTIES = ("simple", "moderate", "hard", "expert")


def code_episode(task: CodeTask) -> Task:
    """The task of the rollout for a code task; equal tasks give equal ones."""
    rng = random.Random(task.id)
    difficulty = task.difficulty if task.difficulty in _DIFFICULTIES else "moderate"
    agent = AgentProfile(
        name="developer",
        system_prompt=rng.choice(PROMPTS),
        expertise="software",
        tone="plain",
        confirms="never",
        toolset=Toolset(tools=TOOLS, relevant=tuple(tool.name for tool in TOOLS)),
    )
    rule = "In a fresh container, the tests of the task pass with the agent's changes."
    return Task(
        world=task.id,
        world_name=task.name,
        agent=agent,
        persona=Persona(name="colleague", style="plain"),
        goals=(Goal(intent=task.statement, phrasings=(task.statement,), kind="act"),),
        axes={"files": float(len(task.files)), "changed": float(len(task.gold))},
        difficulty=cast(Literal["simple", "moderate", "hard", "expert"], difficulty),
        rubric=Rubric(
            criteria=(rule,),
            pattern=("read the code, change it, check the change",),
            checks=(PolicyCheck(name=CHECK, rule=rule, form="judge"),),
        ),
        host="container",
        proof="recorded",
        author=task.source,
    )


def code_judgement(task: Task, trajectory: Trajectory, report: TestReport | None) -> Judgement:
    """Kept only when graded passed: the real tests decide, and what looks like an attempt on them refuses.

    `report` is None when the episode had no regular end and nothing was graded.
    """
    verdicts = [protocol(Evidence(task, trajectory))]
    if report is not None:
        verdicts.append(_graded(report))
        if report.status is RunStatus.PASSED and report.flags:
            reason = "; ".join(report.flags)
            verdicts.append(
                Verdict(
                    check="no attempt on the tests",
                    kind="tests",
                    value=Value.FAIL,
                    reason=reason,
                    judge="sandbox",
                )
            )
    return aggregate(trajectory.id, verdicts)


def _graded(report: TestReport) -> Verdict:
    infra = report.status is RunStatus.INFRA_ERROR
    value = Value.UNSCORED if infra else Value.PASS if report.status is RunStatus.PASSED else Value.FAIL
    owner = Owner.INFRA if infra else Owner.AGENT
    reason = "" if value is Value.PASS else f"{report.status}: {report.reason}"
    return Verdict(check=CHECK, kind="tests", value=value, owner=owner, reason=reason, judge="pytest")
