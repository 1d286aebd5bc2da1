"""Worlds that an author only sketches: what follows from a sketch is derived and not asked for.

Derived are the tables (from the columns of the plan), of the rows keys, references, fixed words and days, the arguments of a
tool (from the names that its statements bind), its refusals for rows that are not there, and its examples (found by
executing it). A weak model errs mostly in these, and each costs tokens. What is derived is proven like everything else.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from pipeline.config.author import AuthorSection
from pipeline.models.players.author import Checked, Problem, Step
from pipeline.models.players.author.answers import Argument, Kind, Rule, ToolBody, ToolIdea
from pipeline.models.players.author.sketches import SketchedPlan, SketchedRows, SketchedTool
from pipeline.models.players.schemas import schema_of
from pipeline.records import Domain, Json, WorldError, canonical_json
from pipeline.tools.evolve.authored.connected import sound_ideas
from pipeline.tools.evolve.authored.ground import (
    Rejected,
    Stage,
    WorldFile,
    base_of,
    neighbors,
    plan_problems,
    sound_rows,
)
from pipeline.tools.evolve.authored.novelty import Known
from pipeline.tools.evolve.authored.tables import Tables, tables_of
from pipeline.worlds.load import parse_world

_BOUND = re.compile(r"(?<![:\w]):([a-z_]\w*)", re.I)
_GIVEN = frozenset({"now", "new_id"})
_PREFIX = re.compile(r"^(?:new|old|min|max|from|to|other|target|current)_")
_SHOWN_ROWS = 2


@dataclass(frozen=True)
class _Column:
    """A column of a sketch: what kind of value, the words it may be, the table it points at."""

    name: str
    kind: str = "text"
    words: tuple[str, ...] = ()
    refers: str = ""

    def ddl(self, keys: Mapping[str, str]) -> str:
        if self.refers:
            return f"{self.name} text not null references {self.refers}({keys[self.refers]})"
        if self.words:
            listed = ", ".join(f"'{word}'" for word in self.words)
            return f"{self.name} text not null check({self.name} in ({listed}))"
        if self.kind == "real":
            return f"{self.name} real not null check({self.name} >= 0)"
        if self.kind in ("date", "moment"):
            return f"{self.name} text"  # what has not come yet has no day
        return f"{self.name} {'integer' if self.kind == 'integer' else 'text'} not null"

    @property
    def derived(self) -> bool:
        """Whether its values can be drawn without knowing the business."""
        return bool(self.refers or self.words) or self.kind in ("date", "moment")

    def drawn(
        self, number: int, keys: Mapping[str, Sequence[str]], clock: datetime, rng: random.Random
    ) -> str:
        """The value in a row: words in turn, so that each comes; some key; a day not far from now."""
        if self.words:
            return self.words[number % len(self.words)]
        if self.refers:
            return rng.choice(keys[self.refers])
        day = clock + timedelta(days=rng.randint(-20, 20))
        return f"{day:%Y-%m-%d}" + (f"T{rng.randint(8, 17):02d}:00:00" if self.kind == "moment" else "")

    def form(self) -> dict[str, Any]:
        """The JSON Schema of its values."""
        kinds = {"integer": {"type": "integer", "minimum": 0}, "real": {"type": "number", "minimum": 0}}
        return kinds.get(self.kind, {"type": "string", "minLength": 2, "maxLength": 40})


class Sketched:
    """The ground of a world from a sketch: plan, and rows without keys. In place of `ground.Written`."""

    def __init__(self, stage: Stage, config: AuthorSection, known: Sequence[Known]) -> None:
        self._stage = stage
        self._config = config
        self._known = known
        self.ideas: Sequence[ToolIdea] = ()
        """The tools that the plan lists."""

    async def make(self, place: Domain, steps: list[Step]) -> tuple[WorldFile, Tables]:
        """The world file with tables and rows. Raises Rejected."""

        least, most = self._config.tools

        def check(plan: SketchedPlan) -> Checked[tuple[SketchedPlan, dict[str, list[_Column]]]]:
            found = columns_of(plan)
            names = {table: [one.name for one in columns] for table, columns in found.items()}
            problems = plan_problems([one.table for one in plan.entities], names, self._known)
            if problems:
                return Checked(problems=problems)
            if not any(one.refers for columns in found.values() for one in columns):
                why = (
                    "no entity points at another; give one of them a column that is named like another's key"
                )
                return Checked(problems=[("dangling plan", why)])
            ideas = sound_ideas(plan.tools, least, most)
            if ideas.result is None:
                return Checked(problems=ideas.problems)
            return Checked((plan.replace(tools=ideas.result), found), ideas.problems)

        made, step = await self._stage(
            "sketch_world", SketchedPlan, check, steps, place.path, domain=place.path,
            description=place.description, near=neighbors(place, self._known), least=least, most=most,
        )  # fmt: skip
        if made is None:
            raise Rejected(step.kind, f"entities: {step.message}")
        plan, columns = made
        self.ideas = plan.tools
        base = base_of(place, plan.name, plan.summary)
        base["schema"] = schema_sql(columns)
        try:
            tables = tables_of(parse_world(base, where=base["name"]))
        except WorldError as error:
            raise Rejected("broken DDL", error.what) from error
        ordered = {table: columns[table] for table in tables.columns}
        base["seed"] = await self._seed(base, ordered, steps)
        return base, tables

    async def _seed(
        self, base: WorldFile, columns: Mapping[str, list[_Column]], steps: list[Step]
    ) -> dict[str, list[dict[str, Json]]]:
        """Rows of all tables: what has to be known of the business comes from the author, the rest is drawn."""
        count = self._config.rows
        drawn = _drawn(base, columns, count)
        asked = {
            table: free
            for table, its in columns.items()
            if (free := [one for one in its[1:] if not one.derived])
        }
        if not asked:
            return drawn

        def check(answer: SketchedRows) -> Checked[dict[str, list[dict[str, Json]]]]:
            seed: dict[str, list[dict[str, Json]]] = {}
            problems: list[Problem] = []
            for table, its in columns.items():
                given = answer.rows.get(table, []) if table in asked else [{}] * count
                names = [one.name for one in its]
                rows = [{**mine, **theirs} for mine, theirs in zip(drawn[table], given, strict=False)]
                rows = [{name: row[name] for name in names if name in row} for row in rows]
                seed[table], wrong = sound_rows({**base, "seed": seed}, table, rows)
                problems += [(kind, f"{table}, {text}") for kind, text in wrong]
                if len(seed[table]) < 2:
                    problems.append(("broken seed", f"{table} needs two rows that hold"))
                elif table in asked and len({canonical_json(one) for one in given}) == 1:
                    problems.append(("broken seed", f"the rows of {table} are all the same; let them differ"))
            enough = all(len(rows) >= 2 for rows in seed.values())
            return Checked(seed if enough else None, problems)

        lists = {
            table: {
                "type": "array",
                "items": _object({one.name: one.form() for one in free}),
                "minItems": count,
                "maxItems": count,
            }
            for table, free in asked.items()
        }
        rows, step = await self._stage(
            "sketch_rows", SketchedRows, check, steps, base["name"], prose=False,
            schema=_object({"rows": _object(lists)}), count=count,
            world="\n".join([sketch(base, rows=0), *(f"To fill: {table}({', '.join(one.name for one in free)})" for table, free in asked.items())]),
        )  # fmt: skip
        if rows is None:
            raise Rejected(step.kind, f"rows: {step.message}")
        return rows  # type: ignore[no-any-return]


def _drawn(
    base: WorldFile, columns: Mapping[str, Sequence[_Column]], count: int
) -> dict[str, list[dict[str, Json]]]:
    """For each table so many rows of what can be drawn: keys, references, words, days."""
    keys, clock, rng = (
        keys_of(columns, count),
        datetime.fromisoformat(base["clock"]),
        random.Random(f"rows/{base['name']}"),
    )
    return {
        table: [
            {
                its[0].name: key,
                **{one.name: one.drawn(number, keys, clock, rng) for one in its[1:] if one.derived},
            }
            for number, key in enumerate(keys[table])
        ]
        for table, its in columns.items()
    }


def columns_of(plan: SketchedPlan) -> dict[str, list[_Column]]:
    """The tables of a plan. A first column that is no key gets one before it; a column that is named like the key of
    another table, or like one of its rows, points at it; one that looks like a key of nothing is left out."""
    keys = {}
    for entity in plan.entities:
        first = entity.columns[0].partition(" ")[0]
        keys[entity.table] = first if first.endswith("_id") else f"{_singular(entity.table)}_id"
    pointing = {key: table for table, key in keys.items()}
    found: dict[str, list[_Column]] = {}
    for entity in plan.entities:
        key = keys[entity.table]
        columns = {key: _Column(key)}
        for text in entity.columns:
            name, _, kind = text.partition(" ")
            target = name if name in pointing else f"{name}_id"
            if target in pointing and pointing[target] != entity.table:
                columns.setdefault(target, _Column(target, refers=pointing[target]))
            elif not name.endswith("_id"):
                words = tuple(dict.fromkeys(kind.split("|"))) if "|" in kind else ()
                columns.setdefault(name, _Column(name, "text" if words else kind or "text", words))
        found[entity.table] = list(columns.values())
    return found


def _singular(noun: str) -> str:
    for ending, instead in (("ies", "y"), ("sses", "ss"), ("s", "")):
        if noun.endswith(ending) and not noun.endswith("ss"):
            return noun.removesuffix(ending) + instead
    return noun


def schema_sql(columns: Mapping[str, Sequence[_Column]]) -> str:
    """One statement for each table."""
    keys = {table: its[0].name for table, its in columns.items()}
    return "\n".join(
        f"create table {table}({', '.join([f'{its[0].name} text primary key', *(one.ddl(keys) for one in its[1:])])});"
        for table, its in columns.items()
    )


def keys_of(columns: Mapping[str, Sequence[_Column]], count: int) -> dict[str, list[str]]:
    """Keys like B01, each table with letters of its own."""
    found: dict[str, list[str]] = {}
    taken: set[str] = set()
    for table in columns:
        letters = next(
            table[:length].upper().replace("_", "X")
            for length in range(1, 50)
            if table[:length].upper() not in taken or length > len(table)
        )
        taken.add(letters)
        found[table] = [f"{letters}{number:02d}" for number in range(1, count + 1)]
    return found


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def sketch(base: WorldFile, rows: int = _SHOWN_ROWS) -> str:
    """The world so far in few words."""
    parts = [f"{base['name']} ({base['domain']}): {base['summary']}", base["schema"]]
    for table, found in base["seed"].items():
        parts += [f"{table}: {', '.join(map(str, row.values()))}" for row in found[:rows]]
    return "\n".join(parts)


# ---- tools ----------------------------------------------------------------------------------------------------------


def tool_form(kind: str) -> dict[str, Any]:
    """The form of a tool of one kind: a reading one has neither rules nor changes, since its only refusal is derived."""
    schema = schema_of(SketchedTool)
    properties = dict(schema["properties"])
    if kind == "read":
        del properties["rules"], properties["changes"]
    else:
        properties["changes"] = {**properties["changes"], "minItems": 1}
    return _object(properties)


def lists(idea: ToolIdea) -> bool:
    """Whether a tool lists rows, by its name: then the example is one that does."""
    return idea.name.split("_")[0] in ("list", "search", "show", "browse", "all", "view")


def filled_in(kind: str, tool: SketchedTool, tables: Tables) -> ToolBody:
    """The whole form of a sketched tool, without examples, which execution finds."""
    result = _with_key(tool.result, tables) if kind == "read" else tool.result
    statements = [*(rule.sql for rule in tool.rules), *tool.changes, result]
    names = list(dict.fromkeys(name for sql in statements for name in _BOUND.findall(_unquoted(sql))))
    bound = [name for name in names if name not in _GIVEN]
    rules = list(_missing_rows(kind, tool, bound, tables))
    codes = {rule.code for rule in rules}
    rules += [
        Rule(sql=one.sql, code=one.code, message=one.message, example={})
        for one in tool.rules
        if one.code not in codes
    ]
    return ToolBody(
        description=tool.description,
        arguments=[_argument(name, tables) for name in bound],
        rules=rules,
        changes=list(tool.changes),
        result=result,
        many=tool.many,
        example={},
    )


def _with_key(sql: str, tables: Tables) -> str:
    """A plain SELECT from one table with the key of its rows, which other tools take."""
    match = re.match(
        r"select\s+(?!distinct\b|\*)([\w\s,]+?)\s+from\s+(\w+)\s*(?:where|order|limit|;|$)", sql.strip(), re.I
    )
    key = tables.keys.get(match[2], "") if match else ""
    if (
        match is None
        or not key
        or re.search(r"\bgroup\s+by\b", sql, re.I)
        or key in re.findall(r"\w+", match[1])
    ):
        return sql
    return re.sub(r"^\s*select\s+", f"select {key}, ", sql, count=1, flags=re.I)


def _unquoted(sql: str) -> str:
    return re.sub(r"'(?:[^']|'')*'", "''", sql)


def _missing_rows(kind: str, tool: SketchedTool, bound: Sequence[str], tables: Tables) -> Iterator[Rule]:
    """A refusal for each row that a call names and that is not there; for one row that a reading tool does not find."""
    if kind == "read":
        if not tool.many and bound:
            sql = f"select 1 from ({tool.result.strip().rstrip(';')})"
            yield Rule(sql=sql, code="NOT_FOUND", message="Nothing was found for that.", example={})
        return
    for name in bound:
        table, _, key = tables.source(name).partition(".")
        if table:
            noun = _singular(table)
            sql = f"select 1 from {table} where {key} = :{name}"
            message = f"There is no such {noun.replace('_', ' ')}."
            yield Rule(sql=sql, code=f"NO_{noun.upper()}"[:40], message=message, example={})


def _argument(name: str, tables: Tables) -> Argument:
    """An argument from its name: typed and described like the column that is called so."""
    said = name.replace("_", " ")
    source = tables.source(name)
    if source:
        table = source.partition(".")[0]
        return Argument(
            name=name, type="string", description=f"The key of the {_singular(table).replace('_', ' ')}."
        )
    for wanted in (name, _PREFIX.sub("", name)):
        for table, columns in tables.columns.items():
            for one in columns:
                if one.name == wanted:
                    kinds: dict[str, Kind] = {"integer": "integer", "real": "number"}
                    about = f"The {said} of the {_singular(table).replace('_', ' ')}."
                    return Argument(name=name, type=kinds.get(one.type, "string"), description=about)
    return Argument(name=name, type="string", description=f"The {said}.")
