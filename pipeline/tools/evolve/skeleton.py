"""What is left of a world when all its names are taken out: to count how many worlds are really different.

Every name (table, column, alias, argument, function of the world's own) becomes `n1`, `n2` … in order of first use, so
that worlds which differ in vocabulary only are equal; every number becomes `0` and every text `''`, so that a fee or a
status word makes no difference either.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from pipeline.records import SqlProgram, World, content_id

_TOKEN = re.compile(r"'(?:[^']|'')*'|\"[^\"]*\"|:?[A-Za-z_]\w*|\d+(?:\.\d+)?|<>|<=|>=|\|\||\S")
_KEPT = frozenset(
    """
    select distinct from where and or not in is null exists between like as on using join left cross order by group having
    limit offset union all case when then else end cast asc desc over partition with recursive insert into values update
    set delete create table view unique index primary key references foreign check default text integer int real numeric
    count sum min max avg round abs coalesce date datetime julianday strftime substr printf lower upper length row_number
    group_concat total ifnull iif nullif :now :new_id
    """.split()
)


def shape(texts: Iterable[str]) -> str:
    """The statements without names and literals, names numbered in order of first use over all of them."""
    numbers: dict[str, str] = {}
    parts: list[str] = []
    for text in texts:
        tokens: list[str] = []
        for token in _TOKEN.findall(text.lower()):
            if token[0] == "'":
                token = "''"
            elif token[0].isdigit():
                token = "0"
            elif (token[0].isalpha() or token[0] in '_":') and token not in _KEPT:
                name = token.strip(':"')
                token = (":" if token[0] == ":" else "") + numbers.setdefault(name, f"n{len(numbers) + 1}")
            if token in ("''", "0") and tokens[-2:] in (["''", ","], ["0", ","]):
                tokens.pop()
                continue
            tokens.append(token)
        parts.append(" ".join(tokens))
    return "\n".join(parts)


def program_shape(program: SqlProgram) -> str:
    """Equal for tools that do the same, whatever they and their tables are called."""
    return content_id("program", shape(f"{step.kind} {step.sql}" for step in program.steps))


def world_shape(world: World) -> str:
    """Equal for worlds with the same set of tables, rules (invariants, errors) and programs up to renaming.

    Tables and programs are renamed one by one, so that their order and their names make no difference.
    """
    tables = sorted(shape([one]) for one in world.schema_sql.split(";") if one.strip())
    rules = sorted(shape([one.sql]) for one in world.invariants)
    programs = sorted(program_shape(tool.program) for tool in world.tools if tool.program)
    return content_id("shape", [tables, rules, programs])
