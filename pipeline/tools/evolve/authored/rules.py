"""The last stages of a world: its policy and its invariants, each line held against the world itself."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, islice
from typing import Any

from pipeline.models.players.author.answers import Invariants, Policy
from pipeline.models.players.author.settling import Checked
from pipeline.records import World, WorldError
from pipeline.tools.evolve.authored.tables import Tables, tables_of
from pipeline.tools.evolve.authored.texts import other_dialect
from pipeline.worlds.load import parse_world
from pipeline.worlds.sql import SqlWorld, build_image, quoted
from pipeline.worlds.sql.functions import install_functions

_CHANGES = 300
"""Careless changes tried against one invariant."""


def policy_targets(world: World) -> list[str]:
    """What can enforce a rule: the declared errors, and what the assistant says."""
    return [*(f"{tool.name}.{error.code}" for tool in world.tools for error in tool.errors), "reply"]


def checked_policy(world: World, policy: Policy) -> Checked[list[dict[str, str]]]:
    """Each line's enforcement exists, and at least one is enforced by a tool where a tool refuses at all."""
    targets = set(policy_targets(world))
    good, problems = [], []
    for line in policy.rules:
        named = [part.strip() for part in line.enforced_by.split(",")]
        strange = [one for one in named if one not in targets]
        if strange:
            problems.append(
                ("policy", f"nothing is called {strange[0]!r}; what can enforce a rule is in the list")
            )
        else:
            good.append({"rule": line.rule, "enforced_by": ", ".join(named)})
    if good and len(targets) > 1 and all(one["enforced_by"] == "reply" for one in good):
        problems.append(("policy", "no rule says when a tool refuses"))
        good = []
    return Checked(good or None, problems, whole=not problems)


def checked_invariants(base: Mapping[str, Any], answer: Invariants) -> Checked[list[dict[str, str]]]:
    """Each holds on the seed and after every witnessed call, and some careless change makes it false."""
    good, problems = [], []
    for line in answer.invariants:
        why = _wrong(base, {"name": line.name, "sql": line.sql.strip().rstrip(";")})
        if why:
            problems.append(("invariant", f"{line.name!r}: {why}"))
        else:
            good.append({"name": line.name, "sql": line.sql.strip().rstrip(";")})
    return Checked(good or None, problems, whole=not problems)


def _wrong(base: Mapping[str, Any], invariant: dict[str, str]) -> str:
    if dialect := other_dialect(invariant["sql"]):
        return dialect
    try:
        world = parse_world(
            {**base, "policy": [], "invariants": [invariant]}, where="invariants", author="model"
        )
        live = SqlWorld(world)
        try:
            if not live.holds(invariant["sql"]):
                return "it does not hold now"
            broken = next(_breaking_calls(live, world), "")
        finally:
            live.close()
    except WorldError as error:
        return error.what
    if broken:
        return f"it does not hold after {broken}"
    if not _falsifiable(world, invariant["sql"]):
        return "no change of the tables makes it false, so it says nothing"
    return ""


def _breaking_calls(live: SqlWorld, world: World) -> Iterator[str]:
    for tool in world.tools:
        for witness in tool.program.witnesses if tool.program else ():
            live.reset()
            if witness.error is not None or not live.call(tool.name, witness.arguments).ok:
                continue
            if live.broken_invariant():
                yield f"{tool.name} with {witness.arguments}"


def _falsifiable(world: World, sql: str) -> bool:
    """Whether any of many careless changes, made with checks and references off, makes a query's value untrue."""
    image = build_image(world)
    connection = sqlite3.connect(":memory:", isolation_level=None)
    try:
        connection.deserialize(image.data)
        install_functions(connection, lambda: world.clock)
        connection.execute("pragma foreign_keys=off")
        connection.execute("pragma ignore_check_constraints=on")
        triggers = connection.execute("select name from sqlite_master where type='trigger'").fetchall()
        for (name,) in triggers:
            connection.execute(f"drop trigger {quoted(name)}")
        tables = tables_of(world)
        named = [table for table in tables.columns if re.search(rf"\b{re.escape(table)}\b", sql, re.I)]
        for statements in islice(_careless(tables, named), _CHANGES):
            if not _holds_after(connection, statements, sql, world.clock):
                return True
        return False
    finally:
        connection.close()


def _holds_after(connection: sqlite3.Connection, statements: Sequence[str], sql: str, now: str) -> bool:
    connection.execute("begin")
    try:
        for one in statements:
            connection.execute(one)
        row = connection.execute(sql, {"now": now}).fetchone()
        return bool(row and row[0])
    except sqlite3.Error:
        return True  # a change that cannot be made shows nothing
    finally:
        connection.execute("rollback")


def _careless(tables: Tables, named: Sequence[str]) -> Iterator[list[str]]:
    for table in named:
        name = quoted(table)
        yield [f"delete from {name}"]
        assigned = []
        for column in tables.columns[table]:
            here = quoted(column.name)
            values = (
                ["-1000000", "1000000"]
                if column.type in ("integer", "int", "real", "numeric")
                else ["'?'", "'0000'", "'9999'"]
            )
            values += [f"(select {here} from {name} limit 1)", "null"]
            values += ["'" + word.replace("'", "''") + "'" for word in column.words]
            assigned.append([f"{here} = {value}" for value in values])
        for options in assigned:
            for one in options:
                yield [f"update or ignore {name} set {one}"]
                yield [f"update or ignore {name} set {one} where rowid % 2 = 0"]
        for left, right in combinations(assigned, 2):
            for one in left:
                for other in right:
                    yield [f"update or ignore {name} set {one}, {other}"]
