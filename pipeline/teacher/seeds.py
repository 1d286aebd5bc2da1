"""Rows for tables that were derived from tools: plausible, distinct where people tell rows apart, equal for equal seeds."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any

from pipeline.assets import asset
from pipeline.records import Json
from pipeline.worlds.simulated.entities import Column, Entity
from pipeline.worlds.sql.image import shared_lists
from pipeline.yaml_files import parse_yaml

CLOCK = "2026-03-02T09:00:00"
ROWS = 9
"""Rows of one table."""
_PEOPLE = (
    "assignee",
    "owner",
    "author",
    "reporter",
    "user",
    "lead",
    "manager",
    "member",
    "contact",
    "person",
)
_PROSE = (
    "description",
    "notes",
    "note",
    "body",
    "text",
    "content",
    "comment",
    "message",
    "reason",
    "markdown",
    "caption",
    "goal",
    "instructions",
    "rationale",
)


@lru_cache(maxsize=1)
def played_words() -> Mapping[str, Any]:
    """The lists of `tools_repo/played.yaml`."""
    data: Mapping[str, Any] = parse_yaml(asset("tools_repo/played.yaml").read_text(encoding="utf-8"))
    return data


class Seeds:
    """Makes rows for a set of entities. Rows of parents come first, so that references hold."""

    def __init__(self, entities: Sequence[Entity], seed: str) -> None:
        self.entities = {entity.noun: entity for entity in entities}
        self._rng = random.Random(f"seeds/{seed}")
        self._keys = {entity.noun: [_key(entity, n) for n in range(1, ROWS + 1)] for entity in entities}
        self._titles: dict[str, list[str]] = {}

    def rows(self) -> dict[str, tuple[dict[str, Json], ...]]:
        """All rows by table."""
        return {
            entity.table: tuple(
                {entity.key: key, **{c.name: self.value(entity, c, n) for c in entity.columns}}
                for n, key in enumerate(self._keys[entity.noun])
            )
            for entity in self.entities.values()
        }

    def value(self, entity: Entity, column: Column, number: int) -> Json:
        """A value for a column of the `number`-th row (from 0)."""
        rng, name, words = self._rng, column.name, played_words()
        if column.refers in self.entities:
            if column.refers == entity.noun:
                return None
            return rng.choice(self._keys[column.refers][:4])
        if column.choices:
            return rng.choice(column.choices)
        if column.type == "integer":
            flag = name.startswith(("is_", "has_")) or name.endswith(
                ("ed", "able", "private", "public", "active")
            )
            return rng.randint(0, 1) if flag else rng.randint(1, 20)
        if column.type == "real":
            return round(rng.uniform(5, 400), 2)
        if column == entity.named:
            return self._title(entity)
        if "email" in name:
            return f"{_plain(rng.choice(shared_lists()['given_name']))}{rng.randint(1, 99)}@example.org"
        if name.endswith(("url", "link", "uri", "href")):
            return f"https://example.org/{entity.noun}/{number + 1}"
        if name.endswith(("date", "_on", "_at", "deadline", "start", "end", "since", "until", "due")):
            day = datetime.fromisoformat(CLOCK) + timedelta(days=rng.randint(-20, 40))
            return f"{day:%Y-%m-%d}"
        if "color" in name:
            return rng.choice(words["colors"])
        if any(word in name for word in ("severity", "priority", "level", "importance", "urgency")):
            return rng.choice(words["grades"])
        if any(word in name for word in ("status", "state")):
            return rng.choice(words["statuses"])
        if any(word in name for word in ("type", "kind", "category", "visibility", "mode")):
            return rng.choice(words["kinds"])
        if any(word in name for word in ("tag", "label")):
            return rng.choice(words["tags"])
        if any(word in name for word in _PEOPLE):
            return f"{rng.choice(shared_lists()['given_name'])} {rng.choice(shared_lists()['family_name'])}"
        if any(word in name for word in _PROSE):
            return rng.choice(words["sentences"])
        if any(word in name for word in ("city", "location", "region", "place")):
            return rng.choice(shared_lists()["city"])
        if name.endswith(("key", "code", "id", "slug", "number")):
            return f"{name[:3].upper()}{rng.randint(100, 999)}"
        return rng.choice(words["titles"]).lower()

    def _title(self, entity: Entity) -> str:
        """A name that no other row of the table has."""
        left = self._titles.get(entity.noun)
        if not left:
            left = self._titles[entity.noun] = list(played_words()["titles"])
            random.Random(f"{entity.noun}/{self._rng.random()}").shuffle(left)
        return left.pop()


def _key(entity: Entity, number: int) -> Json:
    return 100 + number if entity.integer_key else f"{prefix(entity)}-{100 + number}"


def prefix(entity: Entity) -> str:
    """How the keys of an entity's rows begin."""
    letters = [word[0] for word in entity.noun.split("_")]
    return ("".join(letters) if len(letters) > 2 else entity.noun.replace("_", "")[:3]).upper()


def _plain(name: str) -> str:
    return "".join(letter for letter in name.lower() if letter.isascii() and letter.isalpha()) or "someone"
