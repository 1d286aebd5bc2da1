"""Where a value belongs: which row of a result a statement is about, and what a later result has replaced."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pipeline.judging.claims import asks
from pipeline.judging.knowledge import Known
from pipeline.judging.rows import (
    about,
    amounts,
    contradicts,
    meant_rows,
    near,
    same_thing,
    superseded,
)
from pipeline.judging.statements import Row, Stated, counted, stated, words_of
from pipeline.tasks.values import folded

_LABELED = re.compile(r":\s(\d[\d.,]*)")
_DIGITS = re.compile(r"\d+")
_TODAY = re.compile(r"\b(?:today|now|currently|as of|since)\b")
_TELLING = 100
"""Smaller numbers are too common to be taken for the one the user named."""
_PROPOSES = re.compile(r"\b(?:i would|i'd|i'm ready|i am ready|should i|shall i|want me to|may i)\b")


def meant_in(known: Known, values: frozenset[Stated], part: str) -> list[Sequence[Row]]:
    """For each answer the rows that a statement is about."""
    low = folded(part)
    words = words_of(low)
    marks = frozenset(value for value in values if value[0] != "number")
    return [meant_rows(answer.result, marks, low, words) for answer in known.answers]


def misplaced(
    known: Known, values: frozenset[Stated], whole: str, meant: Sequence[Sequence[Row]]
) -> frozenset[Stated]:
    """Values that were read, but not where the statement says, or no longer so."""
    good: set[Stated] = set()
    for answer, rows in zip(known.answers, meant, strict=True):
        good |= answer.values if not answer.rows else frozenset().union(*(row.values for row in rows))
    return frozenset(values - good - known.standing.values) or _stale(known, values, whole)


def out_of_place(
    known: Known, values: frozenset[Stated], part: str, whole: str, meant: Sequence[Sequence[Row]]
) -> frozenset[Stated]:
    """In a report on a result: values from elsewhere that are about something else there, or that the result
    has replaced; dates and times where the result has others."""
    since = range(known.fresh, len(known.answers))
    news = [number for number in since if known.answers[number].final] or list(since)
    if not news:
        return frozenset()
    said = stated(whole)
    meant = _narrowed(known, meant, folded(part))
    single = [meant[number][0] for number in news if len(meant[number]) == 1]
    fresh = _present(news, meant, said)
    rest = values - fresh - known.used
    question = asks(whole)
    if known.answers[news[-1]].changed or (question and _PROPOSES.search(folded(part))):
        another = _of_another_amount(known, values - fresh - known.used, part)
        if another:
            return another
    if asks(part):
        return _foreign(known, rest, part)
    doubled = _said_too_often(known, values, part, [meant[number] for number in news])
    if doubled:
        return doubled
    told_here = values
    if question:
        rest -= known.heard_values
        values = frozenset(value for value in values if not _term(known, value, part))
        rest &= values
    against = {
        value
        for value in values - known.used - (known.heard_values if question else frozenset())
        if value[0] == "number"
        and value not in fresh
        and _contradicted(known, value, part, said, news, meant)
    }
    if known.language != "en" and not question:
        another = _in_place_of_another(known, part, said, news, meant)
        if another:
            return another
    one_row = _in_one_row(told_here, meant, said, [] if question else single)
    if against and not (question and one_row):
        return frozenset(against)
    if not rest or one_row:
        return frozenset(_of_another_row(known, values, part, news, meant))
    strange = {value for value in rest if not _in_place(known, value, part, said, meant, single)}
    strange |= _of_another_row(known, values, part, news, meant)
    for kind in ("date", "time"):
        mine = {value for value in values if value[0] == kind}
        theirs = {value for value in fresh if value[0] == kind}
        if mine and theirs - known.standing.values and mine.isdisjoint(theirs):
            strange |= mine - known.heard_values - (frozenset() if values & fresh else known.standing.values)
        elif mine & theirs:
            strange |= {
                v for v in mine - theirs - known.told - known.read if not _TODAY.search(part.casefold())
            }
    return frozenset(strange)


def _narrowed(known: Known, meant: Sequence[Sequence[Row]], low: str) -> list[Sequence[Row]]:
    """Where a statement names rows of one list, another list of which it mentions nothing lends it no values but
    those that all its rows share."""
    lists = [
        (number, rows)
        for number, (answer, rows) in enumerate(zip(known.answers, meant, strict=True))
        if len(answer.rows) > 1
    ]
    if not any(0 < len(rows) < len(known.answers[number].rows) for number, rows in lists):
        return list(meant)
    found = list(meant)
    for number, rows in lists:
        mentioned = any(name in low for row in rows for name in row.names)
        if len(rows) == len(known.answers[number].rows) and not mentioned:
            found[number] = known.answers[number].result.shared
    return found


def _present(
    news: Sequence[int], meant: Sequence[Sequence[Row]], said: frozenset[Stated]
) -> frozenset[Stated]:
    """The values of the new results, without those that a later one of them has replaced."""
    found: set[Stated] = set()
    for position, number in enumerate(news):
        later = [meant[other][0] for other in news[position + 1 :] if len(meant[other]) == 1]
        for row in meant[number]:
            if not later:
                found |= row.values
                continue
            cells = row.cells.items()
            found |= row.values - {
                v for column, cell in cells for v in cell if superseded(column, v, said, later)
            }
    return frozenset(found)


def _contradicted(
    known: Known,
    value: Stated,
    part: str,
    said: frozenset[Stated],
    news: Sequence[int],
    meant: Sequence[Sequence[Row]],
) -> bool:
    """Whether a number stands where the one row of a new result, or the row of a list that a statement names, has
    another."""
    for number in news:
        if len(meant[number]) == 1:
            alone = len(known.answers[number].rows) == 1
            if contradicts(value, part, said if alone else stated(part), meant[number]):
                return True
    return False


def _in_place_of_another(
    known: Known,
    part: str,
    said: frozenset[Stated],
    news: Sequence[int],
    meant: Sequence[Sequence[Row]],
) -> frozenset[Stated]:
    """The one number of a report that its row does not have, while the row has numbers that go unsaid: where words
    beside a number cannot be compared with the names of columns, this tells that it stands in another's place.
    A number from the instructions counts only behind a label (`Gebühr: 20.00`); what a later result has is in place."""
    labeled = {one for match in _LABELED.finditer(part) for one in stated(match[1])}
    mine = stated(part) - (known.standing.values - labeled)
    for position, number in enumerate(news):
        if len(meant[number]) != 1:
            continue
        row = meant[number][0]
        for later in news[position + 1 :]:
            if len(meant[later]) == 1:
                mine = mine - (meant[later][0].values - row.values)
        odd = {one for one in mine - row.values if one[0] == "number"} - known.used - known.heard_values
        unsaid = {one for one in row.values - said if one[0] == "number"}
        if len(odd) == 1 and unsaid and said & row.values and said - odd <= row.values:
            return frozenset(odd)
    return frozenset()


def says_twice(part: str) -> bool:
    """Whether the same digits stand twice in a statement."""
    digits = _DIGITS.findall(part)
    return len(set(digits)) < len(digits)


def _said_too_often(
    known: Known, values: frozenset[Stated], part: str, meant: Sequence[Sequence[Row]]
) -> frozenset[Stated]:
    """Values of one row that a statement on it says more often than the row has them, while the row has another
    one of their kind that is not said (`from 4 to 4 February`, `20.00 each, 20 left`)."""
    if not says_twice(part):
        return frozenset()
    doubled = {value: count for value, count in counted(part).items() if count > 1}
    rows = [rows[0] for rows in meant if len(rows) == 1 and values <= rows[0].values]
    return frozenset(
        value
        for value, count in doubled.items()
        if rows and not (value[0] == "number" and value in known.told)
        if all(
            count > len(row.places.get(value, ())) and {v for v in row.values if v[0] == value[0]} - values
            for row in rows
        )
    )


def _of_another_row(
    known: Known, values: frozenset[Stated], part: str, news: Sequence[int], meant: Sequence[Sequence[Row]]
) -> set[Stated]:
    """Dates and times in a report on a change, whose result has others, that nobody but another row told."""
    if len(known.answers[news[-1]].rows) != 1 or not known.answers[news[-1]].changed or asks(part):
        return set()
    row = meant[news[-1]][0]
    low = folded(part)
    telling = {v for v in values & row.values if v[0] != "number" or float(v[1]) >= _TELLING}
    if not telling and not any(name in low for name in row.names):
        return set()
    found: set[Stated] = set()
    for kind in ("date", "time"):
        mine = {value for value in values if value[0] == kind}
        theirs = {value for value in row.values if value[0] == kind}
        if (
            mine
            and theirs
            and mine.isdisjoint(theirs)
            and mine.isdisjoint(known.told | known.standing.values)
        ):
            found |= mine
    return found


def _of_another_amount(known: Known, values: frozenset[Stated], part: str) -> frozenset[Stated]:
    """In a proposal or a report on a change: numbers of a unit (`30 days`) of which the user has named other ones, and that neither is a
    difference from a known one nor stood in a result with that unit."""
    found: set[Stated] = set()
    for value, unit in amounts(part):
        if value not in values or value in known.heard_values or _term(known, value, part):
            continue
        heard = {number for text in known.heard for number, one in amounts(text) if one == unit}
        if heard and not any(
            ("number", abs(float(value[1]) - float(number[1]))) in known.told | known.read for number in heard
        ):
            found.add(value)
    return frozenset(found)


def _term(known: Known, value: Stated, part: str) -> bool:
    """Whether a value before a question is a term from the instructions (`it costs 4.00`), told with its matter."""
    return value in known.standing.values and known.standing.linked(near(part, value, 10), value)


def _foreign(known: Known, values: frozenset[Stated], part: str) -> frozenset[Stated]:
    """In a question: numbers that only the instructions know, and in another connection."""
    return frozenset(
        value
        for value in values - known.told - known.read
        if value[0] == "number"
        and value in known.standing.values
        and (words := near(part, value, 2))
        and not known.standing.linked(words, value)
    )


def _in_one_row(
    values: frozenset[Stated],
    meant: Sequence[Sequence[Row]],
    said: frozenset[Stated],
    single: Sequence[Row],
) -> bool:
    """Whether a statement is a row as it was read, none of whose values a new result has replaced."""
    return len(values) > 1 and any(
        values <= row.values
        and not any(
            superseded(column, value, said, single) for value in values for column in row.places[value]
        )
        for rows in meant
        for row in rows
    )


def _in_place(
    known: Known,
    value: Stated,
    part: str,
    said: frozenset[Stated],
    meant: Sequence[Sequence[Row]],
    single: Sequence[Row],
) -> bool:
    """Whether a value that is not in the new result is known about the same thing: a number in connection with
    a word that stands beside it here, another value in a cell that the new result has not replaced."""
    kind, amount = value
    number = kind == "number"
    if value not in known.told and value not in known.read and value not in known.standing.values:
        return True  # unknown, which is a question of its own
    if value in known.told and (float(amount) >= _TELLING if number else value in known.heard_values):
        return True
    words = near(part, value, 2) if number else frozenset()
    if number and not words:
        return True
    if value in known.standing.values and (not number or known.standing.linked(words, value)):
        return True
    if number and any(
        not words.isdisjoint(near(text, value, 6)) for text in known.heard if value in stated(text)
    ):
        return True
    cells = [(row, column) for rows in meant for row in rows for column in row.places.get(value, ())]
    if number:
        cells = [(row, column) for row, column in cells if not words.isdisjoint(about(row, column, value))]
    # A row that holds a value twice (balance, available balance) is outdated as soon as one of the two is.
    return any(not any(superseded(one, value, said, single) for one in row.places[value]) for row, _ in cells)


def _stale(known: Known, values: frozenset[Stated], whole: str) -> frozenset[Stated]:
    """Values that a later result has replaced, unless the message names the new one as well."""
    said = stated(whole)
    found: set[Stated] = set()
    for value in values:
        where = [
            (number, row, column)
            for number, answer in enumerate(known.answers)
            for row in answer.rows
            for column in row.places.get(value, ())
        ]
        if where and all(_replaced(known, number, row, column, said) for number, row, column in where):
            found.add(value)
    return frozenset(found)


def _replaced(known: Known, number: int, row: Row, column: str, said: frozenset[Stated]) -> bool:
    for later in known.answers[number + 1 :]:
        for other in later.rows:
            if column not in other.columns or other.columns[column] == row.columns[column]:
                continue
            if same_thing(row, other) and other.cell(column).isdisjoint(said):
                return True
    return False
