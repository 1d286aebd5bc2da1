"""What the person of a proposed task knows, in a person's words; and what must be true after the work."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pipeline.models.players.author import Checked, Problem
from pipeline.models.players.author.answers import Assertion, Assertions, Facts
from pipeline.records import Fact, Json, StateCheck, WorldError
from pipeline.tasks.authored.wishes import Planned
from pipeline.tasks.rubric import generated
from pipeline.tasks.telling import plain
from pipeline.tasks.values import mentions, says_value
from pipeline.worlds.sql import SqlWorld

_COMMON = frozenset(
    "the your you for and with one that this under are have was which who want would like".split()
)


def facts_to_word(plan: Planned) -> list[str]:
    """What a model is asked to word: name, what it is, its value."""
    return [f"{fact.name}: {fact.label}, {fact.value!r}" for fact in plan.told.values()]


def worded(plan: Planned, answer: Facts) -> Checked[list[Fact]]:
    """The facts in a person's words: each holds its value, and what is hidden stands in no phrasing."""
    given = {one.name: one for one in answer.facts}
    problems: list[Problem] = []
    facts: list[Fact] = []
    for name, fact in plan.told.items():
        one = given.get(name)
        if one is None:
            problems.append(("facts", f"{name} is missing; name it as listed"))
            continue
        problems += [
            (kind, f"{name}: {why}") for kind, why in _wrong(plan, fact, one.spoken, one.said, one.hidden)
        ]
        facts.append(
            fact.replace(
                label=one.label,
                spoken=one.spoken,
                said=tuple(one.said),
                disclosure="asked" if one.hidden else "open",
                keywords=_keywords(one.label),
            )
        )
    labels = [fact.label.casefold() for fact in facts]
    if len(set(labels)) < len(labels):
        problems.append(("facts", "two facts have the same label; nobody could ask for one of them"))
    return Checked(None if problems else [*facts, *plan.which.values()], problems)


def _wrong(plan: Planned, fact: Fact, spoken: str, said: Sequence[str], hidden: bool) -> list[Problem]:
    found: list[Problem] = []
    if not _holds(spoken, fact.value):
        found.append(("facts", f"{spoken!r} does not say the value {fact.value!r}"))
    if not any("{value}" in text for text in said):
        found.append(("facts", "no clause holds {value}"))
    elif plain(spoken) and not any(re.search(r"\w", text.replace("{value}", "")) for text in said):
        found.append(("facts", f"{spoken!r} alone could mean anything; say it in a clause"))
    if hidden and any(mentions(text, spoken) or says_value(text, str(fact.value)) for text in plan.texts):
        found.append(("hidden fact told", f"it is hidden, but a phrasing says {spoken!r}"))
    return found


def _holds(spoken: str, value: Json) -> bool:
    if isinstance(value, bool | list | dict) or value is None:
        return bool(spoken.strip())
    return says_value(spoken, str(value)) or mentions(spoken, str(value))


def _keywords(label: str) -> tuple[str, ...]:
    return tuple(sorted({word for word in re.findall(r"[^\W\d_]{3,}", label.lower()) if word not in _COMMON}))


def asserted(before: SqlWorld, after: SqlWorld, answer: Assertions, now: str) -> Checked[list[StateCheck]]:
    """The checks that are false before the work and true after it, and name nothing made up on the way."""
    good: list[StateCheck] = []
    problems: list[Problem] = []
    for number, one in enumerate(answer.checks, 1):
        why = _no_check(before, after, one, now)
        if why:
            problems.append((why[0], f"{one.name!r}: {why[1]}"))
        else:
            good.append(StateCheck(name=f"{one.name} (author {number})", sql=one.sql.strip().rstrip(";")))
    return Checked(good or None, problems, whole=not problems)


def _no_check(before: SqlWorld, after: SqlWorld, one: Assertion, now: str) -> Problem | None:
    sql = one.sql.strip().rstrip(";")
    literals = re.findall(r"'((?:[^']|'')*)'", sql)
    if any(generated(text) for text in literals):
        return "check", "it names a key that was made up on the way"
    if any(text.startswith((now[:16], now[:16].replace("T", " "))) for text in literals):
        return "check", "it names the very minute of the work"
    try:
        if before.holds(sql):
            return "true from the start", "it is true before anything is done, so it says nothing"
        if not after.holds(sql):
            return "check", "it is not true after the work"
    except WorldError as error:
        return "check", error.what
    return None
