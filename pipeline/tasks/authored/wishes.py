"""A model's wish and reference calls, made in a copy of the world: where each argument comes from, and what is wrong."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from pipeline.models.players.author import Checked, Problem
from pipeline.models.players.author.answers import Wish
from pipeline.records import (
    ArgumentSource,
    ArgumentWords,
    Fact,
    Failure,
    Json,
    ReferenceCall,
    World,
    canonical_json,
)
from pipeline.tasks.chains import ChainBuilder
from pipeline.tasks.graph import id_columns, tool_graph
from pipeline.tasks.values import mentions
from pipeline.worlds.admission import fitted
from pipeline.worlds.host import ToolHost
from pipeline.worlds.sql import SqlWorld


@dataclass
class Planned:
    """Wishes whose calls have been made, one after the other, from the world's seed; each is a goal of its own kind."""

    wishes: Sequence[Wish]
    kinds: Sequence[str]
    calls: list[ReferenceCall] = field(default_factory=list)
    results: list[Json] = field(default_factory=list)
    told: dict[str, Fact] = field(default_factory=dict)
    """What a person has to tell, not yet in a person's words."""
    which: dict[str, Fact] = field(default_factory=dict)
    """Which row is meant, in the words of the world."""

    @property
    def signature(self) -> str:
        """Equal for wishes that come to the same calls."""
        return canonical_json([[call.tool, call.arguments] for call in self.calls])

    @property
    def intent(self) -> str:
        """All that is wanted."""
        return "; then ".join(wish.intent for wish in self.wishes)

    @property
    def texts(self) -> list[str]:
        """What the person may say besides the intents."""
        return [text for wish in self.wishes for text in (*wish.phrasings, *wish.reasons)]

    def facts_of(self, goal: int) -> list[str]:
        """Names of the facts that a goal is the first to need, in the order in which its calls need them."""
        needed = [
            (call.goal, source.fact) for call in self.calls for source in call.sources.values() if source.fact
        ]
        earlier = {name for number, name in needed if number < goal}
        return list(dict.fromkeys(name for number, name in needed if number == goal and name not in earlier))

    def last(self, goal: int) -> int:
        """The step of a goal's last call."""
        return max(step for step, call in enumerate(self.calls) if call.goal == goal)


class Stage(ToolHost, Protocol):
    """A host whose state can be looked at: where a proposed task is tried out."""

    live: SqlWorld


async def planned(
    world: World, host: Stage, wishes: Sequence[Wish], kinds: Sequence[str], seen: set[str]
) -> Checked[Planned]:
    """The calls, executed in a fresh host, which is left in the state after them. `seen`: signatures of wishes that exist.

    Every key was read before it is used; every other value is told, read, a default, or agreed to. No key, no name of
    a tool and no code stands in what the person says.
    """
    plan = Planned(wishes, kinds)
    if len(wishes) != len(kinds):
        return _no("goals", f"there are {len(wishes)} wishes; give {len(kinds)}")
    for goal in range(len(wishes)):
        before = host.live.state
        problems = await _made(world, host, plan, goal)
        if problems or (problems := _of_kind(world, plan, goal, host.live.state != before)):
            return Checked(problems=problems)
    problems = _said_too_much(world, plan)
    if plan.signature in seen:
        problems.append(("same wish again", "these calls fulfil a wish that exists; invent another one"))
    return Checked(None if problems else plan, problems)


async def _made(world: World, host: Stage, plan: Planned, goal: int) -> list[Problem]:
    """Makes the calls of one wish; what is wrong with the first that cannot be made."""
    wish, kind = plan.wishes[goal], plan.kinds[goal]
    for number, one in enumerate(wish.calls):
        tool = world.tool_by_name.get(one.tool)
        if tool is None:
            return [("call", f"there is no tool {one.tool!r}; there are {', '.join(world.tool_by_name)}")]
        arguments = fitted(tool, one.arguments)
        sources, lost = _sources(world, plan, one.tool, arguments)
        if lost:
            return [("source", f"call {number + 1}, {one.tool}: {why}") for why in lost]
        result = await host.call(one.tool, arguments)
        last = number == len(wish.calls) - 1
        code = None if result.ok else (result.error or ("?", ""))[0]
        if code in set(Failure) or (code and not (last and kind == "refuse")):
            return [("call", f"call {number + 1}, {one.tool}, fails: {result.error}")]
        if last and kind == "refuse" and code is None:
            why = "succeeds, but the policy should forbid it: end in a call that is refused"
            return [("call", f"{one.tool} {why}")]
        plan.calls.append(
            ReferenceCall(goal=goal, tool=one.tool, arguments=arguments, sources=sources, error=code)
        )
        plan.results.append(result.value)
    return []


def _no(kind: str, text: str) -> Checked[Planned]:
    return Checked(problems=[(kind, text)])


def _of_kind(world: World, plan: Planned, goal: int, changed: bool) -> list[Problem]:
    kind, last = plan.kinds[goal], world.tool_by_name[plan.calls[-1].tool]
    if kind == "act" and not changed:
        return [("call", "nothing changes: end in a call that changes what the person wants changed")]
    if kind == "act" and last.annotations.read_only:
        return [("call", "the last call only reads; end in the call that fulfils the wish")]
    if kind in ("ask", "refuse") and changed:
        return [("call", "this wish changes nothing, but a call does")]
    return []


