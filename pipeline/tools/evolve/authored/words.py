"""How people talk about an authored world: plain wordings made from its names, and the model's in their place."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from pipeline.models.players.author.answers import Phrases
from pipeline.models.players.author.settling import Checked, Problem
from pipeline.tools.evolve.authored.bodies import Proven
from pipeline.tools.evolve.authored.tables import Tables

_PLACE = re.compile(r"\{(\w+)\}")
_TELLING = re.compile(r"name|title|model|label|kind|type|date|day|starts|time|status|subject")


def with_words(base: dict[str, Any], tables: Tables, tools: Sequence[Proven]) -> dict[str, Any]:
    """The world file with wordings for every tool and for every table whose rows are named."""
    return {
        **base,
        "tools": [{**one.entry, **_plain(one)} for one in tools],
        "words": {
            "agent": [f"the assistant of {base['name'].replace('-', ' ')}"],
            "entities": {
                table: _entity(table, tables)
                for table in sorted(
                    {source.partition(".")[0] for one in tools for source in one.sources.values()}
                )
            },
        },
    }


def _plain(tool: Proven) -> dict[str, Any]:
    """Wordings of one tool that say its name and its values."""
    verb, _, rest = tool.name.partition("_")
    rest = rest.replace("_", " ")
    what = f"{verb} {rest}".strip()
    given = [f"{{{name}}}" for name in tool.entry["arguments"]]
    with_given = f" with {', '.join(given)}" if given else ""
    told = [name for name in tool.columns if name not in set(tool.sources)][:3] or list(tool.columns[:1])
    values = ", ".join(f"{name.replace('_', ' ')} {{{name}}}" for name in told)
    words: dict[str, Any] = {
        "ask": [
            f"{what}{with_given}",
            f"have you {what}{with_given}",
            f"{what}, please{with_given}",
            f"get help to {what}{with_given}",
        ],
    }
    if not tool.reads:
        words["confirm"] = [f"{what}{with_given}", f"go on and {what}{with_given}"]
    if "returns_many" in tool.entry["program"][-1]:
        words |= {"each": values, "none": ["There is nothing of the kind.", "Nothing was found."]}
    else:
        words["done"] = [f"Here it is: {values}.", f"That gives {values}."]
    return words


def _entity(table: str, tables: Tables) -> dict[str, Any]:
    """Ways to point at a row: by what tells it apart, and at last by all its plain columns."""
    noun = table.removesuffix("s").replace("_", " ")
    columns = [
        one.name for one in tables.columns[table] if not one.refers and one.name != tables.keys.get(table)
    ]
    telling = sorted(columns, key=lambda name: _TELLING.search(name) is None)
    describe = [f"the {noun} with {name.replace('_', ' ')} {{{name}}}" for name in telling[:4]]
    for count in (2, 3):
        parts = " and ".join(f"{name.replace('_', ' ')} {{{name}}}" for name in telling[:count])
        describe.append(f"the {noun} with {parts}")
    return {
        "noun": noun,
        "plural": table.replace("_", " "),
        "describe": describe or [f"the {noun}"],
        "vague": [f"one of the {table.replace('_', ' ')}", f"my {noun}"],
    }


def checked_phrases(tool: Proven, phrases: Phrases) -> Checked[Phrases]:
    """Every placeholder is known where it stands, and the result's sentences say a value."""
    arguments, columns = set(tool.entry["arguments"]), set(tool.columns)
    problems: list[Problem] = []
    for part, texts, known in (
        ("ask", phrases.ask, arguments),
        ("confirm", phrases.confirm, arguments),
        ("done", phrases.done, arguments | columns),
    ):
        for text in texts:
            for name in _PLACE.findall(text):
                if name not in known:
                    problems.append(("words", f"{part} names {{{name}}}; there it may name {sorted(known)}"))
    if not any(_PLACE.search(text) for text in phrases.done):
        problems.append(("words", "done says no value of the result; name a column in braces"))
    strange = sorted(set(phrases.called) - arguments)
    if strange:
        problems.append(("words", f"called names {strange[0]}, which is no argument"))
    return Checked(None if problems else phrases, problems)


def with_phrases(data: dict[str, Any], tool: Proven, phrases: Phrases) -> dict[str, Any]:
    """The world file with a model's wordings of one tool."""

    def changed(entry: dict[str, Any]) -> dict[str, Any]:
        if entry["name"] != tool.name:
            return entry
        new: dict[str, Any] = {"ask": list(phrases.ask)}
        if not tool.reads:
            new["confirm"] = list(phrases.confirm)
        if "each" in entry:
            new["each"] = max(phrases.done, key=lambda text: len(_PLACE.findall(text))).rstrip(".")
        else:
            new["done"] = list(phrases.done)
        arguments = {
            name: {**about, "called": phrases.called[name]}
            if name in phrases.called and "called" in about
            else about
            for name, about in entry["arguments"].items()
        }
        return {**entry, **new, "arguments": arguments}

    return {**data, "tools": [changed(entry) for entry in data["tools"]]}
