"""From what a tool needs back to what a person knows: chains of lookups in the tool graph."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass, field

from pipeline.records import ArgumentSource, ArgumentWords, Fact, Json, ReferenceCall, World
from pipeline.tasks.graph import Lookup, ToolGraph
from pipeline.tasks.money import money_columns
from pipeline.tasks.values import spoken
from pipeline.worlds.tongues import pack, tongue_of

PLACEHOLDER = re.compile(r"\{(\w+)\}")
DEPTH = 3
"""Lookups behind each other, at most."""
CANDIDATES = 12
"""Lookups looked at for one value, and CHOICE of those that serve among which the best is taken."""
CHOICE = 3
LONG = 6
"""Rows of a result from which a person would rather not choose."""


@dataclass
class Plan:
    """A growing reference solution and what the user has to know for it."""

    calls: list[ReferenceCall] = field(default_factory=list)
    facts: dict[str, Fact] = field(default_factory=dict)
    rows: dict[int, dict[str, Json]] = field(default_factory=dict)
    """Reference step to the row of its result that is meant."""

    def copy(self) -> Plan:
        return Plan(list(self.calls), dict(self.facts), dict(self.rows))


@dataclass(frozen=True, slots=True)
class _Trial:
    plan: Plan
    column: str
    cost: float


class ChainBuilder:
    """Finds where arguments come from. Deterministic for equal `rng`."""

    def __init__(self, graph: ToolGraph, rng: random.Random) -> None:
        self.graph = graph
        self.world: World = graph.world
        self.rng = rng
        self._year = int(graph.world.clock[:4])
        self._language = tongue_of(graph.world)
        self._money = money_columns(graph.world)

    def spoken(self, name: str, value: Json) -> str:
        """A value of an argument or column as a person says it."""
        return spoken(value, self.rng, money=name in self._money, year=self._year, language=self._language)

    def sources(
        self, plan: Plan, goal: int, tool: str, arguments: dict[str, Json], depth: int = DEPTH
    ) -> dict[str, ArgumentSource] | None:
        """A source for each argument, lookups appended to the plan; None when something cannot be known."""
        words = self.world.words.tools[tool].arguments
        found: dict[str, ArgumentSource] = {}
        properties = self.world.tool_by_name[tool].input_schema.get("properties", {})
        for name, value in arguments.items():
            about = words.get(name, ArgumentWords())
            if not about.consent and value == properties.get(name, {}).get("default", _MISSING):
                found[name] = ArgumentSource(kind="fixed")
            elif about.consent:
                found[name] = ArgumentSource(kind="consent" if value else "fixed")
            elif about.source and not about.known:
                source = self._look_up(plan, goal, name, value, about.source, depth)
                if source is None:
                    return None
                found[name] = source
            elif about.called:
                fact = self._tell(plan, goal, name, value, about, identity=depth < DEPTH)
                if fact is None:
                    return None
                found[name] = ArgumentSource(kind="told", fact=fact)
            else:
                return None
        return found

    def _tell(
        self, plan: Plan, goal: int, name: str, value: Json, about: ArgumentWords, *, identity: bool
    ) -> str | None:
        """The name of the fact that states an argument. Arguments of lookups say who the user is: they must not
        change from one goal to the next."""
        key = name if identity else f"{name} ({goal + 1})"
        for known in plan.facts.values():
            if isinstance(value, str) and len(value) >= 6 and known.value == value:
                return known.name
            if known.label == about.called and known.value == value:
                return known.name
            if known.label == about.called and (identity or known.name == name):
                return None
        if key in plan.facts:
            key = f"{key}: {about.called}"
        text = self.spoken(name, value)
        found = re.findall(r"[a-z]{3,}", about.called.lower()) if self._language == "en" else []
        keywords = tuple(sorted({word for word in found if word not in _COMMON}))
        plan.facts[key] = Fact(
            name=key, label=about.called, value=value, spoken=text, said=about.said, keywords=keywords
        )
        return key

    def _look_up(
        self, plan: Plan, goal: int, name: str, value: Json, source: str, depth: int
    ) -> ArgumentSource | None:
        """Where an identifier is read: in what has been read already, else through the lookup that asks for the
        fewest further calls and facts. The result's column is named like the argument or like its `source`."""
        table, _, column = source.partition(".")
        columns = tuple(dict.fromkeys((name, column)))
        for step, row in plan.rows.items():
            for one in columns:
                if row.get(one) == value:
                    return self._read(plan, step, one)
        if depth == 0:
            return None
        candidates = [(one, lookup) for one in columns for lookup in self.graph.index.get((one, value), ())]
        self.rng.shuffle(candidates)
        candidates.sort(key=lambda pair: len(pair[1].rows) > LONG)
        trials: list[_Trial] = []
        for one, lookup in candidates[:CANDIDATES]:
            if len(trials) == CHOICE:
                break
            if value not in [lookup.arguments.get(other) for other in columns]:
                trial = self._try(plan, goal, lookup, one, value, table, depth)
                trials.extend([trial] if trial else [])
        if not trials:
            return None
        best = min(trials, key=lambda trial: trial.cost)
        plan.calls, plan.facts, plan.rows = best.plan.calls, best.plan.facts, best.plan.rows
        return self._read(plan, len(plan.calls) - 1, best.column)

    def _try(
        self, plan: Plan, goal: int, lookup: Lookup, column: str, value: Json, table: str, depth: int
    ) -> _Trial | None:
        """The plan with one lookup more, if its arguments and the row that is meant can be known."""
        trial = plan.copy()
        sources = self.sources(trial, goal, lookup.tool, lookup.arguments, depth - 1)
        picked = self._pick(trial, goal, lookup, column, value, table) if sources is not None else None
        if sources is None or picked is None:
            return None
        row, fact = picked
        trial.calls.append(
            ReferenceCall(goal=goal, tool=lookup.tool, arguments=lookup.arguments, sources=sources, fact=fact)
        )
        trial.rows[len(trial.calls) - 1] = row
        calls, facts = len(trial.calls) - len(plan.calls), len(trial.facts) - len(plan.facts)
        return _Trial(trial, column, 2 * calls + facts + 2 * (len(lookup.rows) > LONG) + self.rng.random())

    @staticmethod
    def _read(plan: Plan, step: int, column: str) -> ArgumentSource:
        return ArgumentSource(kind="read", step=step, column=column, fact=plan.calls[step].fact)

    def _pick(
        self, plan: Plan, goal: int, lookup: Lookup, column: str, value: Json, table: str
    ) -> tuple[dict[str, Json], str | None] | None:
        """The row that is meant, and the fact that points at it when there are several."""
        row = next(one for one in lookup.rows if one.get(column) == value)
        if len(lookup.rows) == 1:
            return row, None
        described = self.describe(table, row, lookup.rows)
        if described is None:
            return None
        text, columns = described
        noun = self.world.words.entities[table].noun
        name = f"which {noun} ({goal + 1})"
        if name in plan.facts:
            name = f"which {noun} ({goal + 1}b)"
        english = self._language == "en"
        plan.facts[name] = Fact(
            name=name,
            label=f"which {noun} you mean" if english else f"({noun})",
            value=columns,
            spoken=text,
            said=_POINTING if english else tuple(pack(self._language)["which"]["said"]),
            keywords=tuple(sorted({*noun.lower().split(), "which"})) if english else (),
        )
        return row, name

    def describe(
        self, table: str, row: dict[str, Json], rows: tuple[dict[str, Json], ...]
    ) -> tuple[str, dict[str, Json]] | None:
        """Words that fit this row and no other of `rows`, and the columns they use."""
        entity = self.world.words.entities.get(table)
        for template in entity.describe if entity else ():
            names = PLACEHOLDER.findall(template)
            if any(row.get(name) is None for name in names):
                continue
            columns = {name: row[name] for name in names}
            if sum(all(other.get(n) == v for n, v in columns.items()) for other in rows) == 1:
                return fill(template, {n: self.spoken(n, v) for n, v in columns.items()}), columns
        return None


_MISSING = object()
_POINTING = ("{value}", "I mean {value}", "it's {value}", "{value} is the one", "the one I mean is {value}")
_COMMON = frozenset(
    "the your you for and with one that this under are have was which who want would like".split()
)


def fill(template: str, values: dict[str, str]) -> str:
    """Replaces `{name}` by its value; other braces are text."""
    return PLACEHOLDER.sub(lambda match: values.get(match[1], match[0]), template)
