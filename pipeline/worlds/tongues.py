"""Worlds in other languages: a pack translates the words of some tools of some worlds, and only those are used.

Data, tools and ids stay as they are; what has no translation is left out, so that no sentence mixes languages.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property, lru_cache
from typing import Any

from pipeline.assets import asset
from pipeline.records import ArgumentWords, EntityWords, Question, ToolWords, Words, World, content_id
from pipeline.worlds.mixed import MixedWorld, compose
from pipeline.yaml_files import parse_yaml

LANGUAGES = ("de", "es", "fr")
"""Languages with a pack in `tools_repo/speech`, besides English."""


class SpokenWorld(World):
    """A world whose people speak another language. For those who find words; hosts and judges use the world itself."""

    language: str

    @cached_property
    def id(self) -> str:
        return content_id(
            "spoken", [self.name, self.language, self.words.model_dump(mode="json"), self.clock]
        )


def tongue_of(world: World) -> str:
    """The language that a world's people speak."""
    first = world.parts[0] if isinstance(world, MixedWorld) else world
    return first.language if isinstance(first, SpokenWorld) else "en"


@lru_cache(maxsize=8)
def pack(language: str) -> Mapping[str, Any]:
    """A language's pack: `agent` and `user` (grammars), `which` and `the`."""
    data: Mapping[str, Any] = parse_yaml(
        asset(f"tools_repo/speech/{language}.yaml").read_text(encoding="utf-8")
    )
    return data


@lru_cache(maxsize=1)
def _translated_worlds() -> Mapping[str, Mapping[str, Any]]:
    """By world and language: `entities`, `asides`, `tools`, `policy_questions` (`tools_repo/speech/worlds`)."""
    files = sorted(asset("tools_repo/speech/worlds").glob("*.yaml"))
    return {file.stem: parse_yaml(file.read_text(encoding="utf-8")) for file in files}


def speaks(world: World, language: str) -> bool:
    """Whether a world can be had in a language."""
    return language == "en" or language in _translated_worlds().get(world.name, {})


_SPOKEN: dict[tuple[str, str], World] = {}


def in_language(world: World, language: str) -> World:
    """The world as its people speak of it; of a mixture the first world, from which all goals come."""
    if language == "en" or tongue_of(world) == language:
        return world
    if isinstance(world, MixedWorld):
        return compose([in_language(world.parts[0], language), *world.parts[1:]])
    key = world.id, language
    if key not in _SPOKEN:
        if len(_SPOKEN) > 256:
            _SPOKEN.clear()
        fields = {name: getattr(world, name) for name in World.model_fields}
        _SPOKEN[key] = SpokenWorld(
            **{**fields, "words": _translated(world, _translated_worlds()[world.name][language])},
            language=language,
        )
    return _SPOKEN[key]


def _translated(world: World, given: Mapping[str, Any]) -> Words:
    tools = {}
    for name, words in given["tools"].items():
        old = world.words.tools[name]
        spoken = words.get("arguments", {})
        arguments = {
            argument: _argument(about, spoken.get(argument, {}))
            for argument, about in old.arguments.items()
            if argument in spoken or (about.source and not about.known) or about.consent
        }
        tools[name] = ToolWords(
            **{key: value for key, value in words.items() if key != "arguments"}, arguments=arguments
        )
    return Words(
        tools=tools,
        entities={name: EntityWords(**one) for name, one in given["entities"].items()},
        agent=world.words.agent,
        asides=tuple(given.get("asides", ())),
        policy_questions=tuple(Question(**one) for one in given.get("policy_questions", ())),
    )


def _argument(about: ArgumentWords, spoken: Mapping[str, Any]) -> ArgumentWords:
    return about.replace(
        called=spoken.get("called", ""),
        said=tuple(spoken.get("said", ())),
        consent=spoken.get("consent", about.consent),
    )
