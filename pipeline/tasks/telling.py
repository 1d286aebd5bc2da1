"""When a fact counts as told: a distinctive value wherever it stands, a plain one only in a form that states it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from pipeline.records import Fact, Goal
from pipeline.tasks.values import folded, mentions

_PLAIN = re.compile(r"\d{1,4}|[a-zà-ÿ'’-]+|\w{1,2}")
_ARTICLE = re.compile(r"\b(?:the|a|an) (?=\S)")


def plain(value: str) -> bool:
    """Whether a value may well stand in a text without being stated: `on`, `new`, `large`, `2`."""
    return _PLAIN.fullmatch(value.strip()) is not None


@lru_cache(maxsize=20_000)
def bare(text: str) -> str:
    """Text without articles and final stops, for comparison: some people leave articles out."""
    return _ARTICLE.sub("", folded(text).replace("pls", "please")).strip(" .?!")


def states(text: str, fact: Fact, goals: Iterable[Goal] = (), *, value: str | None = None) -> bool:
    """Whether a user's text tells a fact (or `value` in its place).

    A plain value has to stand in one of the fact's own forms, or in a phrasing of one of `goals` that holds it.
    """
    wanted = fact.spoken if value is None else value
    if not mentions(text, wanted):
        return False
    if not plain(wanted):
        return True
    said = bare(text)
    if any(mentions(said, bare(form.replace("{value}", wanted))) for form in fact.said if _says_more(form)):
        return True
    return any(
        mentions(phrase, wanted) and mentions(said, bare(phrase))
        for goal in goals
        if fact.name in goal.facts
        for phrase in goal.phrasings
    )


def _says_more(form: str) -> bool:
    return bool(re.search(r"\w", form.replace("{value}", "")))
