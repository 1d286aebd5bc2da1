"""How the teacher's assistant puts results, deeds and options into words."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping
from itertools import takewhile

from pipeline.records import Goal, Json, ReferenceCall, Task, World
from pipeline.records.worlds import LIVE
from pipeline.tasks.chains import PLACEHOLDER, fill
from pipeline.tasks.money import money_columns
from pipeline.tasks.persons import people
from pipeline.tasks.values import written
from pipeline.teacher.grammar import capital, speech, tidy
from pipeline.teacher.plainly import told_plainly
from pipeline.teacher.told import told_columns
from pipeline.worlds.mixed import home_of
from pipeline.worlds.tongues import pack, tongue_of

Row = Callable[[ReferenceCall, str], Mapping[str, Json]]

UNMET = frozenset({"refuse", "unserved", "blocked"})
"""Goals that end without what the user wanted."""
SHOWN = 6
"""Options and rows that are said one by one."""


class Teller:
    """Words for what a world's tools do and return."""

    def __init__(self, task: Task, world: World, rng: random.Random, row: Row) -> None:
        """`row`: the row that an argument was read from, empty where there is none."""
        self.task = task
        self.world = world
        self._rng = rng
        self._read = row
        self._year = int(world.clock[:4])
        self._language = tongue_of(world)
        self._say = speech("agent", self._language)
        homes = {home.id: home for home in (home_of(world, call.tool) for call in task.reference)}
        self._money = frozenset().union(*map(money_columns, homes.values()))
        self._facts = {fact.name: fact for fact in task.facts}

    def plain_answer(self, goal: Goal) -> str:
        """The answer to a question that needs no tool."""
        return self._rng.choice(goal.answer) if goal.answer else self._say.say("failed", self._rng, reason="")

    def deed(self, call: ReferenceCall) -> str:
        """What the agent is about to do, as a verb phrase."""
        words = self.world.words.tools[call.tool]
        return fill(self._rng.choice(words.confirm or words.ask), self._arguments(call)).rstrip(".?")

    def claim(self, call: ReferenceCall) -> str:
        """That it has been done, without values of a result."""
        arguments = self._arguments(call)
        words = self.world.words.tools[call.tool]
        fitting = [text for text in words.done if set(PLACEHOLDER.findall(text)) <= set(arguments)]
        if fitting:
            return capital(fill(self._rng.choice(fitting), arguments))
        return self._say.say("done_plain", self._rng)

    def result(self, call: ReferenceCall, value: Json) -> str:
        """The result of the last call of a goal."""
        words = self.world.words.tools[call.tool]
        if home_of(self.world, call.tool).archetype == LIVE:
            return told_plainly(value, self._rng, {fact.spoken for fact in self.task.facts})
        if isinstance(value, list):
            return self._list(call, value)
        row = value if isinstance(value, dict) else {}
        columns = {k: self._written(k, v) for k, v in row.items() if v is not None}
        about = self.world.words.tools[call.tool].arguments
        named = {k: v for k, v in self._arguments(call).items() if k not in columns or about[k].source}
        values = {**columns, **named}
        told = set(told_columns(home_of(self.world, call.tool), words.done, row))
        fitting = [text for text in words.done if set(PLACEHOLDER.findall(text)) <= set(values)]
        telling = [text for text in fitting if told <= set(PLACEHOLDER.findall(text))] or fitting
        if not telling:
            return self.claim(call)
        return tidy(capital(fill(self._rng.choice(telling), values)), self._language)

    def _list(self, call: ReferenceCall, rows: list[Json]) -> str:
        words = self.world.words.tools[call.tool]
        if not rows:
            return tidy(fill(self._rng.choice(words.none), self._arguments(call)), self._language)
        said = [self._row(words.each, row) for row in rows[:SHOWN]]
        intro = self._say.say("list_intro", self._rng)
        left = len(rows) - len(said)
        tail = f" {self._more(left)}" if left else ""
        if len(said) > 2 and self._rng.random() < 0.5:
            return intro + "\n" + "\n".join(f"- {capital(text)}" for text in said) + tail
        return f"{intro} {'; '.join(said)}.{tail}"

    def options(self, call: ReferenceCall, rows: Json) -> str:
        """The rows to choose from."""
        if not isinstance(rows, list) or len(rows) < 2:
            return ""
        each = self.world.words.tools[call.tool].each
        said = [self._row(each, row) for row in rows[:SHOWN]]
        more = self._more(len(rows) - len(said)).rstrip(".") if len(rows) > len(said) else ""
        return "; ".join([*said, *([more[0].lower() + more[1:]] if more else [])])

    def _more(self, left: int) -> str:
        return (
            f"And {left} more."
            if self._language == "en"
            else self._say.say("and_more", self._rng, left=str(left))
        )

    def _row(self, template: str, row: Json) -> str:
        values = {k: self._written(k, v) for k, v in row.items()} if isinstance(row, dict) else {}
        return fill(template, values).strip().rstrip(".")

    def _written(self, name: str, value: Json) -> str:
        return written(value, money=name in self._money, year=self._year, language=self._language)

    def _arguments(self, call: ReferenceCall) -> dict[str, str]:
        """Arguments as the agent says them: rows by their description, values as they are."""
        values = {}
        about = self.world.words.tools[call.tool].arguments
        for name, value in call.arguments.items():
            source = call.sources.get(name)
            fact = self._facts.get(source.fact) if source and source.fact else None
            word = about.get(name)
            if word and word.source and not word.known:
                values[name] = self._view(fact.spoken) if fact else self._called(call, name, word.source)
            else:
                values[name] = self._written(name, value)
        return values

    def _called(self, call: ReferenceCall, name: str, source: str) -> str:
        """What a thing is called that was found without the user's choosing it; the user's own record is just that."""
        table = source.split(".")[0]
        entity = self.world.words.entities[table]
        found = call.sources.get(name)
        if found is None or found.kind != "read" or people(table) or self._changed_since(call, name):
            return self._the(entity.noun)
        row = {k: self._written(k, v) for k, v in self._read(call, name).items() if v is not None}
        fitting = [text for text in entity.describe if set(PLACEHOLDER.findall(text)) <= set(row)]
        return self._view(fill(fitting[0], row)) if fitting else self._the(entity.noun)

    def _changed_since(self, call: ReferenceCall, name: str) -> bool:
        """Whether an earlier call has changed the thing after it was read: its row is no longer what was read."""
        after = self.task.reference[call.sources[name].step or 0 :]
        before = takewhile(lambda one: (one.tool, one.sources) != (call.tool, call.sources), after)
        return any(
            not home_of(self.world, one.tool).tool_by_name[one.tool].annotations.read_only
            and call.arguments[name] in one.arguments.values()
            for one in before
        )

    def _view(self, description: str) -> str:
        return _agent_view(description) if self._language == "en" else description

    def _the(self, noun: str) -> str:
        return f"the {noun}" if self._language == "en" else pack(self._language)["the"][noun]


def _agent_view(description: str) -> str:
    """A user's description in the assistant's mouth: `my Tuesday visit` becomes `your Tuesday visit`."""
    return re.sub(r"\bour\b", "your", re.sub(r"\bmy\b", "your", description))


def for_user(message: str) -> str:
    """An error message without the hint to the caller that may follow a semicolon."""
    return message.split(";")[0].strip().rstrip(".") + "."
