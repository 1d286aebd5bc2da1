"""The language of domains: nouns, things, fields, and what people say. One YAML file per category."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml

from pipeline.assets import asset
from pipeline.records import ConfigError, Json
from pipeline.yaml_files import parse_yaml

NOUNS = ("who", "staff", "site")
"""Slots that are a noun alone."""
THINGS = ("service", "goods", "device", "issue", "paper", "plan", "course", "request", "job")
"""Slots that are a noun with names and fields."""
_TEXTS = ("orgs", "because", "asides")
_KEYS = {*NOUNS, *THINGS, *_TEXTS, "unserved", "sites"}
TAKEN = frozenset(
    "name status state price starts ends day at note amount priority quantity stock reason kind number email phone"
    " postcode born minutes seats paid total cost created due since until city text value key id date".split()
)
"""Columns of archetypes, which no field may be named like."""


@dataclass(frozen=True)
class Noun:
    """A countable noun in the forms that texts and tables need."""

    one: str
    many: str

    @staticmethod
    def of(text: str) -> Noun:
        """`visit`, or `person/people` where the plural is no rule's."""
        one, _, many = text.partition("/")
        return Noun(one.strip(), many.strip() or _plural(one.strip()))

    def __str__(self) -> str:
        return self.one

    @property
    def a(self) -> str:
        word = self.one.lower()
        vowel = word[0] in "aeiou" and not re.match(r"(uni(?!n)|use|one|eu)", word)
        return f"an {self.one}" if vowel or re.match(r"(hour|heir|honor|hono[u]r)", word) else f"a {self.one}"

    @property
    def column(self) -> str:
        return slug(self.one)

    @property
    def table(self) -> str:
        return slug(self.many)


@dataclass(frozen=True)
class Field:
    """A column that a domain adds: one of `values`, or a whole number between `low` and `high` in `unit`s."""

    name: str
    values: tuple[str, ...] = ()
    low: int = 0
    high: int = 0
    unit: str = ""

    @property
    def label(self) -> str:
        return self.name.replace("_", " ")


@dataclass(frozen=True)
class Thing:
    """What a domain has many of."""

    noun: Noun
    names: tuple[str, ...]
    fields: tuple[Field, ...] = ()
    unit: Noun = field(default_factory=lambda: Noun.of("piece"))
    low: float = 5
    high: float = 90
    """Bounds of prices."""


@dataclass(frozen=True)
class Vocabulary:
    """The language of one domain of a category."""

    category: str
    domain: str
    orgs: tuple[str, ...]
    nouns: Mapping[str, Noun]
    things: Mapping[str, Thing]
    sites: tuple[str, ...]
    because: tuple[str, ...]
    asides: tuple[str, ...]
    unserved: tuple[Mapping[str, Json], ...]

    def noun(self, slot: str) -> Noun:
        return self.nouns[slot] if slot in self.nouns else self.things[slot].noun


def slug(text: str) -> str:
    """A column's or table's name."""
    return re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_")


def _plural(noun: str) -> str:
    if re.search(r"(s|x|z|ch|sh)$", noun):
        return noun + "es"
    if re.search(r"[^aeiou]y$", noun):
        return noun[:-1] + "ies"
    return noun + "s"


@lru_cache(maxsize=4)
def vocabularies(folder: Path | None = None) -> tuple[Vocabulary, ...]:
    """All domains of `tools_repo/vocabularies`, in the order of files. Raises ConfigError naming file and domain."""
    folder = folder or asset("tools_repo/vocabularies")
    found: list[Vocabulary] = []
    for path in sorted(folder.glob("*.yaml")):
        found.extend(_category(path))
    if not found:
        raise ConfigError(f"There is no vocabulary (*.yaml) in {folder}.")
    return tuple(found)


