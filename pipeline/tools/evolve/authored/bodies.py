"""One authored tool: from the form that a model filled in to a tool that has been seen working, or what is wrong."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pipeline.models.players.author.answers import ToolBody
from pipeline.records import Failure, Json, World, WorldError
from pipeline.tools.evolve.authored.search import Found, search
from pipeline.tools.evolve.authored.tables import Tables
from pipeline.tools.evolve.authored.texts import other_dialect
from pipeline.worlds.admission import admit, fitted, output_columns
from pipeline.worlds.load import parse_world
from pipeline.worlds.sql import SqlWorld

Problem = tuple[str, str]
"""Kind and sentence. Kinds: dialect, unused argument, broken SQL, witness, no effect, admission."""


@dataclass(frozen=True)
class Proven:
    """A tool that has been seen working: its entry in a world file, and the columns of its answer."""

    entry: dict[str, Any]
    columns: tuple[str, ...]

    @property
    def name(self) -> str:
        return str(self.entry["name"])

    @property
    def reads(self) -> bool:
        return bool(self.entry["read_only"])

    @property
    def sources(self) -> dict[str, str]:
        """For each argument that names a row: `table.column`."""
        return {name: about["from"] for name, about in self.entry["arguments"].items() if "from" in about}


def written(name: str, kind: str, body: ToolBody, tables: Tables, *, examples: bool = True) -> dict[str, Any]:
    """The entry of a world file for a filled-in form; its witnesses are the form's own examples, or none."""
    arguments: dict[str, Any] = {}
    for one in body.arguments:
        about: dict[str, Any] = {"type": one.type, "description": one.description}
        source = tables.source(one.name)
        if source:
            about["from"] = source
        else:
            words = _allowed(one.name, tables)
            if words and one.type == "string":
                about["enum"] = list(words)
            said = one.name.replace("_", " ")
            about |= {"called": f"the {said}", "said": [f"the {said} is {{value}}", f"{said}: {{value}}"]}
        if one.optional:
            about["optional"] = True
        arguments[one.name] = about
    steps: list[dict[str, Any]] = [
        {
            "require": _bare(rule.sql),
            "error": {"code": rule.code, "message": rule.message},
            "try": [rule.example] if examples else [],
        }
        for rule in body.rules
    ]
    steps += [{"do": _bare(sql)} for sql in body.changes]
    steps.append({"returns_many" if body.many else "returns_one": _bare(body.result)})
    return {
        "name": name,
        "description": body.description,
        "read_only": kind == "read",
        "destructive": any(sql.lstrip().lower().startswith("delete") for sql in body.changes),
        "arguments": arguments,
        "program": steps,
        "try": [body.example] if examples else [],
    }


def statements(entry: Mapping[str, Any]) -> list[str]:
    """What a tool does, as text that does not depend on spaces and case."""
    kinds = ("require", "do", "returns_one", "returns_many")
    return [
        " ".join(str(step[kind]).lower().split())
        for step in entry["program"]
        for kind in kinds
        if kind in step
    ]


def _bare(sql: str) -> str:
    return sql.strip().rstrip(";").strip()


def _allowed(argument: str, tables: Tables) -> tuple[str, ...]:
    """The words that a check allows for a column of this name."""
    found = {
        one.words
        for columns in tables.columns.values()
        for one in columns
        if one.name == argument and one.words
    }
    return found.pop() if len(found) == 1 else ()


def form_problems(kind: str, body: ToolBody) -> list[Problem]:
    """What is wrong with a form before anything runs."""
    found: list[Problem] = []
    statements = [*(rule.sql for rule in body.rules), *body.changes, body.result]
    for sql in statements:
        if why := other_dialect(sql):
            found.append(("dialect", f"{why}: {sql}"))
    text = " ".join(statements)
    for one in body.arguments:
        if not re.search(rf":{one.name}\b", text):
            found.append(
                ("unused argument", f"no statement uses :{one.name}; use it or leave the argument out")
            )
    for rule in body.rules:
        if rule.code in set(Failure):
            found.append(("admission", f"the code {rule.code} is taken; choose another"))
    names = {one.name for one in body.arguments}
    for number, example in enumerate([body.example, *(rule.example for rule in body.rules)]):
        if strange := sorted(set(example) - names):
            which = "example" if number == 0 else f"the example of {body.rules[number - 1].code}"
            found.append(("witness", f"{which} gives {', '.join(strange)}, which is no argument"))
    if kind == "read" and body.changes:
        found.append(("no effect", "a reading tool has no changes"))
    if kind == "write" and not body.changes:
        found.append(("no effect", "a tool that changes something needs an INSERT, UPDATE or DELETE"))
    return found


