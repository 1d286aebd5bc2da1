"""Telling the answer of a tool of which only the listing is known: its values by their names."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Collection, Iterator
from datetime import datetime, timedelta

from pipeline.records import Json
from pipeline.teacher.grammar import capital
from pipeline.worlds.simulated.meaning import pieces

MOST = 12
"""Values that are told of one answer; a larger one is no answer for a conversation."""
LONGEST = 200
LONGEST_WORD = 60
"""What is longer is data, not words."""
_INTRO = ("Here is what came back", "This is the answer", "I have it now", "Here it is")
_ONE = ("The answer is", "Here is the answer", "It says")
_SHAPES = re.compile(r"[{}<>\[\]]|\d[eE][-+]?\d")
_SPEAKING = frozenset({"message", "text", "content", "result", "output", "answer"})
"""Names of values that speak for themselves."""
_TROUBLE = re.compile(
    r"\b(?:errors?|failed|failure|invalid|not found|no such|denied|cannot|could not|unable|unknown|unsupported)\b",
    re.IGNORECASE,
)
_ATOM = re.compile(r"\S*\d\S*")


def leaves(value: Json, name: str = "") -> Iterator[tuple[str, str]]:
    """The single values of an answer with what they are called; lines of a text by themselves."""
    if isinstance(value, dict):
        for key, one in value.items():
            label = " ".join(pieces(key))
            yield from leaves(one, f"{name} {label}".strip())
    elif isinstance(value, list):
        for one in value:
            yield from leaves(one, name)
    elif isinstance(value, bool):
        yield name, "yes" if value else "no"
    elif isinstance(value, int | float):
        yield name, json.dumps(value)
    elif isinstance(value, str):
        for line in filter(None, map(str.strip, value.splitlines())):
            yield name, line


def sayable(value: Json) -> bool:
    """Whether an answer can be told in full in one message."""
    told = list(leaves(value))
    return 1 <= len(told) <= MOST and all(
        len(text) <= LONGEST
        and not _SHAPES.search(text)
        and not text.endswith(":")
        and max(map(len, text.split())) <= LONGEST_WORD
        for _, text in told
    )


def failing(value: Json) -> bool:
    """Whether an answer that came without an error speaks of one."""
    return any(_TROUBLE.search(text) for _, text in leaves(value))


def lasting(first: Json, second: Json, now: datetime) -> list[Json]:
    """What two answers to one question have in common, without what holds the present day: that will still be so
    tomorrow."""
    days = [f"{now + timedelta(days=shift):%Y-%m-%d}" for shift in (-1, 0, 1)]
    again = set(leaves(second))
    return [
        {label: text}
        for label, text in leaves(first)
        if (label, text) in again and not any(day in text for day in days)
    ]


def told_plainly(value: Json, rng: random.Random, said: Collection[str] = ()) -> str:
    """The values of an answer in a sentence; what has been `said` before only where nothing else came back."""
    told = [(label, text.rstrip(".")) for label, text in leaves(value)]
    told = [one for one in told if one[1] not in said] or told
    told = [one for one in told if one != ("success", "yes")] or told
    if not told:
        return "Done; nothing came back."
    parts = [_part(label, text) for label, text in told]
    if len(parts) > 1:
        return f"{rng.choice(_INTRO)}: {'; '.join(parts)}."
    label, text = told[0]
    plain = not label or label.split()[-1] in _SPEAKING
    return f"{rng.choice(_ONE)}: {text}." if plain else f"{capital(parts[0])}."


def _part(label: str, text: str) -> str:
    if not label or label.split()[-1] in _SPEAKING:
        return text
    return f"{label[3:]}: {text}" if label.startswith("is ") else f"the {label} is {text}"


def told_values(value: Json, said: Collection[str], most: int = 3) -> tuple[str, ...]:
    """What a user has to learn of an answer: short values, those they have not said themselves first. Of a sentence
    only the numbers, dates and codes in it count, since it can be said in other words."""
    found: list[str] = []
    for label, text in leaves(value):
        short = text.rstrip(".,;")
        if label == "success":
            continue
        if len(short.split()) <= 2:
            found.append(short)
        else:
            found += [one.strip(".,;:()'\"") for one in _ATOM.findall(text)]
    distinct = [one for one in dict.fromkeys(found) if one]
    news = [one for one in distinct if one not in said and one not in ("yes", "no")]
    return tuple((news or distinct)[:most])
