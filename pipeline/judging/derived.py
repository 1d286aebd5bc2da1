"""What follows from what an agent knows: counts, sums, parts of longer digits, numbers said as words."""

from __future__ import annotations

import re

from pipeline.judging.knowledge import Known, parts
from pipeline.judging.rows import beside_word, digits_of, near, plain, totals
from pipeline.judging.statements import Stated, full_dates, stated
from pipeline.tasks.values import folded

_WORDED = {
    word: float(number)
    for number, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve".split()
    )
}
_YEAR = re.compile(r"\b(?:19|20)\d\d\b")
MORE = re.compile(r"(?<![\d.,])(\d+) (?:more|others?)\b(?! (?:per|a|than)\b)")


def derived(known: Known, value: Stated, part: str, whole: str) -> bool:
    kind, amount = value
    if kind == "code":
        return any(str(amount) in plain(text) for text in known.texts)
    if kind != "number" or not isinstance(amount, float):
        return False
    lists = [answer for answer in known.answers if len(answer.rows) > 1]
    if any(len(answer.rows) == amount for answer in known.answers if answer.result.listed):
        return True
    if any(abs(total - amount) < 0.005 for answer in lists for total in totals(answer.rows)):
        return True
    return _computed(known, amount, part) or _in_digits(known, amount) or _in_words(known, value, part)


def left_over(known: Known, amount: float, whole: str) -> bool:
    """`and 3 more` after some rows of a list, counted where each row stands by itself; also what was said to be more
    of something."""
    lists = [len(answer.rows) for answer in known.answers if len(answer.rows) > 1]
    if ("number", amount) in known.told:
        return True
    rows = whole.count("; ") or whole.count("\n- ")  # rows may be said without any number in them
    if rows > 1:
        own_line = "\n" in whole and MORE.search(whole.rsplit("\n", 1)[1]) is not None
        return any(length - rows + own_line == amount for length in lists) or any(
            length - rows == amount for length in lists
        )
    stating = [one for one in parts(whole) if not MORE.search(one) or "," in one]
    left = {length - shown for length in lists for shown in (len(stating), rows)}
    return not left.isdisjoint({amount - 1, amount, amount + 1}) or ("number", amount) in known.read


def _computed(known: Known, amount: float, part: str) -> bool:
    """The sum, difference or product of two known numbers that are named beside it."""
    others = [n for kind, n in stated(part) if kind == "number" and n != amount and isinstance(n, float)]
    given = [
        n
        for n in others
        if ("number", n) in known.read or ("number", n) in known.told | known.standing.values
    ]
    return any(
        abs(result - amount) < 0.005
        for i, first in enumerate(given)
        for second in given[i:]
        for result in (first + second, abs(first - second), first * second, first * second / 100)
    )


def _in_digits(known: Known, amount: float) -> bool:
    """Part of a longer run of digits (`+4915155`) or such a run written in groups."""
    digits = f"{amount:.0f}"
    return (
        len(digits) >= 4 and amount == int(amount) and any(digits in digits_of(text) for text in known.texts)
    )


def _in_words(known: Known, value: Stated, part: str) -> bool:
    """Whether a number was said as a word by the user or in a result, or in the instructions about the same."""
    words = {word for word, number in _WORDED.items() if number == value[1]}
    if not words:
        return False
    if any(not words.isdisjoint(folded(text).split()) for text in known.heard + known.results):
        return True
    beside = near(part, value, 3)
    return any(not beside.isdisjoint(beside_word(text, frozenset(words), 4)) for text in known.standing.texts)


def of_another_year(known: Known, part: str) -> frozenset[Stated]:
    """Dates with a year, where only the same day of other years is known."""
    found: set[Stated] = set()
    for day in full_dates(part) if _YEAR.search(part) else ():
        days = {one for text in known.texts for one in full_dates(text) if one[5:] == day[5:]}
        if days and day not in days:
            found |= {("date", day[5:]), ("year", float(day[:4]))}
    return frozenset(found)
