"""Archetypes: worlds with holes, in YAML. Parts are shared by several archetypes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml

from pipeline.assets import asset
from pipeline.records import ConfigError, Json
from pipeline.tools.evolve.template import holds
from pipeline.yaml_files import parse_yaml

_HEAD = {"archetype", "subdomain", "summary", "roles", "parts", "optional", "choices", "numbers", "verbs"}
_BODY = {
    "schema", "generate", "invariants", "policy", "shared", "tools", "entities", "questions", "unserved", "agent",
    "log_tables", "asides", "terms", "lists",
}  # fmt: skip


@dataclass(frozen=True)
class Archetype:
    """A kind of world. Several parts make one body, in the order: always present, its own, optional."""

    name: str
    subdomain: str
    summary: Json
    roles: Mapping[str, str]
    parts: tuple[str, ...]
    optional: tuple[str, ...]
    least: int
    most: int
    choices: Mapping[str, Sequence[Json]]
    numbers: Mapping[str, Sequence[Json]]
    body: Mapping[str, Any]

    def bodies(self, chosen: Sequence[str]) -> list[Mapping[str, Any]]:
        """What the world is put together from."""
        return [*(part(name) for name in self.parts), self.body, *(part(name) for name in chosen)]

    def tools(self, context: Mapping[str, Any], chosen: Sequence[str]) -> int:
        """How many tools a world of these choices has."""
        return sum(
            holds(tool.get("when", True), context)
            for body in self.bodies(chosen)
            for tool in body.get("tools", ())
        )


@lru_cache(maxsize=4)
def archetypes(folder: Path | None = None) -> tuple[Archetype, ...]:
    """All archetypes of `tools_repo/archetypes`. Raises ConfigError naming the file and what is wrong."""
    folder = folder or asset("tools_repo/archetypes")
    found = tuple(_archetype(path) for path in sorted(folder.glob("*.yaml")))
    if not found:
        raise ConfigError(f"There is no archetype (*.yaml) in {folder}.")
    return found


def _archetype(path: Path) -> Archetype:
    data = _read(path, _HEAD | _BODY)
    try:
        optional = data.get("optional", {})
        return Archetype(
            name=data["archetype"],
            subdomain=data["subdomain"],
            summary=data["summary"],
            roles=data["roles"],
            parts=tuple(data.get("parts", ())),
            optional=tuple(optional.get("of", ())),
            least=optional.get("least", 0),
            most=optional.get("most", 0),
            choices=data.get("choices", {}),
            numbers=data.get("numbers", {}),
            body={key: data[key] for key in data if key in _BODY},
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise ConfigError(f"The archetype {path.name} is incomplete: {error!r}.") from error


@lru_cache(maxsize=64)
def part(name: str) -> Mapping[str, Any]:
    """A part of `tools_repo/archetypes/parts`; its own choices and numbers included. Raises ConfigError."""
    return _read(asset("tools_repo/archetypes/parts") / f"{name}.yaml", _BODY | {"choices", "numbers"})


def _read(path: Path, known: set[str]) -> dict[str, Any]:
    try:
        data = parse_yaml(path.read_text(encoding="utf-8"))
    except (OSError, yaml.YAMLError) as error:
        raise ConfigError(f"The archetype {path} cannot be read: {error}.") from error
    if not isinstance(data, dict) or set(data) - known:
        strange = sorted(set(data) - known) if isinstance(data, dict) else "no mapping"
        raise ConfigError(f"The archetype {path} has unknown keys: {strange}.")
    return data
