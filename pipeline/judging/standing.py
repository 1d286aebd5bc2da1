"""What an agent knows before the first word: its instructions and the tools' listings."""

from __future__ import annotations

from dataclasses import dataclass, field

from pipeline.judging.rows import near
from pipeline.judging.statements import Stated, stated
from pipeline.records import Task, ToolSpec, canonical_json


@dataclass
class Standing:
    """What the instructions and the tools' descriptions state; equal for all episodes of an agent."""

    texts: tuple[str, ...]
    values: frozenset[Stated]
    foreign: bool = False
    """The agent speaks another language than its instructions, so that no words can be compared."""
    _near: dict[Stated, frozenset[str]] = field(default_factory=dict)

    def linked(self, words: frozenset[str], value: Stated) -> bool:
        """Whether one of some words stands near a value in one of the texts."""
        return self.foreign or not words.isdisjoint(self.near(value))

    def near(self, value: Stated) -> frozenset[str]:
        """Words that stand near a value in one of the texts."""
        if value not in self._near:
            texts = (text for text in self.texts if value in stated(text))
            self._near[value] = frozenset().union(*(near(text, value, 6) for text in texts))
        return self._near[value]


_STANDING: dict[tuple[str, str], Standing] = {}


def standing_of(task: Task) -> Standing:
    offered = task.agent.toolset
    names = ",".join(tool.name if task.world else tool.id for tool in offered.tools)
    home = "+".join(offered.worlds) or task.world
    language = task.persona.language
    key = task.agent.system_prompt, f"{home} {names} {language}"
    if key not in _STANDING:
        if len(_STANDING) > 2_048:
            _STANDING.clear()
        texts = task.agent.system_prompt.split("\n")  # most lines are those of other agents, too
        for tool in task.agent.toolset.tools:
            texts.extend(_described(home if task.world else "", tool))
        values = frozenset().union(*map(stated, texts))
        _STANDING[key] = Standing(tuple(texts), values, not language.startswith("en"))
    return _STANDING[key]


_DESCRIBED: dict[tuple[str, str], tuple[str, ...]] = {}


def _described(world: str, tool: ToolSpec) -> tuple[str, ...]:
    """What a tool's listing says; within a world its name tells which tool it is."""
    key = world, tool.name if world else tool.id
    if key not in _DESCRIBED:
        if len(_DESCRIBED) > 50_000:
            _DESCRIBED.clear()
        messages = (error.message for error in tool.errors)
        texts = (tool.description, canonical_json(tool.input_schema), *messages)
        _DESCRIBED[key] = tuple(text for text in texts if stated(text))
    return _DESCRIBED[key]
