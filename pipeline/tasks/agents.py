"""Agents and personas: who serves, and who asks."""

from __future__ import annotations

import random
from datetime import datetime
from functools import lru_cache
from typing import Any, Literal, get_args

from pipeline.assets import asset
from pipeline.records import AgentProfile, Persona, Toolset, World
from pipeline.yaml_files import parse_yaml

Confirms = Literal["never", "destructive", "writes"]


@lru_cache(maxsize=1)
def _people() -> dict[str, Any]:
    data: dict[str, Any] = parse_yaml(asset("tools_repo/people.yaml").read_text(encoding="utf-8"))
    return data


def personas() -> tuple[Persona, ...]:
    """The personas of `tools_repo/people.yaml`."""
    return tuple(Persona(**entry) for entry in _people()["personas"])


def agent_for(world: World, toolset: Toolset, rng: random.Random) -> AgentProfile:
    """An agent for one world: its system prompt states who it is, the date, the policy and its habits."""
    people = _people()
    tone = rng.choice(people["tones"])
    expertise = rng.choice(people["expertise"])
    verbosity = rng.choice(("brief", "normal", "full"))
    confirms: Confirms = rng.choice(get_args(Confirms)[1:])
    now = datetime.fromisoformat(world.clock)
    who = rng.choice(world.words.agent or (f"the assistant of {world.name}",))
    parts = [
        rng.choice(people["openings"]).format(who=who, summary=world.summary.rstrip(".")),
        f"It is {now:%A}, {now.day} {now:%B %Y}, {now:%H:%M}.",
        f"{tone['prompt']} {expertise} {people['verbosity'][verbosity]}",
        people["confirms"][confirms],
        "Policy:\n" + world.policy_text,
        rng.choice(people["closings"]),
    ]
    return AgentProfile(
        name=who,
        system_prompt="\n\n".join(parts),
        expertise=expertise,
        tone=tone["name"],
        verbosity=verbosity,
        confirms=confirms,
        toolset=toolset,
    )
