"""The ground of an authored world, each part executed before the next: entities and rules, tables, rows."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from pipeline.config.author import AuthorSection
from pipeline.models.players.author import Checked, Problem, Step, lines
from pipeline.models.players.author.answers import Rows, Schema, ToolIdea, WorldPlan
from pipeline.models.players.schemas import schema_of
from pipeline.records import Domain, Json, Record, WorldError
from pipeline.tools.evolve.authored.novelty import Known, nearest, same_as
from pipeline.tools.evolve.authored.tables import Tables, rows_form, schema_problems, tables_of
from pipeline.tools.evolve.authored.texts import other_dialect
from pipeline.worlds.load import parse_world

_SHOWN_ROWS = 4
"""Rows of each table that later stages are shown."""
_EXAMPLE = {"members", "bikes", "hires"}
"""Tables of the business that the prompts show."""
WorldFile = dict[str, Any]
"""The content of a world file, as far as it is made."""


class Rejected(Exception):
    """The world cannot go on; kind and message."""


class Stage(Protocol):
    """Asks for one stage: prompt, form, what executes an answer, the account, what it is about, further inputs."""

    async def __call__(
        self, prompt: str, form: type[Record], check: Any, steps: list[Step], subject: str, *, prose: bool = True,
        schema: dict[str, Any] | None = None, **inputs: Any,
    ) -> tuple[Any, Step]: ...  # fmt: skip


class Written:
    """The ground as the author writes all of it: plan, one statement for each table, rows table by table."""

    ideas: Sequence[ToolIdea] = ()
    """No tools are listed with it."""

    def __init__(self, stage: Stage, config: AuthorSection, known: Sequence[Known]) -> None:
        self._stage = stage
        self._config = config
        self._known = known

    async def make(self, place: Domain, steps: list[Step]) -> tuple[WorldFile, Tables]:
        """The world file with tables and rows. Raises Rejected."""
        plan = await self._plan(place, steps)
        base = base_of(place, plan.name, plan.summary)
        base["schema"] = await self._schema(base, plan, steps)
        tables = tables_of(parse_world(base, where=base["name"]))
        base["seed"] = await self._seed(base, tables, steps)
        return base, tables

    async def _plan(self, place: Domain, steps: list[Step]) -> WorldPlan:
        def check(plan: WorldPlan) -> Checked[WorldPlan]:
            columns = {one.table: one.columns for one in plan.entities}
            problems = plan_problems([one.table for one in plan.entities], columns, self._known)
            return Checked(problems=problems) if problems else _hanging_together(plan)

        plan, step = await self._stage(
            "world", WorldPlan, check, steps, place.path, domain=place.path, description=place.description,
            near=neighbors(place, self._known), rules=4,
        )  # fmt: skip
        if plan is None:
            raise Rejected(step.kind, f"entities and rules: {step.message}")
        return plan  # type: ignore[no-any-return]

    async def _schema(self, base: WorldFile, plan: WorldPlan, steps: list[Step]) -> str:
        planned = [one.table for one in plan.entities]

        def check(answer: Schema) -> Checked[str]:
            if why := other_dialect(answer.sql):
                return Checked(problems=[("dialect", why)])
            try:
                world = parse_world({**base, "schema": answer.sql, "tools": []}, where=base["name"])
                found = schema_problems(world, planned)
            except WorldError as error:
                return Checked(problems=[("broken DDL", error.what)])
            return Checked(answer.sql if not found else None, [("broken DDL", text) for text in found])

        schema = schema_of(Schema)
        statements = {**schema["properties"]["statements"], "minItems": len(planned)}
        sql, step = await self._stage(
            "schema", Schema, check, steps, base["name"], prose=False, world=told(base, plan),
            schema={**schema, "properties": {"statements": statements}},
        )  # fmt: skip
        if sql is None:
            raise Rejected(step.kind, f"tables: {step.message}")
        return str(sql)

    async def _seed(
        self, base: WorldFile, tables: Tables, steps: list[Step]
    ) -> dict[str, list[dict[str, Json]]]:
        seed: dict[str, list[dict[str, Json]]] = {}
        for table, columns in tables.columns.items():
            parents = {
                f"{name}.{tables.keys[name]}": [row[tables.keys[name]] for row in rows]
                for name, rows in seed.items()
                if name in tables.keys
            }

            def check(answer: Rows, table: str = table) -> Checked[list[dict[str, Json]]]:
                good, problems = sound_rows({**base, "seed": dict(seed)}, table, answer.rows)
                return Checked(good if len(good) >= 2 else None, problems)

            rows, step = await self._stage(
                "rows", Rows, check, steps, f"{base['name']}: {table}", prose=False,
                schema=rows_form(columns, parents, self._config.rows), world=told({**base, "seed": seed}),
                table=table, columns=[one.line() for one in columns], count=self._config.rows, now=base["clock"],
            )  # fmt: skip
            if not rows:
                raise Rejected(step.kind, f"rows of {table}: {step.message}")
            seed[table] = rows
        return seed


def neighbors(place: Domain, known: Sequence[Known]) -> list[str]:
    """The worlds that exist and are nearest to a place, one line each."""
    return lines(one.line() for one in nearest(f"{place.path} {place.description}", known))


def plan_problems(
    tables: Sequence[str], columns: Mapping[str, Sequence[str]], known: Sequence[Known]
) -> list[Problem]:
    """A plan that is the example of the prompt or that of a world which exists, or names a table twice."""
    if set(tables) == _EXAMPLE:
        return [("the example again", "this is the bike shed of the example; plan another business")]
    if same := same_as(frozenset(f"{table}.{one}" for table in columns for one in columns[table]), known):
        return [("same world again", f"this is {same} again; plan a business that keeps other things")]
    return [("misfit", "two entities have the same table")] if len(set(tables)) < len(tables) else []


def _hanging_together(plan: WorldPlan) -> Checked[WorldPlan]:
    """The plan when every column that looks like a key is one; else, at last, the plan without such columns."""
    keys = {one.columns[0] for one in plan.entities}
    lost = {
        (one.table, column)
        for one in plan.entities
        for column in one.columns[1:]
        if column.endswith("_id") and column not in keys
    }
    if not lost:
        return Checked(plan)
    problems = [
        (
            "dangling plan",
            f"{table}.{column} points at no entity; name the entity with the key {column}, or leave it out",
        )
        for table, column in sorted(lost)
    ]
    left = [
        one.replace(columns=[column for column in one.columns if (one.table, column) not in lost])
        for one in plan.entities
        if sum((one.table, column) not in lost for column in one.columns) >= 2
    ]
    rest = plan.replace(entities=left) if len(left) >= 2 else None
    return Checked(rest, problems, whole=False)


def base_of(place: Domain, business: str, summary: str) -> WorldFile:
    """A world file in which nothing is made yet."""
    name = re.sub(r"[^a-z0-9]+", "-", business.lower()).strip("-") or "world"
    rng = random.Random(f"clock/{place.path}/{name}")
    clock = f"2026-{rng.randint(1, 12):02d}-{rng.randint(1, 28):02d}T{rng.randint(8, 16):02d}:{rng.choice(('00', '15', '30', '45'))}:00"
    return {
        "name": name[:60],
        "domain": place.path,
        "summary": summary,
        "archetype": "authored",
        "clock": clock,
        "schema": "",
        "seed": {},
        "tools": [],
        "policy": [],
        "invariants": [],
    }


def sound_rows(
    base: WorldFile, table: str, rows: Sequence[dict[str, Json]]
) -> tuple[list[dict[str, Json]], list[Problem]]:
    """The rows that the table takes, and what is wrong with the first of the others."""
    good: list[dict[str, Json]] = []
    problems: list[Problem] = []
    for number, row in enumerate(rows, 1):
        seed = {**base["seed"], table: [*good, row]}
        try:
            tables_of(parse_world({**base, "seed": seed, "tools": []}, where=base["name"]))
            good.append(row)
        except WorldError as error:
            problems.append(("broken seed", f"row {number}: {error.what.partition(': ')[2] or error.what}"))
    return good, problems[:4]


def told(base: WorldFile, plan: WorldPlan | None = None, rows: int = _SHOWN_ROWS) -> str:
    """The world so far, as later stages are shown it. Its beginning stays the same from stage to stage."""
    parts = [f"{base['name']} ({base['domain']}): {base['summary']}"]
    if plan is not None:
        parts += [f"- {one.table}({', '.join(one.columns)})" for one in plan.entities]
        parts += [f"Rule: {rule}" for rule in plan.rules]
    if base["schema"]:
        parts.append(base["schema"].strip())
    for table, found in base["seed"].items():
        parts.append(f"Rows of {table}:")
        parts += lines(found[:rows])
    return "\n".join(parts)