def _category(path: Path) -> Iterator[Vocabulary]:
    try:
        data = parse_yaml(path.read_text(encoding="utf-8"))
        for domain, entry in data["domains"].items():
            where = f"{path.name}, {domain}"
            try:
                yield _vocabulary(data, domain, entry)
            except (KeyError, TypeError, ValueError, AttributeError) as error:
                raise ConfigError(f"{where}: {type(error).__name__} {error}.") from error
    except (OSError, yaml.YAMLError, KeyError, TypeError, AttributeError) as error:
        raise ConfigError(f"The vocabulary {path.name} cannot be read: {error!r}.") from error


def _vocabulary(data: Mapping[str, Any], domain: str, entry: Mapping[str, Any]) -> Vocabulary:
    unknown = set(entry) - _KEYS
    if unknown:
        raise ValueError(f"unknown {sorted(unknown)}")
    made = Vocabulary(
        category=data["category"],
        domain=domain,
        orgs=tuple(entry["orgs"]),
        nouns={slot: Noun.of(entry[slot]) for slot in NOUNS},
        things={slot: _thing(entry[slot]) for slot in THINGS},
        sites=tuple(entry.get("sites") or data.get("sites") or _SITES),
        because=tuple(entry["because"]),
        asides=(*entry["asides"], *data["asides"]),
        unserved=(*entry.get("unserved", ()), *data["unserved"]),
    )
    tables = [made.noun(slot).table for slot in (*NOUNS, *THINGS)]
    twice = {name for name in tables if tables.count(name) > 1}
    if twice:
        raise ValueError(f"two slots share the noun {sorted(twice)[0]!r}")
    columns = [made.noun(slot).column for slot in (*NOUNS, *THINGS)]
    reserved = {*columns, *tables} & (_KEYWORDS | TAKEN)
    if reserved:
        raise ValueError(
            f"the noun {sorted(reserved)[0]!r} is a word of SQL or of the archetypes; take two words"
        )
    return made


_KEYWORDS = frozenset(
    "add all alter and as begin between by case check column commit create default delete desc distinct drop each else end"
    " escape except exists for foreign from group having if in index insert into is join key left like limit match natural"
    " not null of on or order outer over plan primary query range references release rename replace right row rows select"
    " set table temp then to transaction trigger union unique update using values view virtual when where window with"
    " slots waiting ratings notices vouchers holds stocks batches replies evidence links lendings accounts claims contracts"
    " extras chosen dates signups proofs roles comments copies corrections permissions vans abilities stops orders lines"
    " sent_back reviews invoices payments disputes programs faults readings acts workers shifts absences swaps subscriptions"
    " posts answers circles polls votes audit bookings appointments reservations booking appointment reservation changes"
    " numbers skills circle_members".split()
)
_SITES = ("Old Town", "Riverside", "Northgate", "Station Square", "Hillcrest")


def _thing(entry: Mapping[str, Any]) -> Thing:
    low, high = entry.get("price", (5, 90))
    thing = Thing(
        noun=Noun.of(entry["noun"]),
        names=tuple(entry["names"]),
        fields=tuple(_field(name, value) for name, value in entry.get("fields", {}).items()),
        unit=Noun.of(entry.get("unit", "piece")),
        low=low,
        high=high,
    )
    if len(set(thing.names)) < 4:
        raise ValueError(f"{thing.noun.one} has fewer than four names")
    return thing


def _field(name: str, value: Any) -> Field:
    if name in TAKEN or name != slug(name):
        raise ValueError(f"no field can be named {name!r}")
    if all(isinstance(one, str) for one in value):
        if len(value) < 2:
            raise ValueError(f"the field {name} has one value only")
        return Field(name, values=tuple(value))
    low, high, unit = value
    if isinstance(low, bool) or not (isinstance(low, int) and isinstance(high, int) and low < high):
        raise ValueError(f"the field {name} is neither a list of texts nor [low, high, unit]")
    return Field(name, low=int(low), high=int(high), unit=str(unit))


def quoted(text: str) -> str:
    """A text as SQL literal."""
    return "'" + text.replace("'", "''") + "'"


def rows_of(names: tuple[str, ...]) -> str:
    """A table expression with `key` (from 0) and `value`."""
    rows = (f"select {key} as key, {quoted(name)} as value" for key, name in enumerate(names))
    return f"({' union all '.join(rows)})"
