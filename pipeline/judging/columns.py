"""Numbers and dates in a list of rows: what stands at one place in all its items comes from one column.

`Locker at 7.00 a month; Guest pass at 2.50 a month; Priority line at 9.00 a month`: where the other items say the price of
their row, this one has to as well. It compares places with places, so it holds in every language, whatever the columns
are called.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from pipeline.judging.knowledge import Known
from pipeline.judging.rows import beside_stem, meant_rows
from pipeline.judging.statements import MONTH_NAMES, Result, Row, Stated, is_month, stated, words_of
from pipeline.tasks.values import folded

Place = tuple[str, str, str]
"""Where a value stands in an item: its kind, the word before it and the word behind it."""

_ITEMS = re.compile(r"\n+|;\s")
_CLAUSES = re.compile(r",(?! (?:19|20)\d\d\b)")
_ENDS = re.compile(rf"[.!?]\s+(?=[A-ZÀ-Þ¿¡])(?!(?i:{MONTH_NAMES})\b)")
_FIRST = re.compile(r"(\d[\d.,:]*)")
_PLAIN = re.compile(r"[^\W\d_]+")


def misfiled(known: Known, message: str) -> frozenset[Stated]:
    """The values of a message that stand where the other items of its list say a column of their rows, and that are
    not what their own row has there."""
    items = _ITEMS.split(message)
    if len(items) < 2:
        return frozenset()
    lists = {id(one.result): one.result for one in reversed(known.answers) if len(one.rows) > 1}
    if not lists:
        return frozenset()
    said = [_item(item) for item in items]
    meant = [[_rows_of(one, result) for one in said] for result in lists.values()]
    right = [_right(said, rows) for rows in meant]
    odd = [_against(said, rows) for rows, count in zip(meant, right, strict=True) if count == max(right)]
    return odd[0] if all(odd) else frozenset()


@dataclass(frozen=True, slots=True)
class _Item:
    """One item of a list in a message: what it states, and its words."""

    text: str
    values: frozenset[Stated]
    marks: frozenset[Stated]
    low: str
    words: frozenset[str]


@lru_cache(maxsize=50_000)
def _item(text: str) -> _Item:
    values = stated(text)
    low = folded(text)
    marks = frozenset(value for value in values if value[0] != "number")
    return _Item(text, values, marks, low, words_of(low))


def _right(said: Sequence[_Item], rows: Sequence[Sequence[Row]]) -> int:
    """How many items say what a row of a list has, which tells whether they are about this list."""
    return sum(
        bool(one.values) and any(one.values <= row.values for row in of)
        for one, of in zip(said, rows, strict=True)
    )


def _against(said: Sequence[_Item], rows: Sequence[Sequence[Row]]) -> frozenset[Stated]:
    """The values that break with a column of a list."""
    places: dict[Place, list[tuple[Stated, Row]]] = {}
    for one, of in zip(said, rows, strict=True):
        if len(of) == 1:
            for place, value in _placed(one.text):
                places.setdefault(place, []).append((value, of[0]))
    return frozenset().union(*(_odd(place, said) for place, said in places.items()))


def _rows_of(item: _Item, result: Result) -> Sequence[Row]:
    """The rows that an item may be about."""
    return meant_rows(result, item.marks, item.low, item.words)


@lru_cache(maxsize=50_000)
def _placed(item: str) -> tuple[tuple[Place, Stated], ...]:
    """The values of an item with their places; a clause with two of a kind says too little about either."""
    found: list[tuple[Place, Stated]] = []
    for clause in _CLAUSES.split(_ENDS.split(item, maxsplit=1)[0]):
        values = stated(clause)
        for kind in ("number", "date") if values else ():
            mine = [value for value in values if value[0] == kind]
            if len(mine) == 1:
                before, behind = _beside(clause)
                found.append(((kind, before, behind), mine[0]))
    return tuple(found)


def _beside(clause: str) -> tuple[str, str]:
    """The words before and behind the first number of a clause, names of months left out."""
    before, _, rest = _FIRST.split(folded(clause), maxsplit=1)
    left = [word for word in _PLAIN.findall(before) if not is_month(word)]
    right = [word for word in _PLAIN.findall(rest) if not is_month(word)]
    return (left[-1] if left else "", right[0] if right else "")


def _odd(place: Place, said: list[tuple[Stated, Row]]) -> frozenset[Stated]:
    """The one value that breaks with the column which all others follow. Of two items only one can follow, so that
    the words beside the value have to name the column."""
    if len(said) < 2:
        return frozenset()
    columns = dict.fromkeys(column for _, row in said for column in row.cells)
    missing = {
        column: [value for value, row in said if value not in row.cell(column)]
        for column in columns
        if all(row.cell(column) for _, row in said)
    }
    if any(not odd for odd in missing.values()):
        return frozenset()
    followed = [column for column, odd in missing.items() if len(odd) == 1]
    if len(said) == 2:
        followed = [column for column in followed if beside_stem(column, place[1:])]
    return frozenset(value for column in followed for value in missing[column])
