"""The stages `code_tasks` and `code`: tasks admitted by their runs, attempts in containers graded in fresh ones."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Callable, Sequence
from pathlib import Path

from pipeline.assets import asset
from pipeline.judging.code import code_episode, code_judgement
from pipeline.models.players.policy import ModelPolicy
from pipeline.records import Admission, CodeTask, Judgement, Policy, Snapshot, Task, Versions
from pipeline.sandbox import BadTask, Changes, File, Link, Pool, admit, grade, load_tasks
from pipeline.stages.attempts import Attempts, Cast, Finished, Job
from pipeline.stages.code_authoring import authored_code_units, write_code_tasks
from pipeline.stages.context import Context, Tally, call_rows
from pipeline.stages.paused import RESUMED, PausedJobs, set_aside
from pipeline.stages.players import TEACHER, Players
from pipeline.store import (
    Journal,
    Tables,
    agent_row,
    code_report_row,
    code_task_row,
    gather,
    persona_row,
    task_row,
)
from pipeline.teacher.code import CodeTeacher, CodeUser, choose_way
from pipeline.worlds.container import ContainerHost

ADMISSION = "code_tasks"
STAGE = "code"


def code_sources(context: Context) -> list[Path]:
    """The task files and folders of the configuration; without any those that ship, unless a model writes some."""
    code = context.config.code
    return list(code.tasks) or ([] if code.authored else [asset("data/code_tasks")])


def code_task_units(context: Context) -> int:
    """One for all that is read, and those that a model writes."""
    return 1 + authored_code_units(context.config)


async def code_tasks_unit(context: Context, number: int) -> None:
    """Unit 0 reads all sources, the others ask a model; tasks are admitted by their runs. A bad row is one failure."""
    tally = Tally(ADMISSION)
    async with Pool(context.config.sandbox, run=context.folder.name, build=True) as pool:
        if number:
            written, more = await write_code_tasks(context, pool, ADMISSION, number, tally)
            parts = [more, *(_task_tables(one.admission) for one in written if one.admission)]
        else:
            parts = await _read(context, pool, tally)
    context.folder.write_shard(ADMISSION, number, _once([*parts, tally.tables()]))


async def _read(context: Context, pool: Pool, tally: Tally) -> list[Tables]:
    """The tasks of all sources, admitted or not."""
    found: list[CodeTask] = []
    for source in code_sources(context):
        for one in load_tasks(source):
            if isinstance(one, BadTask):
                tally.reject("unusable", one.message, subject=one.where)
            else:
                found.append(one)
    admissions = await asyncio.gather(*(admit(pool, task) for task in found))
    for admission in admissions:
        if admission.admitted:
            tally.keep()
        else:
            tally.reject(admission.verdict, admission.reason, subject=admission.task.name)
    return [_task_tables(admission) for admission in admissions]


def _task_tables(admission: Admission) -> Tables:
    task = admission.task
    reason = "" if admission.admitted else f"{admission.verdict}: {admission.reason}"
    tables: Tables = {"code_tasks": [code_task_row(task, admitted=admission.admitted, reason=reason)]}
    reports = [("empty", 0, admission.empty), *(("gold", run, one) for run, one in enumerate(admission.gold))]
    tables["code_reports"] = [
        code_report_row(report, attempt=run, solution=solution) for solution, run, report in reports if report
    ]
    if admission.admitted:
        episode = code_episode(task)
        tables["tasks"] = [task_row(episode, domain="software/coding/repository")]
        tables["agents"] = [agent_row(episode.agent)]
        tables["personas"] = [persona_row(episode.persona)]
    return tables


def _once(parts: list[Tables]) -> Tables:
    """All rows together; agents and personas once each."""
    tables = gather(parts)
    for name in ("agents", "personas"):
        tables[name] = list({row["id"]: row for row in tables.get(name, [])}.values())
    return tables


def code_units(context: Context) -> list[list[str]]:
    """Ids of code tasks per unit, in the order of the shards."""
    rows = context.folder.rows("code_tasks", columns=("id", "admitted"))
    ids = [row["id"] for row in rows if row["admitted"]]
    size = context.config.code.shard_tasks
    return [ids[start : start + size] for start in range(0, len(ids), size)]


async def code_unit(context: Context, number: int) -> bool:
    """Attempts at the unit's tasks, each in its container, each graded in a fresh one.

    Episodes that paused at a limit of one part are set aside, their files with them: the unit stands without them. False
    when the run's time is up: the unit stays unfinished.
    """
    wanted = code_units(context)[number]
    tasks = _read_tasks(context)
    jobs = [(code_episode(tasks[name]), k) for name in wanted for k in range(context.config.code.attempts)]
    return await _unit(context, STAGE, number, lambda journal: jobs, tasks)


async def resumed_code_unit(context: Context, number: int) -> bool:
    """Takes up the episodes that had paused when round `number` began: a fresh container gets the files that had been
    changed; programs that ran in the old one are gone."""
    paused = PausedJobs(context.folder, STAGE, number)
    tasks = _read_tasks(context)
    episodes = {one.id: one for one in map(code_episode, tasks.values())}

    def bring(journal: Journal) -> list[Job]:
        paused.copy_to(journal)
        return [(episodes[task], attempt) for task, attempt in paused.jobs]

    return await _unit(context, RESUMED[STAGE], number, bring, tasks)


def _read_tasks(context: Context) -> dict[str, CodeTask]:
    """The admitted code tasks by id."""
    rows = context.folder.rows("code_tasks", columns=("id", "record", "admitted"))
    return {row["id"]: CodeTask.model_validate_json(row["record"]) for row in rows if row["admitted"]}


async def _unit(
    context: Context,
    stage: str,
    number: int,
    find_jobs: Callable[[Journal], Sequence[Job]],
    tasks: dict[str, CodeTask],
) -> bool:
    with context.folder.journal(stage, number) as journal:
        jobs = find_jobs(journal)
        async with (
            context.models(journal) as models,
            Pool(context.config.sandbox, run=context.folder.name, build=True) as pool,
        ):
            unit = CodeAttempts(context, journal, Players(context.config, models, STAGE), tasks, pool)
            parts = await unit.run(jobs)
            if unit.owed:
                return False
            calls = call_rows(models.ledger.drain())
        unit.account(calls, len(jobs) if stage != STAGE else 0)
        set_aside(context.folder, stage, number, journal, unit.paused)
    context.folder.write_shard(stage, number, gather([*parts, {"model_calls": calls}, unit.tally.tables()]))
    return True


class CodeAttempts(Attempts):
    """Attempts in containers."""

    stage = STAGE

    def __init__(
        self, context: Context, journal: Journal, players: Players, tasks: dict[str, CodeTask], pool: Pool
    ) -> None:
        super().__init__(context, journal, players, {})
        self._tasks = tasks
        self._pool = pool

    async def cast(self, task: Task, attempt: int, name: str) -> Cast:
        code = self._tasks[task.world]
        policy: Policy
        if self.players.plays("policy") == TEACHER:
            policy = CodeTeacher(code, name, choose_way(name, self.context.config.code.flaw_rate))
        else:
            seat = self.players.seat("policy", name, attempt)
            policy = ModelPolicy(seat, temperature=self.context.config.trajectories.temperature_of(attempt))
        return Cast(
            host=await ContainerHost.open(self._pool, code),
            policy=policy,
            user=CodeUser(code),
            versions=self.versions(task),
        )

    def versions(self, task: Task) -> Versions:
        written = self._tasks[task.world].prompt
        prompts = dict(part.split("@", 1) for part in written.split("+") if part)
        return self.players.versions(task).replace(prompts=prompts, user=TEACHER, judge="pytest")

    async def verdict(self, task: Task, done: Finished) -> tuple[Judgement, Tables]:
        if done.trajectory.end_reason.owner is not None:
            return code_judgement(task, done.trajectory, None), {}
        report = await grade(self._pool, self._tasks[task.world], changes_of(done.last_snapshot))
        attempt, name = done.trajectory.attempt, done.trajectory.id
        row = code_report_row(report, attempt=attempt, trajectory=name)
        return code_judgement(task, done.trajectory, report), {"code_reports": [row]}


def changes_of(snapshot: Snapshot | None) -> Changes:
    """The changed files that a snapshot of a container holds."""
    changes: dict[str, File | Link | bytes | str | None] = {}
    for _, path, row in snapshot.rows if snapshot else ():
        if row is None:
            changes[path] = None
        elif "link" in row:
            changes[path] = Link(row["link"])
        else:
            changes[path] = File(base64.b64decode(row["base64"]), row["executable"])
    return changes
