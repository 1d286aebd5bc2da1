"""What shaped a trajectory, by version: a changed one refuses to go on with what another has begun."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

import pipeline
from pipeline.config.models import Role
from pipeline.models.prompts import shipped
from pipeline.records import RunError, Versions

_SHAPING = ("records", "worlds", "tasks", "rollout", "teacher", "models")
"""Packages whose code decides what happens in an episode."""
_PROMPTS: dict[Role, tuple[str, ...]] = {"user": ("user/turn", "user/again")}
_AFTERWARDS = {"judge"}
"""Fields that shape a verdict, not the episode."""


@lru_cache(maxsize=1)
def code_revision() -> str:
    """The package's version and a hash of the code that shapes episodes."""
    digest = hashlib.blake2b(digest_size=5)
    root = Path(pipeline.__file__).parent
    for package in _SHAPING:
        for path in sorted((root / package).rglob("*.py")):
            digest.update(f"{path.relative_to(root)}\0".encode() + path.read_bytes())
    return f"{pipeline.__version__}+{digest.hexdigest()}"


def prompts_of(roles: Mapping[Role, str]) -> dict[str, str]:
    """Name to hash of the prompts of the roles that models play in an episode."""
    names = [
        name for role, names in _PROMPTS.items() if roles.get(role, "teacher") != "teacher" for name in names
    ]
    return {name: shipped().get(name).hash for name in names}


def changed(before: Versions, now: Versions) -> list[str]:
    """What differs, in words: `policy was small and is large`."""
    found = []
    old, new = _flat(before), _flat(now)
    for field in sorted(old.keys() | new.keys()):
        if field not in _AFTERWARDS and old.get(field) != new.get(field):
            found.append(f"{field} was {old.get(field) or 'none'} and is {new.get(field) or 'none'}")
    return found


def _flat(versions: Versions) -> dict[str, str]:
    values = versions.model_dump(mode="json")
    prompts = values.pop("prompts")
    return {
        **{name: str(value) for name, value in values.items()},
        **{f"prompt {name}": value for name, value in prompts.items()},
    }


def refuse_changed(begun: Mapping[str, tuple[Versions, Versions]]) -> None:
    """Raises RunError when a begun trajectory (by id: the versions then and now) would go on under other versions."""
    found = {name: changed(before, now) for name, (before, now) in begun.items()}
    found = {name: fields for name, fields in found.items() if fields}
    if not found:
        return
    name, fields = next(iter(found.items()))
    more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
    raise RunError(
        f"Trajectory {name}{more} was begun under other versions: {'; '.join(fields)}.",
        way_out="Go on with the versions that began it, or accept the change: `tracemill resume RUN --accept-changes`.",
    )
