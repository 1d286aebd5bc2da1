"""From what a tool needs back to what a person knows: chains of lookups in the tool graph."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass, field

from pipeline.records import ArgumentSource, ArgumentWords, Fact, Json, ReferenceCall, World
from pipeline.tasks.graph import Lookup, ToolGraph
from pipeline.tasks.values import spoken

PLACEHOLDER = re.compile(r"\{(\w+)\}")
DEPTH = 3
"""Lookups behind each other, at most."""


@dataclass
class Plan:
    """A growing reference solution and what the user has to know for it."""

    calls: list[ReferenceCall] = field(default_factory=list)
    facts: dict[str, Fact] = field(default_factory=dict)
    rows: dict[int, dict[str, Json]] = field(default_factory=dict)
    """Reference step to the row of its result that is meant."""

    def copy(self) -> Plan:
        return Plan(list(self.calls), dict(self.facts), dict(self.rows))


class ChainBuilder:
    """Finds where arguments come from. Deterministic for equal `rng`."""

    def __init__(self, graph: ToolGraph, rng: random.Random) -> None:
        self.graph = graph
        self.world: World = graph.world
        self.year = int(graph.world.clock[:4])
        self.rng = rng

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
                source = self._look_up(plan, goal, name, value, about.source.split(".")[0], depth)
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
        text = spoken(value, self.rng, name, self.year)
        keywords = tuple(
            sorted({word for word in re.findall(r"[a-z]{3,}", about.called.lower()) if word not in _COMMON})
        )
        plan.facts[key] = Fact(
            name=key, label=about.called, value=value, spoken=text, said=about.said, keywords=keywords
        )
        return key

    def _look_up(
        self, plan: Plan, goal: int, column: str, value: Json, table: str, depth: int
    ) -> ArgumentSource | None:
        for step, row in plan.rows.items():
            if row.get(column) == value:
                return self._read(plan, step, column)
        if depth == 0:
            return None
        candidates = list(self.graph.index.get((column, value), ()))
        self.rng.shuffle(candidates)
        candidates.sort(key=lambda lookup: len(lookup.rows) > 6)
        for lookup in candidates[:12]:
            if lookup.arguments.get(column) == value:
                continue
            trial = plan.copy()
            sources = self.sources(trial, goal, lookup.tool, lookup.arguments, depth - 1)
            if sources is None:
                continue
            picked = self._pick(trial, goal, lookup, column, value, table)
            if picked is None:
                continue
            plan.calls, plan.facts, plan.rows = trial.calls, trial.facts, trial.rows
            plan.calls.append(
                ReferenceCall(
                    goal=goal, tool=lookup.tool, arguments=lookup.arguments, sources=sources, fact=picked[1]
                )
            )
            plan.rows[len(plan.calls) - 1] = picked[0]
            return self._read(plan, len(plan.calls) - 1, column)
        return None

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
        plan.facts[name] = Fact(
            name=name,
            label=f"which {noun} you mean",
            value=columns,
            spoken=text,
            said=(
                "{value}",
                "I mean {value}",
                "it's {value}",
                "{value} is the one",
                "the one I mean is {value}",
            ),
            keywords=tuple(sorted({*noun.lower().split(), "which"})),
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
                return fill(
                    template, {n: spoken(v, self.rng, n, self.year) for n, v in columns.items()}
                ), columns
        return None


_MISSING = object()
_COMMON = frozenset(
    "the your you for and with one that this under are have was which who want would like".split()
)


def fill(template: str, values: dict[str, str]) -> str:
    """Replaces `{name}` by its value; other braces are text."""
    return PLACEHOLDER.sub(lambda match: values.get(match[1], match[0]), template)
