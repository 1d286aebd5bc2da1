"""Witnesses without writing them: from the rules of a tool and the rows its arguments may come from.

An archetype states per tool `over`, a query of argument rows, good and bad ones, and its rules in order. Rows that pass
every rule show the tool succeeding; rows that pass all rules before one and fail that one provoke its error. `break`
replaces arguments by SQL expressions first, for errors that no stored row would show.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from pipeline.records import Json, canonical_json
from pipeline.tools.evolve.vocabulary import quoted

_MOST = 3000
"""Candidate rows at most."""
Rule = Mapping[str, Any]


def program(tool: Mapping[str, Any]) -> tuple[list[dict[str, Json]], str]:
    """The `require` steps of a tool with their witnesses, and the witness of its success."""
    arguments: Mapping[str, Any] = tool.get("arguments", {})
    rules: Sequence[Rule] = tool.get("rules", ())
    over = str(tool.get("over", "select 1 as nothing"))
    given = [name for name in arguments if re.search(rf"\b{name}\b", over)]
    consents = {rule["consent"]: rule for rule in rules if "consent" in rule}
    names = [*given, *(name for name in consents if name not in given)]
    defaults = {name: _literal(schema.get("default")) for name, schema in arguments.items()}

    def source(broken: Mapping[str, str], agreed: bool) -> str:
        columns = []
        for name in names:
            if name in broken:
                columns.append(f"{broken[name]} as {name}")
            elif name in consents:
                needed = _bound(consents[name]["needed"], given, defaults)
                columns.append(f"coalesce(({needed}), 0) <> 0 as {name}" if agreed else f"0 as {name}")
            else:
                columns.append(f"given.{name}")
        if not columns:
            return over
        return f"select {', '.join(columns)} from ({over} limit {_MOST}) given"

    def rows(broken: Mapping[str, str], agreed: bool, conditions: Sequence[str]) -> str:
        wanted = ", ".join(names) or "1 as nothing"
        where = " and ".join(conditions) or "1"
        return f"select {wanted} from ({source(broken, agreed)}) given where {where}"

    steps: list[dict[str, Json]] = []
    passed: list[str] = []
    for rule in rules:
        holds = f"coalesce(({_bound(_condition(rule), names, defaults)}), 0) <> 0"
        steps.append(
            {
                "require": _condition(rule),
                "error": {"code": rule["code"], "message": rule["message"]},
                "try": rows(rule.get("break", {}), "consent" not in rule, [*passed, f"not ({holds})"]),
            }
        )
        passed.append(holds)
    success = rows({}, True, passed)
    return steps, success if names else ""


def _condition(rule: Rule) -> str:
    if "consent" in rule:
        return f"select :{rule['consent']} or not coalesce(({rule['needed']}), 0)"
    return str(rule["sql"])


def _bound(sql: str, names: Sequence[str], defaults: Mapping[str, str]) -> str:
    """Arguments become columns of the candidate row, those that it does not give their defaults."""

    def replace(match: re.Match[str]) -> str:
        name = match[1]
        if name in names:
            return f"given.{name}"
        return defaults.get(name, match[0])

    return re.sub(r"(?<![:\w]):([a-z_]\w*)", replace, sql)


def _literal(value: Json) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, int | float):
        return repr(value)
    return quoted(value if isinstance(value, str) else canonical_json(value))
