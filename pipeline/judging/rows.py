"""Which row of a result a statement is about, and what stands near a value."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence, Set
from functools import lru_cache

from pipeline.judging.statements import Result, Row, Stated, stated
from pipeline.tasks.values import folded


def meant_rows(result: Result, marks: frozenset[Stated], low: str, words: Set[str]) -> Sequence[Row]:
    """The rows of one result that a statement is about: those whose code or name stands in it and in no other row,
    else those with all dates and times that are stated, else those with one that no other row has, else all.

    `marks` are the values of the statement without numbers, `low` is its folded text, `words` the words of that.
    """
    rows = result.rows
    if len(rows) < 2:
        return rows
    named = {result.own_values[mark] for mark in marks if mark[0] == "code" and mark in result.own_values}
    for word in words & result.own_names.keys():
        named |= {
            number
            for name, number in result.own_names[word]
            if _stands(name, low) and not _within_another(name, low, rows)
        }
    if named or not marks:
        return [rows[number] for number in sorted(named)] or rows
    fitting = [row for row in rows if marks <= row.values]
    if fitting or _one_moment(marks, result):
        return fitting
    alone = {result.own_values[mark] for mark in marks if mark in result.own_values}
    return [rows[number] for number in sorted(alone)] or rows


def _stands(name: str, low: str) -> bool:
    """Whether a name stands in a text as whole words."""
    start = low.find(name)
    if start < 0:
        return False
    end = start + len(name)
    return not (low[start - 1 : start].isalnum() or low[end : end + 1].isalnum())


def _within_another(name: str, low: str, rows: Sequence[Row]) -> bool:
    """Whether a name stands there as part of a longer one (`stop` in `emergency stop was pressed`)."""
    return any(
        len(other) > len(name) and name in other and other in low for row in rows for other in row.names
    )


def _one_moment(marks: frozenset[Stated], result: Result) -> bool:
    """Whether one date and one time are stated, both from this list, which together stand in none of its rows."""
    return sorted(kind for kind, _ in marks & result.values) == ["date", "time"]


@lru_cache(maxsize=20_000)
def near(text: str, value: Stated, reach: int) -> frozenset[str]:
    """The words with meaning that stand up to `reach` words from a value."""
    words = _WORD.findall(folded(text).replace("_", " "))
    found: set[str] = set()
    for position, word in enumerate(words):
        if word[0].isdigit() and value in stated(word):
            around = words[max(0, position - reach) : position + reach + 1]
            found |= {_stem(one) for one in around if one[0].isalpha() and len(one) > 2 and one not in _EMPTY}
    return frozenset(found)


@lru_cache(maxsize=20_000)
def beside_word(text: str, wanted: frozenset[str], reach: int) -> frozenset[str]:
    """The words with meaning that stand up to `reach` words from one of the wanted ones."""
    words = _WORD.findall(folded(text).replace("_", " "))
    found: set[str] = set()
    for position, word in enumerate(words):
        if word in wanted:
            around = words[max(0, position - reach) : position + reach + 1]
            found |= {_stem(one) for one in around if one[0].isalpha() and len(one) > 2 and one not in _EMPTY}
    return frozenset(found)


_AMOUNT = re.compile(r"(?<![\w.,:-])(\d+(?:[.,]\d+)?) ?(%|[a-z]{3,})")


@lru_cache(maxsize=20_000)
def amounts(text: str) -> tuple[tuple[Stated, str], ...]:
    """Numbers with the word behind them: `30 days`."""
    return tuple(
        (("number", float(match[1].replace(",", "."))), "percent" if match[2] == "%" else _stem(match[2]))
        for match in _AMOUNT.finditer(folded(text))
    )


_WORD = re.compile(r"[a-z][a-z']*|\d[\w.,:-]*\w|\d")
_EMPTY = frozenset(
    "the and for you your yours with that this are was were has have had will now been from but not all its our out "
    "can may one any she him her his who whom which what when where there here then than also into onto over".split()
)


def _stem(word: str) -> str:
    return word[:-1] if word.endswith("s") and len(word) > 3 else word


def beside_stem(column: str, words: Iterable[str]) -> bool:
    """Whether one of some words stands in the name of a column."""
    own = {_stem(word) for word in column.casefold().split("_") if len(word) > 2}
    return not own.isdisjoint(map(_stem, words))


def about(row: Row, column: str, value: Stated) -> frozenset[str]:
    """Words that say what a cell is about: its column, the names in its row, and its own words."""
    cell = row.columns[column]
    words = " ".join([column, *row.names]).replace("_", " ")
    found = frozenset(_stem(word) for word in _WORD.findall(words.casefold()) if len(word) > 2)
    return found | near(cell, value, 6) if isinstance(cell, str) else found


def contradicts(value: Stated, part: str, said: frozenset[Stated], single: Sequence[Row]) -> bool:
    """Whether a number stands where the new result has another: beside the name of a column whose own value is not
    said, or, in a sentence on this row, as the only amount while the row's are not said."""
    for row in single:
        unsaid = [
            column
            for column, cell in row.columns.items()
            if isinstance(cell, int | float)
            and not isinstance(cell, bool)
            and row.cell(column).isdisjoint(said)
        ]
        beside = near(part, value, 4)
        if any(not beside.isdisjoint(_stem(w) for w in column.split("_") if len(w) > 2) for column in unsaid):
            return True
    return False


def superseded(column: str, value: Stated, said: frozenset[Stated], single: Sequence[Row]) -> bool:
    """Whether the one row of a new result has another value of this kind in this column, and that one is not said."""
    for row in single:
        alike = {one for one in row.cell(column) if one[0] == value[0]}
        if alike and value not in alike and alike.isdisjoint(said):
            return True
    return False


def same_thing(row: Row, other: Row) -> bool:
    """Whether two rows tell of one thing: the own code of one stands in the other. A code that both only refer to, as
    to the doctor of two appointments, is none."""
    return not (row.own.isdisjoint(other.codes) and other.own.isdisjoint(row.codes))


def totals(rows: tuple[Row, ...]) -> Iterable[float]:
    for column in rows[0].columns:
        cells = [row.columns.get(column) for row in rows]
        if all(isinstance(cell, int | float) and not isinstance(cell, bool) for cell in cells):
            yield float(sum(cells))  # type: ignore[arg-type]


@lru_cache(maxsize=50_000)
def digits_of(text: str) -> str:
    return re.sub(r"\D", "", text)


@lru_cache(maxsize=50_000)
def plain(text: str) -> str:
    return re.sub(r"[\s_-]", "", text.casefold())
