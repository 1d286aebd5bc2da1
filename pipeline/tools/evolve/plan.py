"""Which worlds to make: archetypes times vocabularies, with choices that differ from world to world."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from functools import lru_cache

from pipeline.records import ConfigError, Json
from pipeline.tools.evolve.archetype import Archetype, archetypes, part
from pipeline.tools.evolve.making import Blueprint
from pipeline.tools.evolve.vocabulary import Vocabulary, vocabularies

EDITIONS = 4
"""How often one archetype meets one domain at most."""
_DRAWS = 40


@lru_cache(maxsize=8)
def plan(tools: int, seed: int = 7) -> tuple[Blueprint, ...]:
    """Blueprints of so many worlds that they hold at least `tools` tools; a prefix of the plan for more tools.

    Raises ConfigError when archetypes and vocabularies do not give that many.
    """
    found, have = [], 0
    for blueprint in _blueprints(seed):
        if have >= tools:
            break
        found.append(blueprint)
        have += blueprint.tools
    if have < tools:
        raise ConfigError(
            f"evolve.tools asks for {tools} tools; archetypes and vocabularies give {have}.",
            way_out="Ask for fewer, or add a file to tools_repo/archetypes or tools_repo/vocabularies.",
        )
    return tuple(found)


def _blueprints(seed: int) -> Iterator[Blueprint]:
    """Diagonals of the grid archetype x domain: every prefix covers all archetypes and domains evenly."""
    rng = random.Random(f"plan/{seed}")
    kinds, domains = list(archetypes()), list(vocabularies())
    rng.shuffle(kinds)
    rng.shuffle(domains)
    seen: dict[str, set[tuple[Json, ...]]] = {kind.name: set() for kind in kinds}
    for edition in range(EDITIONS):
        for step in range(len(kinds)):
            for number, words in enumerate(domains):
                kind = kinds[(number + step) % len(kinds)]
                yield _blueprint(kind, words, edition, seed, seen[kind.name])


def _blueprint(
    kind: Archetype, words: Vocabulary, edition: int, seed: int, seen: set[tuple[Json, ...]]
) -> Blueprint:
    """Choices that no earlier world of the archetype made, as long as there are some."""
    rng = random.Random(f"choices/{seed}/{kind.name}/{words.domain}/{edition}")
    for _ in range(_DRAWS):
        parts = _parts(kind, rng)
        choices = {name: rng.choice(values) for name, values in _choices(kind, parts).items()}
        key = (*sorted(parts), *choices.values())
        if key not in seen:
            break
    seen.add(key)
    return Blueprint(
        kind, words, {**{name: name in parts for name in kind.optional}, **choices}, parts, edition
    )


def _parts(kind: Archetype, rng: random.Random) -> tuple[str, ...]:
    wanted = rng.sample(kind.optional, rng.randint(kind.least, kind.most)) if kind.optional else []
    return tuple(name for name in kind.optional if name in wanted)


def _choices(kind: Archetype, parts: Sequence[str]) -> dict[str, Sequence[Json]]:
    found: dict[str, Sequence[Json]] = {}
    for name in (*kind.parts, *parts):
        found |= part(name).get("choices", {})
    return {**found, **kind.choices}
