"""Numbers and dates in a list of rows: what stands at one place in all its items comes from one column.

`Locker at 7.00 a month; Guest pass at 2.50 a month; Priority line at 9.00 a month`: where the other items say the price of
their row, this one has to as well. It compares places with places, so it holds in every language, whatever the columns
are called.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from pipeline.judging.knowledge import Known
from pipeline.judging.rows import beside_stem, meant_rows
from pipeline.judging.statements import MONTH_NAMES, Result, Row, Stated, is_month, stated, words_of
from pipeline.tasks.values import folded

Place = tuple[str, str, str]
"""Where a value stands in an item: its kind, the word before it and the word behind it."""

_ITEMS = re.compile(r"\n+|;\s")
_CLAUSES = re.compile(r",(?! (?:19|20)\d\d\b)")
_ENDS = re.compile(rf"[.!?]\s+(?=[A-ZÀ-Þ¿¡])(?!(?i:{MONTH_NAMES})\b)")
_PLAIN = re.compile(r"[^\W\d_]+")


def misfiled(known: Known, message: str) -> frozenset[Stated]:
    """The values of a message that stand where the other items of its list say a column of their rows, and that are
    not what their own row has there."""
    items = _ITEMS.split(message)
    if len(items) < 2:
        return frozenset()
    found = [_against(items, one.result) for one in known.answers if len(one.rows) > 1]
    most = max((count for count, _ in found), default=0)
    odd = [values for count, values in found if count == most]
    return odd[-1] if odd and all(odd) else frozenset()


def _against(items: Sequence[str], result: Result) -> tuple[int, frozenset[Stated]]:
    """How many items say what a row of a list has, which tells whether they are about this list, and the values that
    break with a column of it."""
    places: dict[Place, list[tuple[Stated, Row]]] = {}
    right = 0
    for item in items:
        values = stated(item)
        rows = _rows_of(item, values, result)
        right += bool(values) and any(values <= row.values for row in rows)
        for place, value in _placed(item) if len(rows) == 1 else ():
            places.setdefault(place, []).append((value, rows[0]))
    return right, frozenset().union(*(_odd(place, said) for place, said in places.items()))


def _rows_of(item: str, values: frozenset[Stated], result: Result) -> Sequence[Row]:
    """The rows that an item may be about."""
    low = folded(item)
    marks = frozenset(value for value in values if value[0] != "number")
    return meant_rows(result, marks, low, words_of(low))


def _placed(item: str) -> Iterator[tuple[Place, Stated]]:
    """The values of an item with their places; a clause with two of a kind says too little about either."""
    for clause in _CLAUSES.split(_ENDS.split(item, maxsplit=1)[0]):
        by_kind: dict[str, list[Stated]] = {}
        for value in stated(clause):
            by_kind.setdefault(value[0], []).append(value)
        for kind in ("number", "date"):
            if len(by_kind.get(kind, ())) == 1:
                before, behind = _beside(clause)
                yield (kind, before, behind), by_kind[kind][0]


def _beside(clause: str) -> tuple[str, str]:
    """The words before and behind the first number of a clause, names of months left out."""
    before, _, rest = re.split(r"(\d[\d.,:]*)", folded(clause), maxsplit=1)
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
