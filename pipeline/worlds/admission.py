"""Admission of worlds (design: nothing enters without proof): every tool and every declared error is executed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import jsonschema_rs

from pipeline.records import Json, ToolSpec, Witness, World, WorldError
from pipeline.worlds.ignored import Made, ignored_arguments
from pipeline.worlds.language import language_problems
from pipeline.worlds.sql import SqlWorld

CHECKS = ("build", "invariant", "read_only", "witness", "output", "ignored", "policy", "ids", "language")
"""What admission checks, in this order."""
ROWS_PER_WITNESS = 25
"""How many rows of a witness query are executed."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One reason against a world: which check, where, what."""

    check: str
    where: str
    message: str

    def __str__(self) -> str:
        return f"[{self.check}] {self.where}: {self.message}"


@dataclass
class Admission:
    """The report on one world."""

    world: str
    name: str
    problems: list[Problem] = field(default_factory=list)
    calls: int = 0
    errors_provoked: int = 0

    @property
    def admitted(self) -> bool:
        return not self.problems

    @property
    def checks(self) -> dict[str, int]:
        """The number of problems of each check, zero where it passed; what a broken build kept from being checked is
        not listed."""
        found = Counter(problem.check for problem in self.problems)
        return {name: found[name] for name in (("build",) if found["build"] else CHECKS)}


def admit(world: World, *, language: bool = True, rows: int = ROWS_PER_WITNESS) -> Admission:
    """Runs all checks; a broken world is a report with problems, never an exception.

    `rows` of each witness query are executed at most. `language` also demands that people can talk about the world
    (docs/worlds.md, Words).
    """
    report = Admission(world.id, world.name)
    try:
        live = SqlWorld(world)
    except WorldError as error:
        report.problems.append(Problem("build", world.name, error.what))
        return report
    try:
        report.problems.extend(_check_invariants(live, "seed"))
        if report.problems:
            return report  # every call is held against the invariants: they come first
        for tool in world.tools:
            report.problems.extend(_check_tool(live, tool, report, rows))
        report.problems.extend(_check_policy(world))
        report.problems.extend(_check_ids(world))
        if language:
            report.problems.extend(Problem("language", *one) for one in language_problems(world))
    finally:
        live.close()
    return report


def _check_invariants(live: SqlWorld, where: str) -> Iterator[Problem]:
    for invariant in live.world.invariants:
        try:
            if not live.holds(invariant.sql):
                yield Problem("invariant", where, f"{invariant.name!r} does not hold")
        except WorldError as error:
            yield Problem("invariant", invariant.name, error.what)


def witness_rows(live: SqlWorld, witness: Witness, limit: int) -> list[dict[str, Json]]:
    """The argument objects of a witness in the present state. Raises WorldError when its query is broken.

    Values are fitted to the tool's schema later; NULL columns are left out, as an argument that is not given.
    """
    if witness.query is None:
        return [witness.arguments]
    return [
        {name: value for name, value in row.items() if value is not None}
        for row in live.ask(witness.query, limit=limit)
    ]


def fitted(tool: ToolSpec, arguments: dict[str, Json]) -> dict[str, Json]:
    """Arguments from SQL as JSON of the schema's types: 1 becomes true where a boolean is wanted."""
    properties = tool.input_schema.get("properties", {})
    result = {}
    for name, value in arguments.items():
        kind = properties.get(name, {}).get("type")
        if kind == "boolean" and isinstance(value, int):
            value = bool(value)
        elif kind == "integer" and isinstance(value, float) and value.is_integer():
            value = int(value)
        elif kind == "number" and isinstance(value, int):
            value = float(value)
        result[name] = value
    return result


