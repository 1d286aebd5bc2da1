"""What a text states, as values: numbers, dates, times and codes, so that notation does not matter.

`July 14`, `14 July` and `2026-07-14` are one value, and so are `16.00` and `16`, `7 pm` and `19:00`.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from pipeline.records import Json
from pipeline.tasks.languages import month_names
from pipeline.tasks.values import folded

Stated = tuple[str, float | str]
"""A value: its kind (`number`, `date`, `year`, `time`, `code`) and its canonical form."""

_NOTHING: frozenset[Stated] = frozenset()

_MONTHS = "january february march april may june july august september october november december".split()
_MONTH = {
    **{name: number for number in range(1, 13) for name in month_names(number)},
    **{name: number for number, month in enumerate(_MONTHS, 1) for name in (month, month[:3])},
}
MONTH_NAMES = "|".join(sorted(_MONTH, key=len, reverse=True))
_STATED = re.compile(
    rf"""
    (?P<iso>\d{{4}}-\d{{2}}-\d{{2}}(?:t(?=\d{{2}}:))?)
    |(?P<clock>(?:\b|(?<=\dt))\d{{1,2}}:\d{{1,2}}(?::\d{{2}})?(?:\s?[ap]m\b)?)
    |(?P<hour>\b\d{{1,2}}\s?[ap]m\b)
    |(?P<day_month>(?:\b\d{{1,2}}(?:st|nd|rd|th)?|(?<!\d\s)\b\d{{1,2}}\.)\s(?:of\s|de\s)?(?:{MONTH_NAMES})\b(?:,?\s(?:de\s)?(?:19|20)\d{{2}}\b(?![.,]\d))?)
    |(?P<month_day>\b(?:{MONTH_NAMES})\.?\s(?:the\s)?\d{{1,2}}(?:st|nd|rd|th)?\b(?:,?\s(?:19|20)\d{{2}}\b(?![.,]\d))?)
    |(?P<code>\b(?:[a-z]+[-_]?\d|\d+[a-z])[a-z0-9_-]*)
    |(?P<number>\d+(?:,\d{{3}})+(?:\.\d+)?|\d+(?:\.\d+)?)
    """,
    re.VERBOSE,
)
_DIGIT = re.compile(r"\d")
_DIGITS = re.compile(r"\d+")
_LISTED = re.compile(r"^\s*\d{1,2}[.)]\s", re.MULTILINE)
_ORDINAL = re.compile(r"\d+(?:st|nd|rd|th)")


_LEADS = re.compile(rf"(?:[ap]m|of|de|{MONTH_NAMES})\b")
_TRAILS = re.compile(rf"\b(?:{MONTH_NAMES})\.?$")


@lru_cache(maxsize=200_000)
def stated(text: str) -> frozenset[Stated]:
    """The values that a text states. The numbers of a numbered list are none."""
    if _DIGIT.search(text) is None:
        return _NOTHING
    if "\n" in text:
        text = _LISTED.sub("", text)
    low = " ".join(text.casefold().split())
    found: set[Stated] = set()
    for match in _FROM_DIGIT.finditer(low):
        start, end = low.rfind(" ", 0, match.start()) + 1, match.end()
        if _has_neighbors(low, start, end):
            return _in_stretches(low.split(" "))
        found |= _in_word(low[start:end]) or _NOTHING
    return frozenset(found)


_FROM_DIGIT = re.compile(r"\d\S*")
"""The rest of a word from its first digit."""


def _has_neighbors(low: str, start: int, end: int) -> bool:
    """Whether a word with digits may be part of a longer value, as `_in_phrase` has it, without taking the text apart:
    most values stand alone."""
    if end < len(low):
        stop = low.find(" ", end + 1)
        if _leads(low[end + 1 : stop] if stop >= 0 else low[end + 1 :]):
            return True
    if not start:
        return False
    before = low.rfind(" ", 0, start - 1) + 1
    word = low[before : start - 1]
    if word == "the" and before:
        word = low[low.rfind(" ", 0, before - 1) + 1 : before - 1]
    return _trails(word)


def _in_stretches(words: Sequence[str]) -> frozenset[Stated]:
    found: set[Stated] = set()
    for start, end, alone in _stretches(words):
        if alone:
            found.update(*filter(None, map(_in_word, words[start:end])))
        else:
            found |= _in_stretch(" ".join(words[start:end]))
    return frozenset(found)


def _stretches(words: Sequence[str]) -> Iterator[tuple[int, int, bool]]:
    """Where words with digits stand, with two words on each side of them, which is all that can matter; and whether
    each of those words is a value by itself."""
    start, end, alone = 0, -1, True
    for position, word in enumerate(words):
        if _in_word(word) is None:
            continue
        if position - 2 > end:
            if end > 0:
                yield start, end, alone
            start, alone = max(position - 2, 0), True
        end = position + 3
        alone = alone and not _in_phrase(words, position)
    if end > 0:
        yield start, end, alone


@lru_cache(maxsize=100_000)
def _in_stretch(text: str) -> frozenset[Stated]:
    return frozenset(_values(text))


@lru_cache(maxsize=100_000)
def _in_word(word: str) -> frozenset[Stated] | None:
    """The values of a word by itself; None without a digit. Words come again in many texts, texts seldom do."""
    return frozenset(_values(word)) if _DIGIT.search(word) else None


def _in_phrase(words: Sequence[str], position: int) -> bool:
    """Whether a word with digits may be part of a longer value: `14 July`, `the 14th of July`, `7 pm`."""
    following = words[position + 1 : position + 2]
    if following and _leads(following[0]):
        return True
    before = position - 2 if position > 1 and words[position - 1] == "the" else position - 1
    return before >= 0 and _trails(words[before])


@lru_cache(maxsize=100_000)
def _leads(word: str) -> bool:
    return _LEADS.match(word) is not None


@lru_cache(maxsize=100_000)
def _trails(word: str) -> bool:
    return _TRAILS.search(word) is not None


def _values(text: str) -> Iterator[Stated]:
    for match in _STATED.finditer(text):
        kind, raw = match.lastgroup, match[0]
        if kind == "number":
            yield "number", float(raw.replace(",", ""))
        elif kind == "code":
            if not _ORDINAL.fullmatch(raw):
                yield "code", raw.replace("-", "").replace("_", "")
        elif kind == "iso":
            yield "date", raw[5:10]
            yield "year", float(raw[:4])
        elif kind in ("clock", "hour"):
            yield "time", _minutes(raw)
        else:
            day = int(_DIGITS.search(raw)[0])  # type: ignore[index]
            month = next(_MONTH[word] for word in re.findall(r"[^\W\d_]+", raw) if word in _MONTH)
            yield "date", f"{month:02d}-{day:02d}"
            if raw[-4:].isdigit() and len(raw) > 8:
                yield "year", float(raw[-4:])


def is_month(word: str) -> bool:
    """Whether a word in lower case names a month in any of the languages."""
    return word in _MONTH


def counted(text: str) -> Counter[Stated]:
    """How often a text states each value."""
    return Counter(_values(text.casefold()))


@lru_cache(maxsize=50_000)
def full_dates(text: str) -> frozenset[str]:
    """The dates that a text states with their year, as `2026-07-14`."""
    words = text.casefold().split()
    stretches = (" ".join(words[start:end]) for start, end, _ in _stretches(words))
    return frozenset().union(*map(_dates_in, stretches))


@lru_cache(maxsize=50_000)
def _dates_in(text: str) -> frozenset[str]:
    found = set()
    for match in _STATED.finditer(text):
        if match.lastgroup in ("iso", "day_month", "month_day"):
            values = dict(_values(match[0]))
            if "year" in values:
                found.add(f"{values['year']:.0f}-{values['date']}")
    return frozenset(found)


def _minutes(raw: str) -> float:
    hour, *rest = (int(part) for part in _DIGITS.findall(raw))
    if raw.endswith("m"):
        hour = hour % 12 + (12 if raw.endswith("pm") else 0)
    return float(60 * hour + (rest[0] if rest else 0))


@dataclass(frozen=True, slots=True)
class Row:
    """One object of a result: its columns, the values they state, and the names among them."""

    columns: dict[str, Json]
    cells: dict[str, frozenset[Stated]]
    values: frozenset[Stated]
    names: frozenset[str]
    """Folded texts without digits, by which a person could point at the row."""
    places: dict[Stated, tuple[str, ...]]
    """Value to the columns that state it."""
    codes: frozenset[Stated]
    own: frozenset[Stated]
    """Its own code among them: the first id, else the first code."""

    def cell(self, column: str) -> frozenset[Stated]:
        return self.cells.get(column, _NOTHING)


@dataclass(frozen=True, slots=True)
class Result:
    """The rows of one result, and by what each of them can be told from the others."""

    rows: tuple[Row, ...] = ()
    values: frozenset[Stated] = frozenset()
    own_values: dict[Stated, int] = field(default_factory=dict)
    """Values that only one row has, to its position."""
    own_names: dict[str, list[tuple[str, int]]] = field(default_factory=dict)
    """Names that only one row has, with its position, by their first word."""
    listed: bool = False
    """Whether it is a list, also one of a single row."""

    @property
    def shared(self) -> tuple[Row, ...]:
        """What all rows have in common, twice, so that it does not pass for the one row of a result."""
        values = frozenset.intersection(*(row.values for row in self.rows))
        columns = {one: cell for one, cell in self.rows[0].cells.items() if cell <= values}
        places = {value: self.rows[0].places[value] for value in values}
        row = Row(self.rows[0].columns, columns, values, frozenset(), places, frozenset(), frozenset())
        return (row, row)


@lru_cache(maxsize=50_000)
def result_of(content: str) -> Result:
    """A tool result as the agent saw it; without rows when it is no JSON (a cut result is plain text)."""
    try:
        value = json.loads(content)
    except ValueError:
        return Result(values=stated(content))
    if isinstance(value, dict) and isinstance(value.get("items"), list):
        value = value["items"]
    listed = isinstance(value, list)
    rows = tuple(_row(item) for item in (value if isinstance(value, list) else [value]))
    values = frozenset().union(*(row.values for row in rows))
    if len(rows) < 2:
        return Result(rows, values, listed=listed)
    of_value = Counter(one for row in rows for one in row.values)
    of_name = Counter(one for row in rows for one in row.names)
    names: dict[str, list[tuple[str, int]]] = {}
    for number, row in enumerate(rows):
        for name in row.names:
            if of_name[name] == 1:
                names.setdefault(first_word(name), []).append((name, number))
    own = {one: number for number, row in enumerate(rows) for one in row.values if of_value[one] == 1}
    return Result(rows, values, own, names, listed)


def rows_of(content: str) -> tuple[Row, ...]:
    """The rows of a tool result."""
    return result_of(content).rows


def first_word(text: str) -> str:
    found = _WORDS.search(text)
    return found[0] if found else ""


_WORDS = re.compile(r"\w+")


@lru_cache(maxsize=50_000)
def words_of(text: str) -> frozenset[str]:
    """The words of a folded text."""
    return frozenset(_WORDS.findall(text))


def _row(item: Json) -> Row:
    columns = item if isinstance(item, dict) else {"value": item}
    cells: dict[str, frozenset[Stated]] = {}
    places: dict[Stated, tuple[str, ...]] = {}
    names = set()
    spoken = {column.replace("_", " ") for column in columns}  # `handed in` may be a state and a column
    for column, value in columns.items():
        if value is None or isinstance(value, bool):
            continue
        if isinstance(value, int | float):
            number: Stated = ("number", abs(float(value)))
            cells[column] = frozenset((number,))
            places[number] = (*places.get(number, ()), column)
            continue
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        found = cells[column] = stated(text)
        for one in found:
            places[one] = (*places.get(one, ()), column)
        if not found and len(text) >= 4 and isinstance(value, str):
            names.add(folded(text))
    names -= spoken
    codes = frozenset(one for one in places if one[0] == "code")
    return Row(columns, cells, frozenset(places), frozenset(names), places, codes, _own(cells) & codes)


def _own(cells: dict[str, frozenset[Stated]]) -> frozenset[Stated]:
    coded = [column for column, cell in cells.items() if any(one[0] == "code" for one in cell)]
    ids = [column for column in coded if column == "id" or column.endswith("_id")]
    return cells[(ids or coded)[0]] if coded else frozenset()
