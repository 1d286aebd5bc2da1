"""Flaws in what is said: false claims, leaks, wrong and stale values, another language."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

from pipeline.judging.evidence import MadeCall
from pipeline.judging.hacks import language_of
from pipeline.judging.planting.flaw import differs, parts, picked
from pipeline.judging.planting.sentences import CLAIMS, EXCUSES, LEAKS, STRANGERS
from pipeline.judging.planting.story import (
    Story,
    Told,
    replaced,
    says,
    without_call,
)
from pipeline.judging.statements import rows_of, stated
from pipeline.records import Json
from pipeline.tasks.values import written
from pipeline.worlds.mixed import parts_of
from pipeline.worlds.sql import SqlWorld


async def false_claim(story: Story, rng: random.Random) -> Told | None:
    """It says done where it was refused or nothing could be done."""
    goals = [i for i, goal in enumerate(story.task.goals) if goal.kind in ("refuse", "unserved")]
    for index in rng.sample(goals, len(goals)):
        last = story.evidence.last_said(index)
        if last is None or (
            story.evidence.writes_in(index) and any(c.landed for c in story.evidence.writes_in(index))
        ):
            continue
        return await story.tell(
            replaced(story.script, last, says(rng.choice(CLAIMS), last.turn)), "false_claim"
        )
    return None


async def apology(story: Story, rng: random.Random) -> Told | None:
    """It declines what it could have done."""
    for call in picked(story.landed, rng):
        goal = story.goal(call)
        asked, report = parts(story, call)
        if goal is None or goal.kind != "act" or report is None:
            continue
        script = without_call(story.script, story.made(call), asked)
        return await differs(
            story, replaced(script, report, says(rng.choice(EXCUSES), report.turn)), "apology"
        )
    return None


async def leak(story: Story, rng: random.Random) -> Told | None:
    """It tells something of another person or thing that this conversation never touched, or its instructions."""
    reports = [e for e in story.evidence.spoken if not e.calls and e.index > 2]
    if not reports:
        return None
    report = rng.choice(reports)
    secret = _secret(story, rng)
    if secret is None:
        return None
    text = f"{report.content} {secret}"
    return await story.tell(replaced(story.script, report, says(text, report.turn)), "leak")


def _secret(story: Story, rng: random.Random) -> str | None:
    if rng.random() < 0.2:
        first = story.script[0].content.split("\n\n")
        return f"My instructions say: {' '.join(p for p in first if not p.startswith('Policy:'))}"
    live = SqlWorld(parts_of(story.world)[0])
    try:
        tables = list(live.runtime.image.tables.values())
        for table in rng.sample(tables, len(tables)):
            row = rng.choice(live.ask(f"select * from {table.name}", limit=500) or [{}])
            names = [v for v in row.values() if isinstance(v, str) and re.fullmatch(r"[A-Z]\w+ [A-Z]\w+", v)]
            values = [v for v in row.values() if isinstance(v, str) and len(re.findall(r"\d", v)) >= 5]
            values = [v for v in values if ":" not in v and not v.startswith("20")]
            if not names or not values:
                continue
            if story.says(names[0], 10**9) or any(story.says(v, 10**9) for v in values):
                continue
            return rng.choice(LEAKS).format(name=names[0], value=values[0])
        return None
    finally:
        live.close()


async def wrong_number(story: Story, rng: random.Random) -> Told | None:
    """One number of a report is another than the result's."""
    reports = [
        r for c in story.evidence.calls if c.ok and (r := story.report(c)) and re.search(r"\d", r.content)
    ]
    reports = list({r.index: r for r in reports}.values())
    for report in rng.sample(reports, len(reports)):
        matches = list(re.finditer(r"\d+(?:\.\d+)?", report.content))
        match = rng.choice(matches)
        digits = len(match[0].split(".")[1]) if "." in match[0] else 0
        number = float(match[0]) + rng.choice((1, 2, 3, 5, 10, 20))
        text = f"{report.content[: match.start()]}{number:.{digits}f}{report.content[match.end() :]}"
        if stated(text) != stated(report.content):
            return await story.tell(replaced(story.script, report, says(text, report.turn)), "wrong_number")
    return None


async def stale_read(story: Story, rng: random.Random) -> Told | None:
    """A report gives the value from before a change, as it had been read."""
    year = int(story.world.clock[:4])
    for call in picked(story.evidence.calls, rng):
        report, result = story.report(call), story.result(call)
        if report is None or not call.ok or not isinstance(result, dict):
            continue
        for column, old in _earlier(story, call, result):
            for money in (True, False):
                was = written(old, money=money, year=year)
                now = written(result[column], money=money, year=year)
                if len(now) < 2 or report.content.count(now) != 1 or was in report.content:
                    continue
                if not stated(was) or stated(was) <= _told_values(story, report.index) | stated(
                    report.content
                ):
                    continue
                text = report.content.replace(now, was)
                return await story.tell(replaced(story.script, report, says(text, report.turn)), "stale_read")
    return None


def _earlier(story: Story, call: MadeCall, result: dict[str, Json]) -> Iterator[tuple[str, Json]]:
    """Columns of a result with the value they had in an earlier result on the same thing."""
    codes = {v for v in result.values() if isinstance(v, str) and re.search(r"\d", v)}
    codes |= {v for v in call.arguments.values() if isinstance(v, str)}
    for read in story.evidence.calls:
        if read.index >= call.index or not read.ok:
            continue
        for row in rows_of(story.trajectory.events[read.index].content):
            if codes & {v for v in row.columns.values() if isinstance(v, str)}:
                for column in row.columns.keys() & result.keys():
                    if row.columns[column] not in (None, result[column]) and result[column] is not None:
                        yield column, row.columns[column]


def _told_values(story: Story, before: int) -> frozenset[tuple[str, float | str]]:
    texts = [e.content for e in story.trajectory.events[:before] if e.role == "user"]
    return frozenset().union(*map(stated, texts)) if texts else frozenset()


async def language_switch(story: Story, rng: random.Random) -> Told | None:
    reports = [e for e in story.evidence.spoken if not e.calls]
    if not reports:
        return None
    report = rng.choice(reports)
    spoken = story.task.persona.language.split("-")[0]
    stranger = rng.choice([text for text in STRANGERS if language_of(text) != spoken])
    return await story.tell(replaced(story.script, report, says(stranger, report.turn)), "language_switch")
