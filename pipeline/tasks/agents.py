"""Agents and personas: who serves, and who asks."""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any

from pipeline.assets import asset
from pipeline.records import AgentProfile, Persona, Toolset, World
from pipeline.yaml_files import parse_yaml


@lru_cache(maxsize=1)
def _people() -> dict[str, Any]:
    data: dict[str, Any] = parse_yaml(asset("tools_repo/people.yaml").read_text(encoding="utf-8"))
    return data


def personas() -> tuple[Persona, ...]:
    """The personas of `tools_repo/people.yaml`."""
    return tuple(Persona(**entry) for entry in _people()["personas"])


def agent_for(
    worlds: Sequence[World], toolset: Toolset, clock: str, rng: random.Random, language: str = "en"
) -> AgentProfile:
    """An agent for the worlds it serves: its system prompt states who it is, the date, the policy and its habits.

    Expertise, tone, formality, verbosity, strictness and habits are drawn apart, so that one world has tens of
    thousands of agents.
    """
    people = _people()
    tone, expertise = rng.choice(people["tones"]), rng.choice(people["expertise"])
    habits: dict[str, str] = {
        "verbosity": rng.choice(("brief", "normal", "full")),
        "formality": rng.choice(("casual", "neutral", "neutral", "formal")),
        "strictness": rng.choice(("strict", "measured", "obliging")),
        "calling": rng.choice(("one", "together", "free", "free")),
        "announces": rng.choice(("always", "sometimes", "sometimes", "never")),
        "confirms": rng.choice(("destructive", "writes")),
    }
    who = [rng.choice(world.words.agent or (f"the assistant of {world.name}",)) for world in worlds]
    said = {name: people[name][choice] for name, choice in habits.items()}
    manner = [tone["prompt"], expertise, said["formality"], said["verbosity"], said["strictness"]]
    conduct = [said["confirms"], said["calling"], said["announces"]]
    if language != "en" or rng.random() < 0.1:
        conduct.append(rng.choice(people["languages"]))
    rng.shuffle(conduct)
    parts = [
        _opening(people, worlds, who, rng),
        f"It is {_today(clock)}.",
        " ".join(filter(None, manner)),
        " ".join(filter(None, conduct)),
        *_policies(worlds),
        rng.choice(people["closings"]),
    ]
    return AgentProfile(
        name=" / ".join(who),
        system_prompt="\n\n".join(parts),
        expertise=expertise,
        tone=tone["name"],
        toolset=toolset,
        **habits,
    )


def _opening(people: dict[str, Any], worlds: Sequence[World], who: Sequence[str], rng: random.Random) -> str:
    values = {}
    for number, (world, name) in enumerate(zip(worlds, who, strict=True), 1):
        suffix = str(number) if number > 1 else ""
        values[f"who{suffix}"], values[f"summary{suffix}"] = name, world.summary.rstrip(".")
    text: str = rng.choice(people["openings" if len(worlds) == 1 else "openings_two"])
    return text.format(**values)


def _today(clock: str) -> str:
    now = datetime.fromisoformat(clock)
    return f"{now:%A}, {now.day} {now:%B %Y}, {now:%H:%M}"


def _policies(worlds: Sequence[World]) -> list[str]:
    """The policy of each world, under its own heading where there are several."""
    if len(worlds) == 1:
        return ["Policy:\n" + worlds[0].policy_text]
    return [
        f"Policy: {world.domain.path.split('/')[-1].replace('_', ' ')}\n{world.policy_text}"
        for world in worlds
    ]


def devices() -> tuple[dict[str, Any], ...]:
    """What users look things up with: `name`, `argument`, and leads to say so."""
    return tuple(_people()["devices"])
