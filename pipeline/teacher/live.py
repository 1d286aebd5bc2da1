"""The teacher as author of tasks on real MCP servers: what to call comes from the listing, what to expect from the
server itself."""

from __future__ import annotations

import random
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from pipeline.records import (
    ArgumentSource,
    ArgumentWords,
    Domain,
    Fact,
    Goal,
    Json,
    PolicyRule,
    Question,
    ReferenceCall,
    Task,
    Toolset,
    ToolSpec,
    ToolWords,
    Words,
    World,
)
from pipeline.records.worlds import LIVE
from pipeline.tasks.agents import agent_for, personas
from pipeline.tasks.made_up import NotSayable, arguments_for
from pipeline.tasks.rubric import stateless_rubric
from pipeline.teacher.axes import axes_of, difficulty
from pipeline.teacher.plainly import told_values
from pipeline.teacher.seeds import CLOCK, played_words
from pipeline.worlds.simulated.meaning import pieces, properties

GOALS = {1: 0.5, 2: 0.35, 3: 0.15}
_VERBS = frozenset(
    "add append calculate check convert count create delete describe echo edit evaluate fetch find format get insert list "
    "look move open parse print read remove rename resolve return retrieve run search send set show sort split sum "
    "simulate start stop test toggle translate trigger update validate write".split()
)
_SHOWN = 5
_POLICY = (
    PolicyRule(rule="What a tool answers is passed on as it is; nothing is made up.", enforced_by="reply"),
    PolicyRule(rule="A request that no tool serves is declined.", enforced_by="reply"),
)


@dataclass(frozen=True, slots=True)
class Proposed:
    """Calls for one task, a goal each."""

    calls: tuple[tuple[ToolSpec, dict[str, Json]], ...]


def live_world(server: str, tools: Sequence[ToolSpec]) -> World:
    """What teachers need to talk about a server: words for its tools. It has no state of its own, and nothing is ever
    executed in it."""
    lists = played_words()
    name = " ".join(pieces(server)) or server
    return World(
        name=server,
        domain=Domain(path=f"servers/{server}"),
        summary=f"It can {_listed([_purpose(tool) for tool in tools])}",
        archetype=LIVE,
        clock=CLOCK,
        schema_sql="create table unseen (id integer primary key);",
        policy=_POLICY,
        words=Words(
            tools={tool.name: _words(tool) for tool in tools},
            agent=(
                f"an assistant with the {name} tools",
                f"the assistant who uses the {name} tools for people",
            ),
            asides=tuple(lists["asides"]),
            out_of_scope=tuple(
                Question(ask=tuple(q["ask"]), answer=tuple(q["answer"])) for q in lists["unserved"]
            ),
        ),
        tools=tuple(tools),
    )


def _listed(purposes: Sequence[str]) -> str:
    """The first few of some phrases, with what else there is."""
    shown = list(dict.fromkeys(purposes))[:_SHOWN]
    return ", ".join(shown) + (" and more" if len(purposes) > _SHOWN else "")


def _words(tool: ToolSpec) -> ToolWords:
    purpose = _purpose(tool)
    asks = tuple(dict.fromkeys((purpose, _named(tool))))
    arguments = {}
    for name in properties(tool):
        label = " ".join(pieces(name))
        said = (f"the {label} is {{value}}", f"{label}: {{value}}", f"take {{value}} as the {label}")
        arguments[name] = ArgumentWords(called=f"the {label}", said=said)
    return ToolWords(ask=asks, confirm=(asks[-1],), arguments=arguments)


def _purpose(tool: ToolSpec) -> str:
    """The first sentence of a description as a verb phrase, where it is one; else the tool's name."""
    first = tool.description.split("\n")[0].split(". ")[0].strip().rstrip(".")
    words = first.split()
    if words and 3 <= len(words) <= 12 and not set(first) & set("`{}<>()[]:"):
        verb = words[0].lower()
        plain = verb if verb in _VERBS else verb.removesuffix("s")
        if plain in _VERBS:
            return " ".join([plain, *words[1:]])
    return _named(tool)


