"""From an archetype, a vocabulary and choices to a world."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pipeline.records import Json, World
from pipeline.tools.evolve.archetype import Archetype, part
from pipeline.tools.evolve.roles import Roles
from pipeline.tools.evolve.template import filled, grown
from pipeline.tools.evolve.vocabulary import Vocabulary
from pipeline.tools.evolve.witnesses import program
from pipeline.worlds.load import parse_world

_VERBS: dict[str, tuple[str, ...]] = {
    "find": ("find", "look_up", "get", "identify"),
    "list": ("list", "show", "get"),
    "search": ("search", "find", "browse"),
    "make": ("create", "add", "open", "make"),
    "book": ("book", "reserve", "schedule"),
    "cancel": ("cancel", "withdraw", "call_off"),
    "change": ("change", "update", "set"),
    "check": ("check", "get", "read"),
}
ASKED, REASONS, SAID = 9, 6, 5
"""How many wishes, reasons and ways of telling a tool takes from what archetype and domain offer."""


@dataclass(frozen=True)
class Blueprint:
    """A world to be made; equal blueprints give equal worlds."""

    archetype: Archetype
    words: Vocabulary
    choices: Mapping[str, Json]
    parts: tuple[str, ...]
    edition: int = 0

    @property
    def name(self) -> str:
        stem = f"{self.words.domain}-{self.archetype.name}".lower().replace(" ", "-").replace("'", "")
        return stem if self.edition == 0 else f"{stem}-{self.edition + 1}"

    @property
    def domain(self) -> str:
        return f"{self.words.category}/{self.words.domain}/{self.archetype.subdomain}"

    @property
    def tools(self) -> int:
        return self.archetype.tools(self.choices, self.parts)


_DAYS = (13, 10, 12, 16, 8, 9, 15, 20, 11, 5, 19, 8)
"""A working day of each month of 2026: many worlds share theirs, so that one conversation can be about two of them."""


def make(blueprint: Blueprint) -> World:
    """The world of a blueprint. Raises ConfigError for a broken template, WorldError for a broken world."""
    return parse_world(mapping(blueprint), where=blueprint.name, author="teacher")


def mapping(blueprint: Blueprint) -> dict[str, Any]:
    """The content of a world file (docs/worlds.md), made instead of read."""
    rng = random.Random(f"world/{blueprint.name}")
    roles = Roles(blueprint.archetype.roles, blueprint.words, rng)
    context = _context(blueprint, roles, rng)
    bodies = blueprint.archetype.bodies(blueprint.parts)
    for one in bodies:
        for term, text in one.get("terms", {}).items():
            context[term] = filled(text, context)
    body = _merged([grown(_without_settings(one), context) for one in bodies])
    shared = body.get("shared", {})
    tools = [_tool(tool, shared, context, roles, blueprint.words, rng) for tool in body["tools"]]
    return {
        "name": blueprint.name,
        "domain": blueprint.domain,
        "summary": grown(blueprint.archetype.summary, context),
        "archetype": blueprint.archetype.name,
        "clock": context["clock"],
        "policy": body.get("policy", []),
        "schema": "\n".join(body["schema"]),
        "invariants": body.get("invariants", []),
        "lists": {**roles.lists, **body.get("lists", {})},
        "generate": body["generate"],
        "tools": tools,
        "log_tables": body.get("log_tables", []),
        "words": _words(body, tools, blueprint.words, rng),
    }


def _context(blueprint: Blueprint, roles: Roles, rng: random.Random) -> dict[str, Any]:
    numbers = dict(blueprint.archetype.numbers)
    for name in (*blueprint.archetype.parts, *blueprint.parts):
        numbers |= part(name).get("numbers", {})
    drawn = {name: rng.choice(values) for name, values in numbers.items()}
    verbs = {f"v_{name}": rng.choice(forms) for name, forms in _VERBS.items()}
    flags = {name: name in blueprint.parts for name in blueprint.archetype.optional}
    words = blueprint.words
    first = random.Random(f"org/{words.domain}/{blueprint.archetype.name}").randrange(len(words.orgs))
    org = words.orgs[(first + blueprint.edition) % len(words.orgs)]
    month = rng.randint(1, 12)
    clock = f"2026-{month:02d}-{_DAYS[month - 1]:02d}T{rng.randint(8, 16):02d}:{rng.choice(('00', '15', '30', '45'))}:00"
    return {
        **roles.context,
        **verbs,
        **flags,
        **drawn,
        **{name: f"{value:.2f}" for name, value in drawn.items() if name.endswith("fee")},
        **blueprint.choices,
        "org": org,
        "domain": words.domain,
        "matter": blueprint.archetype.subdomain,
        "clock": clock,
    }


def _without_settings(body: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in body.items() if key not in ("choices", "numbers", "terms")}


def _merged(bodies: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Lists are joined, mappings united, texts become lists of texts."""
    whole: dict[str, Any] = {}
    for body in bodies:
        for key, value in body.items():
            if isinstance(value, str):
                whole.setdefault(key, []).append(value)
            elif isinstance(value, list):
                whole.setdefault(key, []).extend(value)
            else:
                whole.setdefault(key, {}).update(value)
    return whole


