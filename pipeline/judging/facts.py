"""Whether what the agent says is what it knows: every stated value against what it was told and has read.

A value is known from the user, the instructions, the tools' descriptions or a result. Results need more care than
that: within one list the values of a statement must come from the row that the statement names (`seat 2C for 17.00`
is wrong when 17.00 is the price of 3C), and a value read before a change is stale once a later result says another.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from pipeline.judging.claims import asks
from pipeline.judging.evidence import Evidence
from pipeline.judging.statements import Result, Row, Stated, result_of, stated, words_of
from pipeline.judging.verdict import verdict
from pipeline.records import Event, Failure, Owner, Task, ToolSpec, Value, Verdict, canonical_json
from pipeline.tasks.values import folded

CHECK = "says what it knows"
_PARTS = re.compile(r"""\n+|;\s|(?<=[a-z0-9:.,)"'][a-z0-9:.,)"'][a-z0-9)"'][.!?])\s+(?=[A-Z])""")
_DIGIT = re.compile(r"\d")
_WORDED = {
    word: float(number)
    for number, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve".split()
    )
}
_TODAY = re.compile(r"\b(?:today|now|currently|as of|since)\b")
_PASSING = frozenset({Failure.TIMEOUT, Failure.UNAVAILABLE, Failure.RATE_LIMITED})
_TELLING = 100
"""Smaller numbers are too common to be taken for the one the user named."""
_MORE = re.compile(r"(?<![\d.,])(\d+) (?:more|others?)\b(?! (?:per|a|than)\b)")


def says_what_it_knows(evidence: Evidence) -> Verdict:
    """The first message with a value from nowhere fails; a trajectory without values passes."""
    known = _Known(_standing(evidence.task))
    for event in evidence.events:
        if event.role == "assistant":
            if event.content:
                for part in _parts(event.content):
                    strange = known.strange(part, event.content)
                    if strange:
                        return verdict(
                            check=CHECK,
                            kind="facts",
                            value=Value.FAIL,
                            owner=Owner.AGENT,
                            evidence=(event.index,),
                            reason=f"said {_shown(strange)} without having been told or read it: {part[:160]}",
                        )
            for call in event.calls:
                known.asked(call.raw)
        else:
            known.learn(event)
    return verdict(check=CHECK, kind="facts", value=Value.PASS, owner=Owner.AGENT)


def _shown(values: Iterable[Stated]) -> str:
    return ", ".join(
        sorted(
            f"{kind} {value:g}" if isinstance(value, float) else f"{kind} {value}" for kind, value in values
        )
    )


@lru_cache(maxsize=50_000)
def _parts(text: str) -> tuple[str, ...]:
    return tuple(part for part in _PARTS.split(text) if part and _DIGIT.search(part))


@dataclass
class _Standing:
    """What the instructions and the tools' descriptions state; equal for all episodes of an agent."""

    texts: tuple[str, ...]
    values: frozenset[Stated]
    _near: dict[Stated, frozenset[str]] = field(default_factory=dict)

    def near(self, value: Stated) -> frozenset[str]:
        """Words that stand near a value in one of the texts."""
        if value not in self._near:
            texts = (text for text in self.texts if value in stated(text))
            self._near[value] = frozenset().union(*(near(text, value, 6) for text in texts))
        return self._near[value]


_STANDING: dict[tuple[str, str], _Standing] = {}


def _standing(task: Task) -> _Standing:
    offered = task.agent.toolset
    names = ",".join(tool.name if task.world else tool.id for tool in offered.tools)
    home = "+".join(offered.worlds) or task.world
    key = task.agent.system_prompt, f"{home} {names}"
    if key not in _STANDING:
        if len(_STANDING) > 2_048:
            _STANDING.clear()
        texts = [task.agent.system_prompt]
        for tool in task.agent.toolset.tools:
            texts.extend(_described(home if task.world else "", tool))
        _STANDING[key] = _Standing(tuple(texts), frozenset().union(*map(stated, texts)))
    return _STANDING[key]


_DESCRIBED: dict[tuple[str, str], tuple[str, ...]] = {}


def _described(world: str, tool: ToolSpec) -> tuple[str, ...]:
    """What a tool's listing says; within a world its name tells which tool it is."""
    key = world, tool.name if world else tool.id
    if key not in _DESCRIBED:
        if len(_DESCRIBED) > 50_000:
            _DESCRIBED.clear()
        messages = (error.message for error in tool.errors)
        texts = (tool.description, canonical_json(tool.input_schema), *messages)
        _DESCRIBED[key] = tuple(text for text in texts if stated(text))
    return _DESCRIBED[key]


@dataclass
class _Answer:
    """What one call has read."""

    result: Result
    final: bool
    """A result or a refusal, not a passing failure."""

    @property
    def rows(self) -> tuple[Row, ...]:
        return self.result.rows

    @property
    def values(self) -> frozenset[Stated]:
        return self.result.values