def _sources(
    world: World, plan: Planned, tool: str, arguments: dict[str, Json]
) -> tuple[dict[str, ArgumentSource], list[str]]:
    """Where each argument comes from, and a sentence for each that comes from nowhere."""
    words = world.words.tools[tool].arguments
    properties = world.tool_by_name[tool].input_schema.get("properties", {})
    found: dict[str, ArgumentSource] = {}
    problems: list[str] = []
    for name, value in arguments.items():
        about = words.get(name, ArgumentWords())
        default = properties.get(name, {}).get("default", _NO_DEFAULT)
        if about.consent:
            found[name] = ArgumentSource(kind="consent" if value else "fixed")
            continue
        columns = tuple(dict.fromkeys((name, about.source.partition(".")[2] or name)))
        step, column = _read_before(plan, columns, value)
        if step is not None and about.source and not about.known:
            source = _picked(world, plan, step, column, value, about.source.partition(".")[0])
            if source is None:
                problems.append(
                    f"{name} {value!r} is one of several rows that cannot be told apart; read fewer rows first"
                )
            else:
                found[name] = source
        elif about.source and not about.known:
            problems.append(
                f"nobody has told {name} {value!r}; first call a reading tool that returns {' or '.join(columns)}"
            )
        elif value == default:
            found[name] = ArgumentSource(kind="fixed")
        elif step is not None and not isinstance(plan.results[step], list) and isinstance(value, str):
            found[name] = ArgumentSource(kind="read", step=step, column=column)
        else:
            found[name] = ArgumentSource(kind="told", fact=_tell(plan, name, value, about))
    return found, problems


_NO_DEFAULT = object()


def _read_before(plan: Planned, columns: Sequence[str], value: Json) -> tuple[int | None, str]:
    """The latest step whose result holds the value in one of these columns."""
    for step in range(len(plan.results) - 1, -1, -1):
        for column in columns:
            if any(row.get(column) == value for row in _rows(plan.results[step])):
                return step, column
    return None, ""


def _rows(result: Json) -> list[dict[str, Json]]:
    return [row for row in (result if isinstance(result, list) else [result]) if isinstance(row, dict)]


def _picked(
    world: World, plan: Planned, step: int, column: str, value: Json, table: str
) -> ArgumentSource | None:
    """The source in a result; where it has several rows, with the fact that says which one is meant."""
    rows = _rows(plan.results[step])
    row = next(one for one in rows if one.get(column) == value)
    if len(rows) == 1:
        return ArgumentSource(kind="read", step=step, column=column)
    known = plan.calls[step].fact
    if known is not None:
        columns = plan.which[known].value
        same = all(row.get(name) == wanted for name, wanted in columns.items())
        return ArgumentSource(kind="read", step=step, column=column, fact=known) if same else None
    described = ChainBuilder(tool_graph(world), random.Random(plan.intent)).describe(table, row, tuple(rows))
    entity = world.words.entities.get(table)
    if described is None or entity is None:
        return None
    text, columns = described
    name = f"which {entity.noun} ({len(plan.which) + 1})"
    plan.which[name] = Fact(
        name=name,
        label=f"which {entity.noun} you mean",
        value=columns,
        spoken=text,
        said=("{value}", "I mean {value}", "{value} is the one"),
        disclosure="asked",
        keywords=tuple(sorted({*entity.noun.lower().split(), "which"})),
    )
    plan.calls[step] = plan.calls[step].replace(fact=name)
    return ArgumentSource(kind="read", step=step, column=column, fact=name)


def _tell(plan: Planned, name: str, value: Json, about: ArgumentWords) -> str:
    """The name of the fact that states a value; the same for the same value of the same argument."""
    key = name
    while key in plan.told and plan.told[key].value != value:
        key += " again"
    label = about.called or f"the {name.replace('_', ' ')}"
    plan.told.setdefault(key, Fact(name=key, label=label, value=value, spoken=str(value)))
    return key


def _said_too_much(world: World, plan: Planned) -> list[Problem]:
    """Keys, codes and names of tools in what the person says."""
    texts = [plan.intent, *plan.texts]
    told = {str(fact.value) for fact in plan.told.values()}
    keys = {
        str(row[column])
        for result in plan.results
        for row in _rows(result)
        for column in id_columns(world)
        if isinstance(row.get(column), str)
    }
    read = {
        str(call.arguments[name])
        for call in plan.calls
        for name, source in call.sources.items()
        if source.kind == "read" and isinstance(call.arguments[name], str)
    }
    found: list[Problem] = []
    for key in sorted(keys | read - told):
        if key not in told and any(mentions(text, key) for text in texts):
            found.append(
                ("leaked key", f"the person says {key!r}, which nobody outside knows; say it in plain words")
            )
    for tool in world.tools:
        if "_" in tool.name and any(tool.name in text for text in texts):
            found.append(
                ("leaked call", f"the person names the tool {tool.name}; say what is wanted instead")
            )
    return found
