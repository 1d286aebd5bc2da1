"""When facts come out: at once, when asked, wrong first, looked up, or after a change of mind."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping

from pipeline.config.tasks import TasksConfig
from pipeline.records import AgentProfile, Fact, Json, Persona, ReferenceCall, World
from pipeline.tasks.agents import devices
from pipeline.tasks.mutations import changed_value
from pipeline.tasks.values import mentions, spoken
from pipeline.teacher.sketch import Sketch
from pipeline.worlds.tongues import tongue_of

_LOOKED_UP = re.compile(r"\b(?:number|code|reference|id|card|iban|tracking|serial|barcode|confirmation)\b")
_BY_HEART = re.compile(r"\b(?:phone|mobile|new|flat|house|room|seat|floor|pin)\b")


def disclose(config: TasksConfig, sketch: Sketch, persona: Persona, rng: random.Random) -> None:
    """Decides for each fact of the sketch when the user tells it."""
    for name, fact in sketch.facts.items():
        sketch.facts[name] = _disclosed(config, sketch, fact, persona, rng)


def _disclosed(config: TasksConfig, sketch: Sketch, fact: Fact, persona: Persona, rng: random.Random) -> Fact:
    """A fact that every phrasing of a goal states is open by nature."""
    in_all = [
        goal
        for goal in sketch.goals
        if goal.phrasings and all(mentions(text, fact.spoken) for text in goal.phrasings)
    ]
    if in_all:
        return fact
    english = tongue_of(sketch.lives.world) == "en"
    if english and rng.random() < config.device_rate and _on_paper(sketch, fact):
        device = rng.choice(devices())
        return fact.replace(disclosure="asked", device=device["name"])
    if rng.random() < persona.upfront:
        return fact
    wrong = _slip(sketch, fact, rng) if rng.random() < 2 * persona.slips else None
    return fact.replace(disclosure="corrected" if wrong else "asked", wrong=wrong)


def _on_paper(sketch: Sketch, fact: Fact) -> bool:
    """Whether a person would look a fact up: a number or code that none of the phrasings states."""
    label = fact.label.casefold()
    return (
        isinstance(fact.value, str)
        and sum(letter.isdigit() for letter in fact.value) >= 3
        and _LOOKED_UP.search(label) is not None
        and _BY_HEART.search(label) is None
        and not any(mentions(text, fact.spoken) for goal in sketch.goals for text in goal.phrasings)
    )


def _slip(sketch: Sketch, fact: Fact, rng: random.Random) -> str | None:
    """A wrong version of a fact by which something is looked up: one digit changed, so that nothing is found."""
    text = fact.spoken
    places = [i for i, letter in enumerate(text) if letter.isdigit()]
    if text != fact.value or len(places) < 4:
        return None
    using = [
        (call, n) for call in sketch.calls for n, source in call.sources.items() if source.fact == fact.name
    ]
    tools = sketch.lives.world.tool_by_name
    if not using or not tools[using[0][0].tool].annotations.read_only:
        return None
    place = rng.choice(places[1:])
    digit = str((int(text[place]) + rng.randint(1, 8)) % 10)
    wrong = text[:place] + digit + text[place + 1 :]
    call, name = using[0]
    sketch.lives.reset()
    return None if sketch.lives.call(call.tool, {**call.arguments, name: wrong}).ok else wrong


# ---- changes of mind ----------------------------------------------------------------------------------------


def asks_first(world: World, agent: AgentProfile, call: ReferenceCall) -> bool:
    """Whether the agent has to ask for a yes before a call, so that there is a moment to think again."""
    about = world.tool_by_name[call.tool].annotations
    if about.read_only or call.error is not None:
        return False
    consents = any(source.kind == "consent" for source in call.sources.values())
    return consents or agent.confirms == "writes" or (agent.confirms == "destructive" and about.destructive)


def change_minds(config: TasksConfig, sketch: Sketch, agent: AgentProfile, rng: random.Random) -> None:
    """In the configured share of tasks the user thinks again when the agent asks for a yes: another value, or not
    at all."""
    if rng.random() >= config.change_rate:
        return
    finals = {call.goal: step for step, call in enumerate(sketch.calls)}
    for goal in rng.sample(sorted(finals), len(finals)):
        step = finals[goal]
        call = sketch.calls[step]
        if sketch.goals[goal].kind != "act" or not asks_first(sketch.lives.world, agent, call):
            continue
        if _other_value(sketch, goal, call, rng) or _not_at_all(sketch, goal, step, rng):
            return


def _other_value(sketch: Sketch, goal: int, call: ReferenceCall, rng: random.Random) -> bool:
    """One told value of the change is another one at first."""
    about = sketch.lives.world.words.tools[call.tool].arguments
    used: dict[str, int] = {}
    for one in sketch.calls:
        for source in one.sources.values():
            if source.fact:
                used[source.fact] = used.get(source.fact, 0) + 1
    names = [
        name
        for name, source in call.sources.items()
        if source.kind == "told" and source.fact and used[source.fact] == 1 and not about[name].source
    ]
    for name in rng.sample(names, len(names)):
        fact = sketch.facts[call.sources[name].fact or ""]
        first = _plausible(sketch.lives.world, call, name, rng)
        silent = tuple(text for text in sketch.goals[goal].phrasings if not mentions(text, fact.spoken))
        if first is None or not silent or mentions(fact.spoken, first) or mentions(first, fact.spoken):
            continue
        sketch.facts[fact.name] = fact.replace(disclosure="changed", wrong=first, device="")
        sketch.goals[goal] = sketch.goals[goal].replace(phrasings=silent)
        return True
    return False


def _plausible(world: World, call: ReferenceCall, name: str, rng: random.Random) -> str | None:
    """Another value of an argument, as a person says it: an allowed one, or the next number."""
    value = call.arguments[name]
    schema: Mapping[str, Json] = world.tool_by_name[call.tool].input_schema["properties"][name]
    if isinstance(value, bool) or not (schema.get("enum") or isinstance(value, int)):
        return None
    other = changed_value(value, schema, rng)
    if other == value or (isinstance(other, int) and other > schema.get("maximum", other)):
        return None
    return spoken(other, rng, language=tongue_of(world))


def _not_at_all(sketch: Sketch, goal: int, step: int, rng: random.Random) -> bool:
    """The user decides against it: the change is proposed and not made. Only where no later goal builds on it."""
    if sketch.calls[step + 1 :]:
        return False  # what later calls tell was found with the change in place
    if not any(one.goal == goal for one in sketch.calls[:step]):
        return False  # without a lookup there would be nothing to check
    calls = list(sketch.calls)
    calls[step] = calls[step].replace(withdrawn=True)
    sketch.calls = calls
    sketch.goals[goal] = sketch.goals[goal].replace(kind="withdrawn")
    sketch.told[goal] = ()
    return True