@dataclass
class _Known:
    """What the agent knows at a point of the conversation."""

    standing: _Standing
    told: set[Stated] = field(default_factory=set)
    read: set[Stated] = field(default_factory=set)
    answers: list[_Answer] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    heard: list[str] = field(default_factory=list)
    """The user's words."""
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
            self.answers.append(_Answer(result, event.error_code not in _PASSING))

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
        doubtful = self._out_of_place(everything, part, whole, meant)
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
            return any(str(amount) in _plain(text) for text in self.texts)
        if kind != "number" or not isinstance(amount, float):
            return False
        lists = [answer for answer in self.answers if len(answer.rows) > 1]
        if any(len(answer.rows) == amount for answer in self.answers if answer.rows):
            return True
        if any(abs(total - amount) < 0.005 for answer in lists for total in _totals(answer.rows)):
            return True
        return self._computed(amount, part) or self._in_digits(amount) or self._in_words(amount)

    def _left_over(self, amount: float, whole: str) -> bool:
        """`and 3 more` after some rows of a list; also what was said to be more of something."""
        shown = sum(1 for one in _parts(whole) if not _MORE.search(one) or "," in one)
        lists = [len(answer.rows) for answer in self.answers if len(answer.rows) > 1]
        known = ("number", amount) in self.told | self.read
        return any(length - shown in (amount - 1, amount, amount + 1) for length in lists) or known

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
            len(digits) >= 4 and amount == int(amount) and any(digits in _digits(text) for text in self.texts)
        )

    def _in_words(self, amount: float) -> bool:
        words = {word for word, number in _WORDED.items() if number == amount}
        return bool(words) and any(not words.isdisjoint(folded(text).split()) for text in self.texts)

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
        if "?" in part:
            return self._foreign(rest, part)
        question = asks(whole)
        if question:
            rest -= self.heard_values
            values = frozenset(value for value in values if not self._term(value, part))
            rest &= values
        against = {
            value
            for value in values - self.used - (self.heard_values if question else frozenset())
            if value[0] == "number"
            and not any(value in row.values for row in single)
            and _contradicts(value, part, said, single)
        }
        if against:
            return frozenset(against)
        if not rest or self._in_one_row(values, meant, said, [] if question else single):
            return frozenset()
        strange = {value for value in rest if not self._in_place(value, part, said, meant, single)}
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
                for column, cell in row.cells.items():
                    found |= {v for v in cell if not _superseded(column, v, said, later)}
        return frozenset(found)

    def _term(self, value: Stated, part: str) -> bool:
        """Whether a value before a question is a term from the instructions (`it costs 4.00`), told with its matter."""
        return value in self.standing.values and not near(part, value, 10).isdisjoint(
            self.standing.near(value)
        )

    def _foreign(self, values: frozenset[Stated], part: str) -> frozenset[Stated]:
        """In a question: numbers that only the instructions know, and in another connection."""
        return frozenset(
            value
            for value in values - self.told - self.read
            if value[0] == "number"
            and value in self.standing.values
            and (words := near(part, value, 2))
            and words.isdisjoint(self.standing.near(value))
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
                _superseded(column, value, said, single) for value in values for column in row.places[value]
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
        if value in self.standing.values and (not number or not words.isdisjoint(self.standing.near(value))):
            return True
        if number and any(
            not words.isdisjoint(near(text, value, 6)) for text in self.heard if value in stated(text)
        ):
            return True
        cells = [(row, column) for rows in meant for row in rows for column in row.places.get(value, ())]
        if number:
            cells = [
                (row, column) for row, column in cells if not words.isdisjoint(_about(row, column, value))
            ]
        # A row that holds a value twice (balance, available balance) is outdated as soon as one of the two is.
        return any(
            not any(_superseded(one, value, said, single) for one in row.places[value]) for row, _ in cells
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
                if _same_thing(row, other) and other.cell(column).isdisjoint(said):
                    return True
        return False


def meant_rows(result: Result, marks: frozenset[Stated], low: str, words: set[str]) -> Sequence[Row]:
    """The rows of one result that a statement is about: those whose code or name stands in it and in no other row,
    else those with all dates and times that are stated, else those with one that no other row has, else all.

    `marks` are the values of the statement without numbers, `low` is its folded text, `words` the words of that.
    """
    rows = result.rows
    if len(rows) < 2:
        return rows
    named = {result.own_values[mark] for mark in marks if mark[0] == "code" and mark in result.own_values}
    for word in words & result.own_names.keys():
        named |= {number for name, number in result.own_names[word] if _stands(name, low)}
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


_WORD = re.compile(r"[a-z][a-z']*|\d[\w.,:-]*\w|\d")
_EMPTY = frozenset(
    "the and for you your yours with that this are was were has have had will now been from but not all its our out "
    "can may one any she him her his who whom which what when where there here then than also into onto over".split()
)


def _stem(word: str) -> str:
    return word[:-1] if word.endswith("s") and len(word) > 3 else word


def _about(row: Row, column: str, value: Stated) -> frozenset[str]:
    """Words that say what a cell is about: its column, the names in its row, and its own words."""
    cell = row.columns[column]
    words = " ".join([column, *row.names]).replace("_", " ")
    found = frozenset(_stem(word) for word in _WORD.findall(words.casefold()) if len(word) > 2)
    return found | near(cell, value, 6) if isinstance(cell, str) else found


def _contradicts(value: Stated, part: str, said: frozenset[Stated], single: Sequence[Row]) -> bool:
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


def _superseded(column: str, value: Stated, said: frozenset[Stated], single: Sequence[Row]) -> bool:
    """Whether the one row of a new result has another value of this kind in this column, and that one is not said."""
    for row in single:
        alike = {one for one in row.cell(column) if one[0] == value[0]}
        if alike and value not in alike and alike.isdisjoint(said):
            return True
    return False


def _same_thing(row: Row, other: Row) -> bool:
    """Whether two rows tell of one thing: a code stands in both."""
    return not row.codes.isdisjoint(other.codes)


def _totals(rows: tuple[Row, ...]) -> Iterable[float]:
    for column in rows[0].columns:
        cells = [row.columns.get(column) for row in rows]
        if all(isinstance(cell, int | float) and not isinstance(cell, bool) for cell in cells):
            yield float(sum(cells))  # type: ignore[arg-type]


@lru_cache(maxsize=50_000)
def _digits(text: str) -> str:
    return re.sub(r"\D", "", text)


@lru_cache(maxsize=50_000)
def _plain(text: str) -> str:
    return re.sub(r"[\s_-]", "", text.casefold())
