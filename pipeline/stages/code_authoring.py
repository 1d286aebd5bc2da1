"""A model as author of code tasks: a draft is admitted by its runs like any other task, and told why it was not."""

from __future__ import annotations

import asyncio
import itertools
import math
import random
import re
from collections.abc import Iterable
from dataclasses import dataclass

from pipeline.config import Config
from pipeline.models.players.author import Asker, Checked, Problem, Step, fence, settle
from pipeline.models.players.code_author import CodeDraft, defects, task_of
from pipeline.records import Admission, CodeTask, TestReport
from pipeline.sandbox import Pool, admit, task_problem
from pipeline.stages.context import Context, Tally, call_rows
from pipeline.stages.players import Players
from pipeline.stages.yields import yield_rows
from pipeline.store import Tables
from pipeline.tools.evolve.authored.texts import as_texts, foreign, unsafe

UNIT = 16
"""Code tasks of one unit; they are written side by side."""
TIMEOUT = 20.0
"""Seconds for one run of the tests of an authored task."""
KINDS = (
    "a bug in one function, to be found from what users report",
    "a function to be written after its description",
    "a feature to be added to a small module without breaking what it does",
    "a bug that shows only where two modules meet",
    "a slow or clumsy module whose behavior is to be kept but for two wrong edge cases",
)
TOPICS = (
    "parsing a small text format with comments and quoting",
    "opening hours, shifts and durations across midnight",
    "money: splitting bills, rounding, currencies",
    "stock of a warehouse with reservations",
    "a graph of roads, rooms or dependencies",
    "intervals and calendars",
    "text: wrapping, tables, alignment, escaping",
    "a cache or queue with limits",
    "a state machine for orders, tickets or machines",
    "matrices, grids and games on boards",
    "statistics of measurements with gaps and outliers",
    "a command-line script that reads rows and prints a report",
    "validation of records with clear messages",
    "units of measure and their conversion",
    "merging and comparing nested data",
    "recipes, menus and shopping lists",
    "a scoring system with ties",
    "undo, history and versions of a document",
    "a small language of rules or filters",
    "seat plans, queues and allocation",
)
_OWN_LINES = re.compile(r"^(?:[.FEsxX]+|\d+ (?:failed|passed|error).*)$\n?", re.M)
"""Progress and sums, which also count the tests that the grader adds."""
_DIFFICULTIES = ("simple", "moderate", "hard")


@dataclass(frozen=True)
class Wanted:
    """What one code task is asked to be like."""

    number: int
    kind: str
    about: str
    difficulty: str
    language: str


@dataclass
class Written:
    """What became of one wanted task. `admission` is the last one there was; `step` says whether it was kept."""

    wanted: Wanted
    step: Step
    admission: Admission | None = None


def wanted_code(config: Config) -> list[Wanted]:
    """All that are asked for, drawn so that no kind and topic meet twice before all have met."""
    rng = random.Random(f"{config.seed}/code tasks")
    pairs = list(itertools.product(KINDS, TOPICS))
    rng.shuffle(pairs)
    languages = config.author.languages
    return [
        Wanted(number, kind, about, rng.choice(_DIFFICULTIES), languages[number % len(languages)])
        for number, (kind, about) in zip(range(config.code.authored), itertools.cycle(pairs), strict=False)
    ]


def authored_code_units(config: Config) -> int:
    """Units that a model's tasks make."""
    return math.ceil(config.code.authored / UNIT)


