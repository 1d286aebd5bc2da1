"""What the agent knows at a point of the conversation, and which values of a statement are not among it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from pipeline.judging.claims import asks
from pipeline.judging.rows import (
    about,
    amounts,
    beside_word,
    contradicts,
    digits_of,
    meant_rows,
    near,
    plain,
    same_thing,
    superseded,
    totals,
)
from pipeline.judging.standing import Standing
from pipeline.judging.statements import (
    Result,
    Row,
    Stated,
    counted,
    full_dates,
    result_of,
    stated,
    words_of,
)
from pipeline.records import Event, Failure
from pipeline.tasks.values import folded

_PARTS = re.compile(r"""\n+|;\s|(?<=[a-z0-9:.,)"'][a-z0-9:.,)"'][a-z0-9)"'][.!?])\s+(?=[A-Z])""")
_DIGIT = re.compile(r"\d")
_WORDED = {
    word: float(number)
    for number, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve".split()
    )
}
_DIGITS = re.compile(r"\d+")
_YEAR = re.compile(r"\b(?:19|20)\d\d\b")
_TODAY = re.compile(r"\b(?:today|now|currently|as of|since)\b")
_PASSING = frozenset({Failure.TIMEOUT, Failure.UNAVAILABLE, Failure.RATE_LIMITED})
_TELLING = 100
"""Smaller numbers are too common to be taken for the one the user named."""
_PROPOSES = re.compile(r"\b(?:i would|i'd|i'm ready|i am ready|should i|shall i|want me to|may i)\b")
_MORE = re.compile(r"(?<![\d.,])(\d+) (?:more|others?)\b(?! (?:per|a|than)\b)")


@lru_cache(maxsize=50_000)
def parts(text: str) -> tuple[str, ...]:
    return tuple(part for part in _PARTS.split(text) if part and _DIGIT.search(part))


@dataclass
class _Answer:
    """What one call has read."""

    result: Result
    final: bool
    """A result or a refusal, not a passing failure."""
    changed: bool
    """Whether the call changed the state."""

    @property
    def rows(self) -> tuple[Row, ...]:
        return self.result.rows

    @property
    def values(self) -> frozenset[Stated]:
        return self.result.values


@dataclass
class Known:
    """What the agent knows at a point of the conversation."""

    standing: Standing
    told: set[Stated] = field(default_factory=set)
    read: set[Stated] = field(default_factory=set)
    answers: list[_Answer] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    heard: list[str] = field(default_factory=list)
    """The user's words."""
    results: list[str] = field(default_factory=list)
    heard_values: set[Stated] = field(default_factory=set)
    used: set[Stated] = field(default_factory=set)
    """Values of the arguments since the user spoke."""
    fresh: int = 0
    """The first answer since the user spoke."""

    def asked(self, raw: str) -> None:
        """Arguments the agent used; those it knew are as good as told."""
        self.used |= stated(raw)
        self.told |= stated(raw) & (self.read | self.told | self.standing.values)

    def learn(self, event: Event) -> None:
        self.texts.append(event.content)
        if event.role == "user":
            self.told |= stated(event.content)
            self.heard_values |= stated(event.content)
            self.heard.append(event.content)
            self.fresh, self.used = len(self.answers), set()
        elif event.role == "tool":
            result = result_of(event.content)
            self.read |= result.values
            self.results.append(event.content)
            self.answers.append(
                _Answer(result, event.error_code not in _PASSING, event.before != event.after)
            )

    def strange(self, part: str, whole: str) -> frozenset[Stated]:
        """The values of a statement that are not known; empty when all are."""
        everything = stated(part)
        more = _MORE.search(part)
        if more:
            return (
                frozenset()
                if self._left_over(float(more[1]), whole)
                else frozenset({("number", float(more[1]))})
            )
        meant = self._meant(everything, part)
        doubtful = self._out_of_place(everything, part, whole, meant) or self._of_another_year(part)
        if doubtful:
            return doubtful
        values = everything - self.told
        if not values:
            return frozenset()
        unknown = values - self.read - self.standing.values
        if unknown:
            unknown = frozenset(value for value in unknown if not self._derived(value, part, whole))
            if unknown:
                return unknown
        return self._misplaced(values & self.read, whole, meant)

    # ---- what follows from what is known -----------------------------------------------------------------

    def _derived(self, value: Stated, part: str, whole: str) -> bool:
        kind, amount = value
        if kind == "code":
            return any(str(amount) in plain(text) for text in self.texts)
        if kind != "number" or not isinstance(amount, float):
            return False
        lists = [answer for answer in self.answers if len(answer.rows) > 1]
        if any(len(answer.rows) == amount for answer in self.answers if answer.result.listed):
            return True
        if any(abs(total - amount) < 0.005 for answer in lists for total in totals(answer.rows)):
            return True
        return self._computed(amount, part) or self._in_digits(amount) or self._in_words(value, part)

    def _left_over(self, amount: float, whole: str) -> bool:
        """`and 3 more` after some rows of a list; also what was said to be more of something."""
        stating = [one for one in parts(whole) if not _MORE.search(one) or "," in one]
        rows = whole.count(";") or whole.count("\n- ")  # rows may be said without any number in them
        lists = [len(answer.rows) for answer in self.answers if len(answer.rows) > 1]
        known = ("number", amount) in self.told | self.read
        left = {length - shown for length in lists for shown in (len(stating), rows)}
        return not left.isdisjoint({amount - 1, amount, amount + 1}) or known

    def _computed(self, amount: float, part: str) -> bool:
        """The sum, difference or product of two known numbers that are named beside it."""
        others = [n for kind, n in stated(part) if kind == "number" and n != amount and isinstance(n, float)]
        known = [
            n
            for n in others
            if ("number", n) in self.read or ("number", n) in self.told | self.standing.values
        ]
        return any(
            abs(result - amount) < 0.005
            for i, first in enumerate(known)
            for second in known[i:]
            for result in (first + second, abs(first - second), first * second, first * second / 100)
        )

    def _in_digits(self, amount: float) -> bool:
        """Part of a longer run of digits (`+4915155`) or such a run written in groups."""
        digits = f"{amount:.0f}"
        return (
            len(digits) >= 4
            and amount == int(amount)
            and any(digits in digits_of(text) for text in self.texts)
        )

    def _in_words(self, value: Stated, part: str) -> bool:
        """Whether a number was said as a word by the user or in a result, or in the instructions about the same."""
        words = {word for word, number in _WORDED.items() if number == value[1]}
        if not words:
            return False
        if any(not words.isdisjoint(folded(text).split()) for text in self.heard + self.results):
            return True
        beside = near(part, value, 3)
        return any(
            not beside.isdisjoint(beside_word(text, frozenset(words), 4)) for text in self.standing.texts
        )

    def _of_another_year(self, part: str) -> frozenset[Stated]:
        """Dates with a year, where only the same day of other years is known."""
        found: set[Stated] = set()
        for day in full_dates(part) if _YEAR.search(part) else ():
            known = {one for text in self.texts for one in full_dates(text) if one[5:] == day[5:]}
            if known and day not in known:
                found |= {("date", day[5:]), ("year", float(day[:4]))}
        return frozenset(found)

    # ---- which row, and when -----------------------------------------------------------------------------

    def _meant(self, values: frozenset[Stated], part: str) -> list[Sequence[Row]]:
        """For each answer the rows that a statement is about."""
        low = folded(part)
        words = words_of(low)
        marks = frozenset(value for value in values if value[0] != "number")
        return [meant_rows(answer.result, marks, low, words) for answer in self.answers]

    def _misplaced(
        self, values: frozenset[Stated], whole: str, meant: Sequence[Sequence[Row]]
    ) -> frozenset[Stated]:
        """Values that were read, but not where the statement says, or no longer so."""
        good: set[Stated] = set()
        for answer, rows in zip(self.answers, meant, strict=True):
            good |= answer.values if not answer.rows else frozenset().union(*(row.values for row in rows))
        return frozenset(values - good - self.standing.values) or self._stale(values, whole)

    def _out_of_place(
        self, values: frozenset[Stated], part: str, whole: str, meant: Sequence[Sequence[Row]]
    ) -> frozenset[Stated]:
        """In a report on a result: values from elsewhere that are about something else there, or that the result
        has replaced; dates and times where the result has others."""
        since = range(self.fresh, len(self.answers))
        news = [number for number in since if self.answers[number].final] or list(since)
        if not news:
            return frozenset()
        said = stated(whole)
        meant = self._narrowed(meant, folded(part))
        single = [meant[number][0] for number in news if len(meant[number]) == 1]
        fresh = self._present(news, meant, said)
        rest = values - fresh - self.used
        question = asks(whole)
        if self.answers[news[-1]].changed or (question and _PROPOSES.search(folded(part))):
            another = self._of_another_amount(values - fresh - self.used, part)
            if another:
                return another
        if asks(part):
            return self._foreign(rest, part)
        doubled = self._said_too_often(values, part, [meant[number] for number in news])
        if doubled:
            return doubled
        if question:
            rest -= self.heard_values
            values = frozenset(value for value in values if not self._term(value, part))
            rest &= values
        against = {
            value
            for value in values - self.used - (self.heard_values if question else frozenset())
            if value[0] == "number"
            and value not in fresh
            and self._contradicted(value, part, said, news, meant)
        }
        if against:
            return frozenset(against)
        if not rest or self._in_one_row(values, meant, said, [] if question else single):
            return frozenset(self._of_another_row(values, part, news, meant))
        strange = {value for value in rest if not self._in_place(value, part, said, meant, single)}
        strange |= self._of_another_row(values, part, news, meant)
        for kind in ("date", "time"):
            mine = {value for value in values if value[0] == kind}
            theirs = {value for value in fresh if value[0] == kind}
            if mine and theirs - self.standing.values and mine.isdisjoint(theirs):
                strange |= (
                    mine - self.heard_values - (frozenset() if values & fresh else self.standing.values)
                )
            elif mine & theirs:
                strange |= {
                    v for v in mine - theirs - self.told - self.read if not _TODAY.search(part.casefold())
                }
        return frozenset(strange)

    def _narrowed(self, meant: Sequence[Sequence[Row]], low: str) -> list[Sequence[Row]]:
        """Where a statement names rows of one list, another list of which it mentions nothing lends it no values but
        those that all its rows share."""
        lists = [
            (number, rows)
            for number, (answer, rows) in enumerate(zip(self.answers, meant, strict=True))
            if len(answer.rows) > 1
        ]
        if not any(0 < len(rows) < len(self.answers[number].rows) for number, rows in lists):
            return list(meant)
        found = list(meant)
        for number, rows in lists:
            mentioned = any(name in low for row in rows for name in row.names)
            if len(rows) == len(self.answers[number].rows) and not mentioned:
                found[number] = self.answers[number].result.shared
        return found

    def _present(
        self, news: Sequence[int], meant: Sequence[Sequence[Row]], said: frozenset[Stated]
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
        self,
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
                alone = len(self.answers[number].rows) == 1
                if contradicts(value, part, said if alone else stated(part), meant[number]):
                    return True
        return False

    def _said_too_often(
        self, values: frozenset[Stated], part: str, meant: Sequence[Sequence[Row]]
    ) -> frozenset[Stated]:
        """Values of one row that a statement on it says more often than the row has them, while the row has another
        one of their kind that is not said (`from 4 to 4 February`, `20.00 each, 20 left`)."""
        digits = _DIGITS.findall(part)
        if len(set(digits)) == len(digits):
            return frozenset()
        doubled = {value: count for value, count in counted(part).items() if count > 1}
        rows = [rows[0] for rows in meant if len(rows) == 1 and values <= rows[0].values]
        return frozenset(
            value
            for value, count in doubled.items()
            if rows and not (value[0] == "number" and value in self.told)
            if all(
                count > len(row.places.get(value, ()))
                and {v for v in row.values if v[0] == value[0]} - values
                for row in rows
            )
        )

    def _of_another_row(
        self, values: frozenset[Stated], part: str, news: Sequence[int], meant: Sequence[Sequence[Row]]
    ) -> set[Stated]:
        """Dates and times in a report on a change, whose result has others, that nobody but another row told."""
        if len(self.answers[news[-1]].rows) != 1 or not self.answers[news[-1]].changed or asks(part):
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
                and mine.isdisjoint(self.told | self.standing.values)
            ):
                found |= mine
        return found

    def _of_another_amount(self, values: frozenset[Stated], part: str) -> frozenset[Stated]:
        """In a proposal or a report on a change: numbers of a unit (`30 days`) of which the user has named other ones, and that neither is a
        difference from a known one nor stood in a result with that unit."""
        found: set[Stated] = set()
        for value, unit in amounts(part):
            if value not in values or value in self.heard_values or self._term(value, part):
                continue
            heard = {number for text in self.heard for number, one in amounts(text) if one == unit}
            if heard and not any(
                ("number", abs(float(value[1]) - float(number[1]))) in self.told | self.read
                for number in heard
            ):
                found.add(value)
        return frozenset(found)

    def _term(self, value: Stated, part: str) -> bool:
        """Whether a value before a question is a term from the instructions (`it costs 4.00`), told with its matter."""
        return value in self.standing.values and self.standing.linked(near(part, value, 10), value)

    def _foreign(self, values: frozenset[Stated], part: str) -> frozenset[Stated]:
        """In a question: numbers that only the instructions know, and in another connection."""
        return frozenset(
            value
            for value in values - self.told - self.read
            if value[0] == "number"
            and value in self.standing.values
            and (words := near(part, value, 2))
            and not self.standing.linked(words, value)
        )

    def _in_one_row(
        self,
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
        self,
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
        if value not in self.told and value not in self.read and value not in self.standing.values:
            return True  # unknown, which is a question of its own
        if value in self.told and (float(amount) >= _TELLING if number else value in self.heard_values):
            return True
        words = near(part, value, 2) if number else frozenset()
        if number and not words:
            return True
        if value in self.standing.values and (not number or self.standing.linked(words, value)):
            return True
        if number and any(
            not words.isdisjoint(near(text, value, 6)) for text in self.heard if value in stated(text)
        ):
            return True
        cells = [(row, column) for rows in meant for row in rows for column in row.places.get(value, ())]
        if number:
            cells = [
                (row, column) for row, column in cells if not words.isdisjoint(about(row, column, value))
            ]
        # A row that holds a value twice (balance, available balance) is outdated as soon as one of the two is.
        return any(
            not any(superseded(one, value, said, single) for one in row.places[value]) for row, _ in cells
        )

    def _stale(self, values: frozenset[Stated], whole: str) -> frozenset[Stated]:
        """Values that a later result has replaced, unless the message names the new one as well."""
        said = stated(whole)
        found: set[Stated] = set()
        for value in values:
            where = [
                (number, row, column)
                for number, answer in enumerate(self.answers)
                for row in answer.rows
                for column in row.places.get(value, ())
            ]
            if where and all(self._replaced(number, row, column, said) for number, row, column in where):
                found.add(value)
        return frozenset(found)

    def _replaced(self, number: int, row: Row, column: str, said: frozenset[Stated]) -> bool:
        for later in self.answers[number + 1 :]:
            for other in later.rows:
                if column not in other.columns or other.columns[column] == row.columns[column]:
                    continue
                if same_thing(row, other) and other.cell(column).isdisjoint(said):
                    return True
        return False