def _named(tool: ToolSpec) -> str:
    words = pieces(tool.name)
    return " ".join(words) if words and words[0] in _VERBS else f"use the tool {' '.join(words) or tool.name}"


def propose(tools: Sequence[ToolSpec], rng: random.Random, lost: Collection[str] = ()) -> Proposed | None:
    """One to three calls with values that they share by name, what writes first; None where no tool can be asked
    for in a sentence. `lost`: names of tools that have been refused too often."""
    count = rng.choices(list(GOALS), list(GOALS.values()))[0]
    pool: dict[str, Json] = {}
    calls: list[tuple[ToolSpec, dict[str, Json]]] = []
    for tool in rng.sample(list(tools), len(tools)):
        if len(calls) == count:
            break
        if tool.name in lost:
            continue
        try:
            calls.append((tool, arguments_for(tool, rng, pool)))
        except NotSayable:
            continue
    calls.sort(key=lambda one: one[0].annotations.read_only)
    return Proposed(tuple(calls)) if calls else None


def live_task(
    world: World,
    proposed: Proposed,
    answers: Sequence[Json],
    distractors: Sequence[ToolSpec],
    rng: random.Random,
) -> Task:
    """The task whose reference are these calls. `answers`: what lasts of what the server has answered, by call."""
    facts: dict[str, Fact] = {}
    goals: list[Goal] = []
    calls: list[ReferenceCall] = []
    told: dict[int, tuple[str, ...]] = {}
    for number, ((tool, arguments), answer) in enumerate(zip(proposed.calls, answers, strict=True)):
        sources = _sources(world.words.tools[tool.name], arguments, facts, rng)
        names = tuple(dict.fromkeys(source.fact for source in sources.values() if source.fact))
        words = world.words.tools[tool.name]
        kind = "ask" if tool.annotations.read_only else "act"
        goals.append(Goal(intent=words.ask[0], phrasings=words.ask, facts=names, kind=kind))
        calls.append(ReferenceCall(goal=number, tool=tool.name, arguments=arguments, sources=sources))
        told[number] = told_values(answer, {fact.spoken for fact in facts.values()})
    relevant = tuple(tool.name for tool, _ in proposed.calls)
    offered = [*world.tools, *distractors]
    rng.shuffle(offered)
    toolset = Toolset(tools=tuple(offered), relevant=relevant)
    agent = agent_for([world], toolset, world.clock, rng)
    persona = rng.choice([one for one in personas() if one.language == "en"])
    known = tuple(facts.values())
    axes = axes_of(world, goals, calls, known, (), toolset, 1, len(distractors))
    return Task(
        world=world.id,
        world_name=world.name,
        agent=agent,
        persona=persona,
        goals=tuple(goals),
        facts=known,
        axes=axes,
        difficulty=difficulty(axes),
        rubric=stateless_rubric(world, toolset, goals, calls, told, agent),
        reference=tuple(calls),
        host="live",
        proof="recorded",
        author="teacher",
    )


def _sources(
    words: ToolWords, arguments: Mapping[str, Json], facts: dict[str, Fact], rng: random.Random
) -> dict[str, ArgumentSource]:
    """Every argument is something the user knows; goals that share a value share the fact."""
    sources = {}
    for name, value in arguments.items():
        about = words.arguments[name]
        known = next(
            (one for one in facts.values() if one.label == about.called and one.value == value), None
        )
        if known is None:
            key = about.called if about.called not in facts else f"{about.called} ({len(facts) + 1})"
            known = facts[key] = Fact(
                name=key,
                label=about.called,
                value=value,
                spoken=_spoken(value),
                said=about.said,
                disclosure="open" if rng.random() < 0.6 else "asked",
                keywords=tuple(sorted({word for word in about.called.split() if word != "the"})),
            )
        sources[name] = ArgumentSource(kind="told", fact=known.name)
    return sources


def _spoken(value: Json) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(map(_spoken, value))
    return f"{value:.12g}" if isinstance(value, int | float) else str(value)