async def write_code_tasks(
    context: Context, pool: Pool, stage: str, number: int, tally: Tally
) -> tuple[list[Written], Tables]:
    """The tasks of one unit (from 1), and the account of them: rows of `measures` and `model_calls`.

    Raises SandboxError when the engine keeps failing; EndpointDown and BudgetExceeded pass through.
    """
    wanted = wanted_code(context.config)[(number - 1) * UNIT : number * UNIT]
    with context.folder.journal(stage, number) as journal:
        async with context.models(journal) as models:
            players = Players(context.config, models, stage)
            author = context.config.author
            jobs = []
            for one in wanted:
                seat = players.seat("author", f"code task {one.number}")
                pen = Asker(
                    seat, temperature=author.temperature, max_tokens=context.config.code.authored_tokens
                )
                jobs.append(write_code_task(pen, pool, one, author.repairs))
            written = await asyncio.gather(*jobs)
            calls = call_rows(models.ledger.drain())
    _settle_names(written)
    for each in written:
        _book(each, tally)
    measures = yield_rows(stage, players.plays("author"), [each.step for each in written])
    return written, {"measures": measures, "model_calls": calls}


async def write_code_task(pen: Asker, pool: Pool, wanted: Wanted, repairs: int) -> Written:
    """Asks for one task, and at most `repairs` times again with what its admission said."""
    made = Written(wanted, Step("code", f"{wanted.kind}: {wanted.about}"))
    inputs = {"kind": wanted.kind, "about": wanted.about, "difficulty": wanted.difficulty}
    talk = pen.begin("code", language=wanted.language, fence=fence(wanted.about), **inputs)

    async def check(draft: CodeDraft) -> Checked[CodeTask]:
        task = task_of(
            draft, author=pen.author, prompt=talk.version, difficulty=wanted.difficulty, timeout=TIMEOUT
        )
        if problem := task_problem(task):
            return Checked(problems=[("unusable", problem)])
        made.admission = await admit(pool, task)
        if made.admission.admitted:
            return Checked(made.admission.task)
        return Checked(problems=[(made.admission.verdict, told(made.admission))])

    def also(draft: CodeDraft) -> Iterable[Problem]:
        yield from defects(draft)
        for why in dict.fromkeys(unsafe(as_texts(draft))):
            yield "unsafe", why
        if other := foreign(draft.statement, wanted.language):
            yield "another language", f"the statement is written in {other}; write it in {wanted.language}"

    await settle(talk, CodeDraft, check, made.step, repairs=repairs, also=also)
    return made


def told(admission: Admission) -> str:
    """The report of an admission, for its author: why not, how the runs ended, and what the decisive one printed."""
    parts = [f"It is {admission.verdict}: {admission.reason}."]
    runs = [("without a solution", admission.empty), *(("with your gold", run) for run in admission.gold[:1])]
    for name, run in runs:
        if run is not None:
            parts.append(f"The tests {name}: {_summary(run)}")
    failing = any(run.status != "passed" for run in admission.gold) or "reference" in admission.reason
    bad = next(iter(admission.gold), None) if failing else admission.empty
    if bad is not None and (printed := _OWN_LINES.sub("", bad.output).strip()):
        parts.append(f"What they printed:\n{printed[-900:]}")
    return "\n".join(parts)


def _summary(run: TestReport) -> str:
    said = ", ".join(f"{each.id.rpartition('::')[2]} {each.outcome}" for each in run.outcomes[:8])
    return (said or f"{run.status} {run.reason}").strip()[:400]


def _settle_names(written: list[Written]) -> None:
    """Of two admitted tasks with one name, or with one solution, the first stands."""
    seen: set[str] = set()
    for each in written:
        if each.step.kept and each.admission is not None:
            task = each.admission.task
            marks = {task.name, repr(sorted(task.gold.items()))}
            if marks & seen:
                each.step.kept = False
                each.step.kind, each.step.message = "same task again", f"{task.name} was written before"
                each.admission = each.admission.replace(verdict="rejected", reason="same task again")
            seen |= marks


def _book(each: Written, tally: Tally) -> None:
    step = each.step
    tally.tokens += step.tokens
    tally.cost += step.cost
    if step.kept:
        tally.keep()
        return
    subject = each.admission.task.name if each.admission else step.subject
    detail = {"wanted": step.subject, "asked": step.asked, "repairs": step.repairs, "caught": step.caught}
    tally.reject(step.kind, step.message, subject=subject, detail=detail)
