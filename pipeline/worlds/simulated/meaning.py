"""What a tool's name and arguments say about it, read by rules: what it does, to which kind of thing."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from pipeline.records import Json, ToolSpec

Deed = Literal["list", "get", "create", "update", "delete"]

_VERBS: Mapping[str, Deed] = {
    **dict.fromkeys(("list", "search", "find", "query", "browse"), "list"),
    **dict.fromkeys(("get", "show", "describe", "read", "fetch", "view", "retrieve", "lookup"), "get"),
    **dict.fromkeys(("create", "add", "new", "insert", "register", "post"), "create"),
    **dict.fromkeys(("update", "edit", "modify", "patch", "change"), "update"),
    **dict.fromkeys(("delete", "remove", "destroy"), "delete"),
}
_LINKS = frozenset(
    "a an the of for from in on to by with and all my me your id ids key keys details info".split()
)
_PIECE = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


@dataclass(frozen=True, slots=True)
class Meaning:
    """A tool's deed and the noun it is done to, singular, in snake case."""

    deed: Deed
    noun: str


def pieces(name: str) -> list[str]:
    """The words of a name in any spelling: `linear_createIssue` is linear, create, issue."""
    return [piece.lower() for piece in _PIECE.findall(name)]


def snake(name: str) -> str:
    return "_".join(pieces(name))


def singular(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if re.search(r"(ss|sh|ch|x|z)es$", word):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith(("ss", "us", "is")) else word


def plural(word: str) -> str:
    if word.endswith("y") and word[-2:-1] not in "aeiou":
        return word[:-1] + "ies"
    return word + ("es" if re.search(r"(s|sh|ch|x|z)$", word) else "s")


def meanings(tools: Sequence[ToolSpec]) -> dict[str, Meaning]:
    """The meaning of each tool of one server that can be read; a word that starts most names is the server's own."""
    words = {tool.name: pieces(tool.name) for tool in tools}
    firsts = Counter(parts[0] for parts in words.values() if parts)
    common = {word for word, count in firsts.items() if count > 0.6 * len(tools) and word not in _VERBS}
    found = {}
    for tool in tools:
        parts = [word for word in words[tool.name] if word not in common]
        meaning = _meaning(parts, tool)
        if meaning is not None:
            found[tool.name] = meaning
    return found


def _meaning(parts: Sequence[str], tool: ToolSpec) -> Meaning | None:
    place = next((i for i, word in enumerate(parts) if word in _VERBS), None)
    if place is None:
        return None
    deed, rest = _VERBS[parts[place]], [*parts[:place], *parts[place + 1 :]]
    many = "list" in rest or "all" in rest
    rest = [word for word in rest if word not in _LINKS and word != "list"]
    if not rest or len(rest) > 3:
        return None
    noun = "_".join([*rest[:-1], singular(rest[-1])])
    if deed == "get" and (many or (singular(rest[-1]) != rest[-1] and identifier(tool, noun) is None)):
        deed = "list"
    return Meaning(deed, noun)


def properties(tool: ToolSpec) -> dict[str, dict[str, Json]]:
    found = tool.input_schema.get("properties") or {}
    return {name: about for name, about in found.items() if isinstance(about, dict)}


def required(tool: ToolSpec) -> frozenset[str]:
    return frozenset(tool.input_schema.get("required") or ())


def identifier(tool: ToolSpec, noun: str) -> str | None:
    """The argument that says which one is meant."""
    names = {snake(name): name for name in properties(tool)}
    last = noun.rpartition("_")[2]
    for wanted in (f"{noun}_id", f"{last}_id", "id", f"{noun}_key", f"{last}_key", "key", f"{noun}_name"):
        if wanted in names and (wanted != "key" or names[wanted] in required(tool)):
            return names[wanted]
    return None


def kind(about: Mapping[str, Json]) -> str:
    """The one JSON type of an argument, null aside; empty where there are several."""
    given = about.get("type")
    types: Iterable[Json] = given if isinstance(given, list) else [given]
    options = about.get("anyOf") or about.get("oneOf")
    if about.get("type") is None and isinstance(options, list):
        types = [one.get("type") for one in options if isinstance(one, dict)]
    found = {str(one) for one in types if one not in (None, "null")}
    return found.pop() if len(found) == 1 else ""