def _check_tool(live: SqlWorld, tool: ToolSpec, report: Admission, limit: int) -> Iterator[Problem]:
    assert tool.program is not None
    if tool.annotations.read_only and any(step.kind == "do" for step in tool.program.steps):
        yield Problem("read_only", tool.name, "it is marked read-only but has a `do` step")
    proven: Counter[str | None] = Counter()
    made: list[list[Made]] = []
    output = None if tool.output_schema is None else jsonschema_rs.validator_for(tool.output_schema)
    for witness in tool.program.witnesses:
        live.reset()
        try:
            rows = witness_rows(live, witness, limit)
        except WorldError as error:
            yield Problem("witness", tool.name, error.what)
            continue
        made.append([(witness.before, fitted(tool, row)) for row in rows])
        for row in rows:
            proven[witness.error] += 1
            report.calls += 1
            problem = _run_witness(live, tool, witness, fitted(tool, row), output)
            if problem is not None:
                yield problem
                break
    report.errors_provoked += sum(1 for code in proven if code)
    if not proven[None]:
        yield Problem("witness", tool.name, "no `try` row shows it succeeding")
    for declared in tool.errors:
        if not proven[declared.code]:
            yield Problem("witness", tool.name, f"no `try` row provokes {declared.code}")
    for name in ignored_arguments(live, tool, made):
        yield Problem("ignored", tool.name, f"no call shows that {name} makes a difference")


def _run_witness(
    live: SqlWorld, tool: ToolSpec, witness: Witness, arguments: dict[str, Json], output: Any
) -> Problem | None:
    """`output` is the validator of the tool's output schema, or None."""
    live.reset()
    before = live.replay(witness.before)
    if before is not None and not before.ok:
        return Problem("witness", tool.name, f"a call that should come first fails: {before.error}")
    state = live.state
    result = live.call(tool.name, arguments)
    got = None if result.ok else (result.error or ("?", ""))[0]
    if got != witness.error:
        wanted = witness.error or "success"
        return Problem(
            "witness",
            tool.name,
            f"{arguments} should give {wanted} but gives {got or 'success'}: {result.error}",
        )
    if (tool.annotations.read_only or not result.ok) and live.state != state:
        return Problem("read_only", tool.name, f"{arguments} changes the state")
    if not result.ok:
        return None
    if output is not None and not output.is_valid(result.value):
        why = next(iter(output.iter_errors(result.value))).message
        return Problem("output", tool.name, f"the answer to {arguments} does not match its schema: {why}")
    broken = live.broken_invariant()
    live.reset()
    if broken:
        return Problem("invariant", tool.name, f"{arguments} breaks {broken!r}")
    return None


def _check_policy(world: World) -> Iterator[Problem]:
    errors = {f"{tool.name}.{error.code}" for tool in world.tools for error in tool.errors}
    invariants = {f"invariant:{one.name}" for one in world.invariants}
    consents = {
        f"consent:{tool}.{name}"
        for tool, words in world.words.tools.items()
        for name, argument in words.arguments.items()
        if argument.consent
    }
    for rule in world.policy:
        targets = [part.strip() for part in rule.enforced_by.split(",")]
        for target in targets:
            if target != "reply" and target not in errors | invariants | consents:
                yield Problem("policy", rule.rule[:60], f"enforced_by names {target!r}, which does not exist")


def _check_ids(world: World) -> Iterator[Problem]:
    """Every identifier that a person does not know is returned by some read-only tool."""
    returned: dict[str, set[str]] = {}
    for tool in world.tools:
        if tool.annotations.read_only:
            for column in output_columns(tool):
                returned.setdefault(column, set()).add(tool.name)
    for name, words in world.words.tools.items():
        for argument, about in words.arguments.items():
            if not about.source or about.known:
                continue
            columns = list(dict.fromkeys((argument, about.source.partition(".")[2])))
            if not set().union(*(returned.get(column, set()) for column in columns)) - {name}:
                which = " or ".join(columns)
                yield Problem(
                    "ids", name, f"no other read-only tool returns {which}, which has to be looked up"
                )


def output_columns(tool: ToolSpec) -> dict[str, Json]:
    """The columns of a tool's result (of one row, for lists) with their schemas."""
    schema = tool.output_schema or {}
    if schema.get("type") == "array":
        schema = schema.get("items") or {}
    columns: dict[str, Json] = schema.get("properties", {}) if isinstance(schema, dict) else {}
    return columns