def _tool(
    tool: dict[str, Any],
    shared: Mapping[str, Any],
    context: Mapping[str, Any],
    roles: Roles,
    words: Vocabulary,
    rng: random.Random,
) -> dict[str, Any]:
    arguments: dict[str, Any] = {}
    for name, schema in tool.get("arguments", {}).items():
        if name.startswith("*"):
            arguments |= roles.filters(name[1:])
        else:
            arguments[name] = {"type": "string", **schema}
            if str(schema.get("enum", "")).startswith("*"):
                arguments[name]["enum"] = roles.context[f"{schema['enum'][1:]}_names"]
    rules = _rules(tool, shared)
    for rule in rules:
        if "consent" in rule:
            arguments[rule["consent"]] = {"type": "boolean", "default": False, "consent": rule["says"]}
    steps, success = program(
        {"arguments": arguments, "rules": rules, "over": tool.pop("over", "select 1 as nothing")}
    )
    result = next(key for key in ("returns_one", "returns_many") if key in tool)
    done = [{"do": sql} for sql in tool.pop("do", ())]
    if done and context.get("audit", "none") != "none":
        done.append({"do": _audited(tool["name"], arguments, context["audit"])})
    made = {
        **tool,
        "description": _one(tool["description"], rng),
        "arguments": arguments,
        "program": [*steps, *done, {result: _with_extras(tool.pop(result), rng)}],
        "try": success or [{}],
    }
    made.pop(result, None)
    if "returns" in tool:
        last = made["program"][-1][result]
        made["returns"] = {
            name: kind for name, kind in tool["returns"].items() if re.search(rf"\b{name}\b", last)
        }
    for key, most in (("ask", ASKED), ("done", SAID), ("confirm", SAID), ("none", SAID)):
        if key in tool:
            made[key] = _some(tool[key], most, rng)
    if "because" in tool:
        own = _some(tool["because"], REASONS - 2, rng)
        made["because"] = [*own, *_some(words.because, REASONS - len(own), rng)]
    if "each" in tool:
        made["each"] = _one(tool["each"], rng)
    return made


def _rules(tool: dict[str, Any], shared: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Rules by name are those that tools share; whoever changes something must also be free to act."""
    rules: list[dict[str, Any]] = []
    for one in tool.pop("rules", ()):
        rules.append(shared[one] if isinstance(one, str) else one)
        if one == "known_who" and "free_to_act" in shared and not tool.get("read_only"):
            rules.append(shared["free_to_act"])
    return rules


def _audited(tool: str, arguments: Mapping[str, Any], kind: str) -> str:
    """The step that notes a change in the table `audit`, plainly or with what it was about."""
    about = f":{next(iter(arguments))}" if kind == "detail" else "''"
    return f"insert into audit select 'AU' || :new_id, '{tool}', {about}, :now"


_EXTRAS = re.compile(r"<\+(.*?)\+>")


def _with_extras(sql: str, rng: random.Random) -> str:
    """`<+ a; b; c +>` in a result becomes those of the columns that this world's tool tells besides the needed ones."""

    def chosen(match: re.Match[str]) -> str:
        return "".join(f", {one.strip()}" for one in match[1].split(";") if rng.random() < 0.5)

    return _EXTRAS.sub(chosen, sql)


def _one(texts: str | Sequence[str], rng: random.Random) -> str:
    return texts if isinstance(texts, str) else rng.choice(texts)


def _some(texts: Sequence[Any], most: int, rng: random.Random) -> list[Any]:
    return list(texts) if len(texts) <= most else rng.sample(list(texts), most)


def _words(
    body: Mapping[str, Any], tools: Sequence[Mapping[str, Any]], words: Vocabulary, rng: random.Random
) -> dict[str, Any]:
    pointed = {
        str(schema["from"]).split(".")[0]
        for tool in tools
        for schema in tool["arguments"].values()
        if "from" in schema
    }
    return {
        "agent": body["agent"],
        "entities": {table: entry for table, entry in body["entities"].items() if table in pointed},
        "asides": _some([*words.asides, *body.get("asides", ())], 14, rng),
        "policy_questions": body["questions"],
        "out_of_scope": [*words.unserved, *body.get("unserved", ())],
    }