def prove(
    base: Mapping[str, Any], entry: dict[str, Any], tables: Tables
) -> tuple[Proven | None, list[Problem]]:
    """Executes a tool in a world of its own and in all its cases: the entry with more witnesses, or what is wrong.

    `base` is the world file so far, whose other tools play no part. An example that names rows which do not exist is a
    slip, and others are searched for; one that names rows which do exist and still ends otherwise than its author says
    contradicts the program, and is a problem. In an entry without examples a refusal that never comes is left out.
    """
    try:
        world = parse_world({**base, "tools": [entry]}, where=str(entry["name"]), author="model")
        live = SqlWorld(world)
    except WorldError as error:
        return None, [("broken SQL", _short(error.what))]
    try:
        found = search(live, world.tools[0], tables, str(base["name"]))
        if not entry["try"]:
            if not found.of():
                return None, [("witness", _never(entry, found))]
            entry = _refusing(entry, found)
            live.close()
            world = parse_world({**base, "tools": [entry]}, where=str(entry["name"]), author="model")
            live = SqlWorld(world)
        problems = _contradictions(live, world, found)
        if problems:
            return None, problems
        more = _with_witnesses(live, world, entry, found)
        if not entry["read_only"] and not _effective(live, world, more["try"]):
            return None, [("no effect", "it succeeds, but nothing in the tables changes")]
    finally:
        live.close()
    return _admitted(base, more)


def _admitted(base: Mapping[str, Any], entry: dict[str, Any]) -> tuple[Proven | None, list[Problem]]:
    """The last word is admission's own; what only a whole world can show (ids, policy) comes later."""
    try:
        world = parse_world(
            {**base, "tools": [entry], "policy": []}, where=str(entry["name"]), author="model"
        )
    except WorldError as error:
        return None, [("broken SQL", _short(error.what))]
    report = admit(world, language=False)
    left = [one for one in report.problems if one.check not in ("ids", "policy")]
    if left:
        return None, [("admission", f"[{one.check}] {one.message}") for one in left[:4]]
    return Proven(entry, tuple(output_columns(world.tools[0]))), []


def _refusing(entry: dict[str, Any], found: Found) -> dict[str, Any]:
    """The entry with those of its refusals that have been seen."""
    steps = [step for step in entry["program"] if "error" not in step or found.of(step["error"]["code"])]
    return {**entry, "program": steps}


def _never(entry: dict[str, Any], found: Found) -> str:
    """Why no call succeeded, in one sentence: the refusal that no call got past, or how those ended that did."""
    rules = {step["error"]["code"]: step["require"] for step in entry["program"] if "error" in step}
    further = [code for code in found.ends if code not in rules]
    if not further:
        code = next((one for one in reversed(rules) if found.of(one)), "")
        return f"it always refuses with {code}, since no row ever fits: {rules.get(code, '')}"
    return f"no call succeeds; it ends in {further[0]}: {found.why.get(further[0], '')}"


def _contradictions(live: SqlWorld, world: World, found: Found) -> list[Problem]:
    tool = world.tools[0]
    assert tool.program is not None
    problems: list[Problem] = []
    for witness in tool.program.witnesses:
        live.reset()
        result = live.call(tool.name, fitted(tool, witness.arguments))
        got = None if result.ok else (result.error or ("?", ""))[0]
        if got == witness.error:
            continue
        why = "" if result.ok or not result.error else f" ({result.error[1]})"
        wanted = witness.error or "success"
        known = _exists(live, world, witness.arguments)
        if known or not found.of(witness.error or ""):
            shown = (
                f"the example {witness.arguments} should end in {wanted}, but ends in {got or 'success'}{why}"
            )
            if not found.of(witness.error or ""):
                shown += f"; no other arguments were found that end in {wanted} either"
            problems.append(("witness", shown))
    return problems


def _exists(live: SqlWorld, world: World, arguments: Mapping[str, Json]) -> bool:
    """Whether every row that the arguments name is there; without such arguments the example stands as it is said."""
    about = world.words.tools[world.tools[0].name].arguments
    keys = [
        (about[name].source, value)
        for name, value in arguments.items()
        if name in about and about[name].source
    ]
    for source, value in keys:
        table, _, column = source.partition(".")
        if not live.ask(f'select 1 from "{table}" where "{column}" = :value', {"value": value}, limit=1):
            return False
    return bool(keys)


def _with_witnesses(live: SqlWorld, world: World, entry: dict[str, Any], found: Found) -> dict[str, Any]:
    """The entry with the examples that hold, and those that the search found."""
    tool = world.tools[0]

    def holding(code: str | None, given: Sequence[Json]) -> list[dict[str, Json]]:
        kept: list[dict[str, Json]] = []
        for arguments in [*(fitted(tool, one) for one in given), *found.of(code or "")]:
            live.reset()
            result = live.call(tool.name, arguments)
            got = None if result.ok else (result.error or ("?", ""))[0]
            if got == code and arguments not in kept:
                kept.append(arguments)
        return kept

    steps = [
        {**step, "try": holding(step["error"]["code"], step["try"])} if "error" in step else step
        for step in entry["program"]
    ]
    return {**entry, "program": steps, "try": holding(None, entry["try"])}


def _effective(live: SqlWorld, world: World, given: Sequence[dict[str, Json]]) -> bool:
    for arguments in given:
        live.reset()
        if live.call(world.tools[0].name, arguments).ok and live.changes():
            return True
    return False


def _short(text: str) -> str:
    """An error without the path to it, which means nothing to a model."""
    return re.sub(r"^World [^:]*?(?:, tool \w+)?(?:, (?:step \d+|the last step))?: ", "", text)[:600]
