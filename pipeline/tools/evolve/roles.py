"""What an archetype calls things, and what a domain calls them: the names that templates see."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from typing import Any

from pipeline.records import Json
from pipeline.tools.evolve.template import ARTICLES
from pipeline.tools.evolve.vocabulary import Field, Noun, Thing, Vocabulary, quoted, rows_of
from pipeline.worlds.sql.image import shared_lists

MOST_FIELDS = 3
STAFF = 6


class Roles:
    """The names of one world: for each role (say `item`) a family of template variables.

    `item`, `items`, `a_item`: the noun; `item_id`, `item_t`, `item_c`, `item_p`: id column, table, name column, prefix
    of ids; `item_up`: the noun in an error code. Of sites, staff and things also `item_rows`: a table expression of their names
    (`key`, `value`); `item_unit`, `item_units`; `item_low`, `item_high`: prices; and of their fields `item_ddl`,
    `item_cols`, `item_vals` (drawn), `item_first` (a new row's), `item_where`, `item_said`, each empty when there are none.
    """

    def __init__(self, roles: Mapping[str, str], words: Vocabulary, rng: random.Random) -> None:
        self.context: dict[str, Any] = {}
        self.fields: dict[str, tuple[Field, ...]] = {}
        self.lists: dict[str, list[Json]] = {}
        prefixes: set[str] = set()
        nouns = [words.noun(slot) for slot in roles.values()]
        named = {form for noun in nouns for form in (noun.column, noun.table)}
        for role, slot in roles.items():
            noun = words.noun(slot)
            self._name(role, noun, _prefix(noun, prefixes))
            if slot == "site":
                self.context |= {f"{role}_rows": rows_of(words.sites), f"{role}_names": list(words.sites)}
            if slot == "staff":
                self.context |= {f"{role}_rows": rows_of(_people(rng)), f"{role}_count": STAFF}
            if slot in words.things:
                self._describe(role, words.things[slot], named, rng)
        vowels = "|".join(re.escape(noun.one) for noun in nouns if noun.a.startswith("an "))
        if vowels:
            self.context[ARTICLES] = re.compile(rf"\b([Aa]) ({vowels})\b")

    def _name(self, role: str, noun: Noun, prefix: str) -> None:
        self.context |= {
            role: noun.one,
            f"{role}s": noun.many,
            f"a_{role}": noun.a,
            f"{role}_id": f"{noun.column}_id",
            f"{role}_t": noun.table,
            f"{role}_c": noun.column,
            f"{role}_p": prefix,
            f"{role}_up": noun.column.upper(),
        }

    def _describe(self, role: str, thing: Thing, named: set[str], rng: random.Random) -> None:
        fields = tuple(one for one in thing.fields if one.name not in named)
        count = min(len(fields), rng.randint(1, MOST_FIELDS))
        chosen = tuple(one for one in fields if one in rng.sample(fields, count))
        named.update(one.name for one in chosen)
        self.fields[role] = chosen
        self.lists |= {one.name: list(one.values) for one in chosen if one.values}
        names = list(thing.names)
        rng.shuffle(names)
        self.context |= {
            f"{role}_rows": rows_of(tuple(names)),
            f"{role}_names": names,
            f"{role}_count": len(names),
            f"{role}_unit": thing.unit.one,
            f"{role}_units": thing.unit.many,
            f"{role}_low": thing.low,
            f"{role}_high": thing.high,
            f"{role}_ddl": "".join(f", {_column(one)}" for one in chosen),
            f"{role}_cols": "".join(f", {one.name}" for one in chosen),
            f"{role}_vals": "".join(f", {_value(one)}" for one in chosen),
            f"{role}_first": "".join(f", {_first(one)}" for one in chosen),
            f"{role}_where": "".join(f" and {_filter(one)}" for one in chosen),
            f"{role}_said": "".join(f", {_said(one)}" for one in chosen),
        }

    def filters(self, role: str) -> dict[str, Json]:
        """Optional arguments by which a tool filters the things of a role."""
        found: dict[str, Json] = {}
        for one in self.fields.get(role, ()):
            if one.values:
                found[one.name] = {
                    "type": "string",
                    "enum": ["any", *one.values],
                    "default": "any",
                    "description": f"Only those with this {one.label}.",
                    "called": f"the {one.label}",
                    "said": [
                        f"{one.label}: {{value}}",
                        f"the {one.label} should be {{value}}",
                        f"with {{value}} as {one.label}",
                    ],
                }
            else:
                found[f"min_{one.name}"] = {
                    "type": "integer",
                    "minimum": 0,
                    "default": 0,
                    "description": f"Least {one.label} in {one.unit}.",
                    "called": f"the least {one.label} in {one.unit}",
                    "said": [
                        f"at least {{value}} {one.unit}",
                        f"{{value}} {one.unit} or more",
                        f"{one.label} of {{value}} {one.unit} upwards",
                    ],
                }
        return found


def _people(rng: random.Random) -> tuple[str, ...]:
    """Different full names."""
    lists = shared_lists()
    given = rng.sample(lists["given_name"], STAFF)
    return tuple(
        f"{one} {other}" for one, other in zip(given, rng.sample(lists["family_name"], STAFF), strict=True)
    )


def _prefix(noun: Noun, taken: set[str]) -> str:
    letters = noun.column.replace("_", "").upper()
    found = next(p for p in (letters[0], letters[:2], letters[:3], letters[:4]) if p not in taken)
    taken.add(found)
    return found


def _column(one: Field) -> str:
    if one.values:
        return f"{one.name} text not null check({one.name} in ({','.join(map(quoted, one.values))}))"
    return f"{one.name} integer not null check({one.name} between {one.low} and {one.high})"


def _value(one: Field) -> str:
    if one.values:
        return f"pick('{one.name}', key)"
    return f"whole({one.low}, {one.high}, '{one.name}', key)"


def _first(one: Field) -> str:
    return quoted(one.values[0]) if one.values else str(one.low)


def _filter(one: Field) -> str:
    if one.values:
        return f"(:{one.name} = 'any' or {one.name} = :{one.name})"
    return f"{one.name} >= :min_{one.name}"


def _said(one: Field) -> str:
    return f"{{{one.name}}}" if one.values else f"{one.label} {{{one.name}}} {one.unit}"
