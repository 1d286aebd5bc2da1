"""Whether people can talk about a world: the texts that docs/worlds.md asks for are there and fit the tools."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from pipeline.records import ToolSpec, ToolWords, World

PLACEHOLDER = re.compile(r"\{(\w+)\}")


def language_problems(world: World) -> Iterator[tuple[str, str]]:
    """(where, message) for each text that is missing or names something that does not exist."""
    words = world.words
    for part, least, found in (
        ("agent", 3, words.agent),
        ("asides", 10, words.asides),
        ("policy_questions", 4, words.policy_questions),
        ("out_of_scope", 4, words.out_of_scope),
    ):
        if len(found) < least:
            yield "words", f"{part} has {len(found)} entries, needs {least}"
    for tool in world.tools:
        yield from (
            (tool.name, message) for message in _tool_problems(tool, words.tools.get(tool.name, ToolWords()))
        )
    yield from _entity_problems(world)


def _tool_problems(tool: ToolSpec, words: ToolWords) -> Iterator[str]:
    arguments = set(tool.input_schema.get("properties", {}))
    schema = tool.output_schema or {}
    many = schema.get("type") == "array"
    row = schema.get("items", {}) if many else schema
    columns = set(row.get("properties", {}))
    for name in arguments:
        about = words.arguments.get(name)
        if about and about.known and not about.consent and not about.called:
            yield f"argument {name} has no `called`"
        if about and about.consent and tool.input_schema["properties"][name].get("type") != "boolean":
            yield f"argument {name} has `consent` but is no boolean"
        if about and about.known and not about.consent and len(about.said) < 2:
            yield f"argument {name} has fewer than two `said`"
        for text in about.said if about else ():
            if "{value}" not in text:
                yield f"argument {name}: `said` without {{value}}: {text!r}"
    writes = not tool.annotations.read_only
    if writes and len(words.ask) < 4:
        yield f"`ask` has {len(words.ask)} phrasings, needs 4"
    if writes and len(words.confirm) < 2:
        yield "`confirm` has fewer than two phrasings"
    if not many and len(words.done) < 2:
        yield "`done` has fewer than two sentences"
    if many and (not words.each or not words.none):
        yield "a list needs `each` and `none`"
    yield from _strangers("ask", words.ask, arguments)
    yield from _strangers("confirm", words.confirm, arguments)
    yield from _strangers("done", words.done, arguments | columns)
    yield from _strangers("each", (words.each,), arguments | columns)
    yield from _strangers("none", words.none, arguments)


def _strangers(part: str, texts: Iterable[str], known: set[str]) -> Iterator[str]:
    for text in texts:
        for name in PLACEHOLDER.findall(text):
            if name not in known:
                yield f"`{part}` names {{{name}}}, which is not known there: {text!r}"


def _entity_problems(world: World) -> Iterator[tuple[str, str]]:
    tables = {
        about.source.split(".")[0]
        for words in world.words.tools.values()
        for about in words.arguments.values()
        if about.source
    }
    for table in sorted(tables):
        entity = world.words.entities.get(table)
        if entity is None:
            yield "words", f"entities has no entry {table!r}, which `from` names"
        elif not entity.describe or not entity.vague:
            yield "words", f"entity {table} needs `describe` and `vague`"
