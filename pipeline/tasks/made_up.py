"""Arguments made up from a tool's listing: values that its schema allows and a person could ask for."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping

import jsonschema_rs

from pipeline.records import Json, ToolSpec
from pipeline.worlds.simulated.meaning import pieces, properties, required

SPARE = 0.3
"""Chance that an argument which may be left out is given."""
_EXAMPLE = re.compile(
    r"(?:e\.g\.,?|for example,?|such as|examples?:|like)\s*((?:[`'\"][^`'\"\n]{1,40}[`'\"](?:,?\s*(?:or\s+|and\s+)?)?)+)", re.IGNORECASE
)  # fmt: skip
_QUOTED = re.compile(r"[`'\"]([^`'\"\n]{1,40})[`'\"]")
_WORDS: tuple[tuple[frozenset[str], tuple[str, ...]], ...] = (
    (frozenset({"timezone", "zone", "tz"}), ("Europe/Oslo", "Asia/Tokyo", "Africa/Nairobi", "Australia/Sydney")),
    (frozenset({"date", "day"}), ("2026-03-14", "2026-04-02", "2026-05-21")),
    (frozenset({"time", "clock"}), ("07:45", "14:30", "21:10")),
    (frozenset({"path", "file", "filename", "filepath"}), ("harvest.txt", "orders.txt", "packing-list.txt")),
    (frozenset({"directory", "folder", "dir"}), ("drafts", "archive", "shared")),
    (frozenset({"pattern", "glob"}), ("*.txt", "*list*")),
    (frozenset({"expression", "formula", "equation"}), ("12 * 7", "(48 - 6) / 3", "2 ** 10", "17.5 + 3.25")),
    (frozenset({"city", "location", "place"}), ("Bergen", "Lyon", "Nairobi")),
    (frozenset({"language", "lang", "locale"}), ("en", "de", "fr")),
    (frozenset({"currency"}), ("EUR", "NOK", "JPY")),
    (frozenset({"content", "contents", "text", "body", "note", "insight", "description"}), (
        "Twelve crates of pears are ready.", "The key hangs behind the door.", "Call the joiner before noon.",
    )),
    (frozenset({"message", "title", "subject"}), ("The gate stays open", "Pears are here", "Back at seven")),
    (frozenset({"name", "names", "query", "keyword", "term", "search"}), ("Alder", "Hazel", "Juniper", "Larch")),
)  # fmt: skip


class NotSayable(Exception):
    """No person could say a value for this argument in a sentence."""


def arguments_for(tool: ToolSpec, rng: random.Random, pool: dict[str, Json]) -> dict[str, Json]:
    """Arguments for one call. `pool` holds what arguments of a name have got already, so that what one call writes
    another can read. Raises NotSayable, naming the argument, where a required one is nested or of no known kind."""
    needed = required(tool)
    found: dict[str, Json] = {}
    for name, schema in properties(tool).items():
        if name not in needed and rng.random() >= SPARE:
            continue
        if name not in pool or not jsonschema_rs.is_valid(schema, pool[name]):
            try:
                pool[name] = value_for(name, schema, rng)
            except NotSayable:
                if name in needed:
                    raise
                continue
        found[name] = pool[name]
    return found


def value_for(name: str, schema: Mapping[str, Json], rng: random.Random) -> Json:
    """A value of a schema: one that it lists or shows as an example, else one that fits its type and name."""
    about: Json = schema
    for key in ("anyOf", "oneOf"):
        if isinstance(schema.get(key), list):
            about = next((one for one in schema[key] if one.get("type") != "null"), schema)
    assert isinstance(about, dict)
    if "const" in about:
        return about["const"]
    for key in ("enum", "examples"):
        if isinstance(about.get(key), list) and about[key]:
            return rng.choice(about[key])
    kind = about.get("type")
    kind = next((one for one in kind if one != "null"), None) if isinstance(kind, list) else kind
    if kind == "boolean":
        return rng.random() < 0.5
    if kind in ("integer", "number"):
        return _number(about, rng)
    if kind == "array" and isinstance(about.get("items"), dict):
        one = value_for(name, about["items"], rng)
        if isinstance(one, list | dict):
            raise NotSayable(name)
        return [one]
    if kind == "string":
        return _text(name, str(schema.get("description") or about.get("description") or ""), about, rng)
    raise NotSayable(name)


def _number(schema: Mapping[str, Json], rng: random.Random) -> Json:
    least = schema.get("minimum", schema.get("exclusiveMinimum"))
    most = schema.get("maximum", schema.get("exclusiveMaximum"))
    low = int(least) + 1 if isinstance(least, int | float) else 2
    high = int(most) - 1 if isinstance(most, int | float) else low + 60
    return rng.randint(low, max(low, min(high, low + 60)))


def _text(name: str, description: str, schema: Mapping[str, Json], rng: random.Random) -> str:
    shown = [one for listed in _EXAMPLE.findall(description) for one in _QUOTED.findall(listed)]
    words = pieces(name)
    fitting = next((texts for known, texts in _WORDS if not known.isdisjoint(words)), ())
    pattern = schema.get("pattern")
    choices = [
        one
        for one in (shown or list(fitting) or ["Juniper"])
        if not isinstance(pattern, str) or _matches(pattern, one)
    ]
    if not choices:
        raise NotSayable(name)
    return str(rng.choice(choices))


def _matches(pattern: str, text: str) -> bool:
    try:
        return re.search(pattern, text) is not None
    except re.error:
        return False
