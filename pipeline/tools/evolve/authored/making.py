"""A world made by a model: entities and rules, tables, rows, one tool after the other, policy, invariants, words.

Each stage is executed before the next begins. What a stage cannot get right within its repairs is left out where the
world can do without it (a tool, an invariant), and is the reason to reject the world where it cannot.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from pipeline.config.author import AuthorSection
from pipeline.models.players.author import Asker, Checked, Problem, Step, fence, settle
from pipeline.models.players.author.answers import (
    Invariants,
    Phrases,
    Policy,
    ToolBody,
    ToolIdea,
    ToolPlan,
)
from pipeline.models.players.author.sketches import SketchedTool
from pipeline.models.players.schemas import schema_of
from pipeline.records import Domain, Record, World, WorldError
from pipeline.tools.evolve.authored.bodies import Proven, form_problems, prove, statements, written
from pipeline.tools.evolve.authored.connected import lonely, sound_ideas, unread
from pipeline.tools.evolve.authored.ground import Rejected, Written, told
from pipeline.tools.evolve.authored.novelty import Known
from pipeline.tools.evolve.authored.rules import checked_invariants, checked_policy, policy_targets
from pipeline.tools.evolve.authored.sketching import Sketched, filled_in, lists, sketch, tool_form
from pipeline.tools.evolve.authored.tables import Tables
from pipeline.tools.evolve.authored.texts import as_texts, foreign, instructing, unsafe
from pipeline.tools.evolve.authored.words import checked_phrases, with_phrases, with_words
from pipeline.worlds.admission import admit
from pipeline.worlds.load import parse_world


@dataclass
class Made:
    """What became of one place in the tree: a world, or why there is none, and the account of every stage."""

    place: str
    world: World | None = None
    kind: str = ""
    message: str = ""
    steps: list[Step] = field(default_factory=list)

    @property
    def tokens(self) -> int:
        return sum(step.tokens for step in self.steps)

    @property
    def cost(self) -> float:
        return sum(step.cost for step in self.steps)


class WorldMaker:
    """Makes one world for one place. `known` are the worlds that exist; the new one has to be another."""

    def __init__(
        self, pen: Asker, config: AuthorSection, known: Sequence[Known] = (), language: str = "en"
    ) -> None:
        self._pen = pen
        self._config = config
        self._known = known
        self._language = language

    async def make(self, place: Domain) -> Made:
        """EndpointDown and BudgetExceeded pass through; everything else that can happen is in the answer."""
        made = Made(place.path)
        try:
            made.world = await self._make(place, made)
        except Rejected as rejected:
            made.kind, made.message = rejected.args
        return made

    async def _make(self, place: Domain, made: Made) -> World:
        ground = (Sketched if self._config.sketch else Written)(self.stage, self._config, self._known)
        base, tables = await ground.make(place, made.steps)
        ideas = ground.ideas or await self._ideas(base, made)
        tools = await self._tools(base, tables, ideas, made)
        base["tools"] = [one.entry for one in tools]
        base["policy"] = await self._policy(base, made)
        base["invariants"] = await self._invariants(base, made)
        data = with_words(base, tables, tools)
        if self._config.words:
            data = await self._words(data, tools, made)
        return _finished(data, self._pen.author)

    # ---- asking -----------------------------------------------------------------------------------------

    async def stage(
        self, prompt: str, form: type[Record], check: Any, steps: list[Step], subject: str, *, prose: bool = True,
        schema: dict[str, Any] | None = None, **inputs: Any,
    ) -> tuple[Any, Step]:  # fmt: skip
        """One stage of one world; what is written for people is held to its language, and all of it to be safe."""
        step = Step(prompt, subject)
        steps.append(step)
        mark = fence(inputs.get("world", inputs.get("domain", "")), *inputs.values())
        talk = self._pen.begin(prompt, language=self._language, fence=mark, **inputs)

        def also(value: Record) -> Iterable[Problem]:
            return _unfit(value, self._language if prose else "")

        found = await settle(talk, form, check, step, repairs=self._config.repairs, also=also, schema=schema)
        return found, step

    # ---- tools ------------------------------------------------------------------------------------------

    async def _ideas(self, base: dict[str, Any], made: Made) -> list[ToolIdea]:
        least, most = self._config.tools
        schema = schema_of(ToolPlan)
        schema = {**schema, "properties": {"tools": {**schema["properties"]["tools"], "maxItems": most}}}
        ideas, step = await self.stage(
            "tools", ToolPlan, lambda plan: sound_ideas(plan.tools, least, most), made.steps, base["name"],
            schema=schema, world=told(base), least=least, most=most,
        )  # fmt: skip
        if not ideas:
            raise Rejected(step.kind, f"list of tools: {step.message}")
        return list(ideas)

    async def _tools(
        self, base: dict[str, Any], tables: Tables, ideas: Sequence[ToolIdea], made: Made
    ) -> list[Proven]:
        tools: list[Proven] = []
        for idea in sorted(ideas, key=lambda one: one.kind != "read"):
            await self._tool(base, tables, idea, tools, made)
        for idea in list(unread(tools)):
            await self._tool(base, tables, idea, tools, made)
        return self._connected(base, tools, made)

    async def _tool(
        self, base: dict[str, Any], tables: Tables, idea: ToolIdea, tools: list[Proven], made: Made
    ) -> None:
        """One tool with its witness; a tool that never holds is left out."""

        def check(body: ToolBody, examples: bool = True) -> Checked[Proven]:
            problems: list[Problem] = form_problems(idea.kind, body)
            if problems:
                return Checked(problems=problems)
            entry = written(idea.name, idea.kind, body, tables, examples=examples)
            if twin := next((one.name for one in tools if statements(one.entry) == statements(entry)), ""):
                why = f"its statements are those of {twin}; write those of {idea.name}: {idea.does}"
                return Checked(problems=[("same tool again", why)])
            return Checked(*prove(base, entry, tables))

        def check_sketch(tool: SketchedTool) -> Checked[Proven]:
            """Where its rules do not hold, the tool will do without them when it cannot be mended."""
            found = check(filled_in(idea.kind, tool, tables), examples=False)
            if found.result is None and tool.rules:
                bare = check(filled_in(idea.kind, tool.replace(rules=[]), tables), examples=False)
                return Checked(bare.result, found.problems, whole=False)
            return found

        asked: dict[str, Any] = {"tool": idea.name, "does": idea.does, "kind": idea.kind}
        subject = f"{base['name']}.{idea.name}"
        if self._config.sketch:
            proven, _ = await self.stage(
                "sketch_tool", SketchedTool, check_sketch, made.steps, subject, schema=tool_form(idea.kind),
                world=sketch(base), lists=lists(idea), **asked,
            )  # fmt: skip
        else:
            proven, _ = await self.stage(
                "tool", ToolBody, check, made.steps, subject, world=told(base), **asked,
                others=[_signature(one.entry) for one in tools], now=base["clock"],
            )  # fmt: skip
        if proven is not None:
            tools.append(proven)

    def _connected(self, base: dict[str, Any], tools: list[Proven], made: Made) -> list[Proven]:
        """The tools that hang together; those that do not are left out, each with a reason."""
        kept = list(tools)
        while True:
            out = dict(lonely(kept))
            if not out:
                break
            for name, why in out.items():
                step = next(one for one in made.steps if one.subject == f"{base['name']}.{name}")
                step.kept, step.kind, step.message = False, "unconnected", why
                step.caught.append("unconnected")
            kept = [one for one in kept if one.name not in out]
        least = max(2, (self._config.tools[0] + 1) // 2)
        if len(kept) < least or not any(not one.reads for one in kept):
            raise Rejected(
                "too few tools",
                f"{len(kept)} tools hold and hang together, {least} are needed, one of them a writing one",
            )
        return kept

    # ---- rules ------------------------------------------------------------------------------------------

    async def _policy(self, base: dict[str, Any], made: Made) -> list[dict[str, str]]:
        world = parse_world(base, where=base["name"])
        targets = policy_targets(world)
        lines_, step = await self.stage(
            "policy", Policy, lambda answer: checked_policy(world, answer), made.steps, base["name"],
            schema=_with_targets(targets), world=told(base), tools=[_signature(one) for one in base["tools"]], targets=targets,
        )  # fmt: skip
        if not lines_:
            raise Rejected(step.kind, f"policy: {step.message}")
        return list(lines_)

    async def _invariants(self, base: dict[str, Any], made: Made) -> list[dict[str, str]]:
        found, _ = await self.stage(
            "invariants", Invariants, lambda answer: checked_invariants(base, answer), made.steps, base["name"],
            prose=False, world=told(base), tools=[_signature(one) for one in base["tools"]],
        )  # fmt: skip
        return list(found or ())

    async def _words(self, data: dict[str, Any], tools: Sequence[Proven], made: Made) -> dict[str, Any]:
        """The model's wordings in place of those made from names, tool by tool; where it finds none those stay."""
        for tool in tools:
            phrases, _ = await self.stage(
                "words", Phrases, lambda answer, tool=tool: checked_phrases(tool, answer), made.steps,
                f"{data['name']}.{tool.name}", world=told(data), tool=_signature(tool.entry),
                arguments=list(tool.entry["arguments"]), columns=list(tool.columns),
            )  # fmt: skip
            if phrases is not None:
                data = with_phrases(data, tool, phrases)
        return data


def _unfit(value: Record, language: str) -> Iterable[Problem]:
    """What no answer may be, whatever it is about."""
    texts = as_texts(value)
    for why in dict.fromkeys(unsafe(texts)):
        yield "unsafe", why
    for why in dict.fromkeys(instructing(texts)):
        yield "instruction", f"{why}; describe what it does, and tell nobody what to do"
    if language:
        prose = " ".join(
            text
            for text in texts
            if " " in text and not re.match(r"\s*(?:select|insert|update|delete|create)\b", text, re.I)
        )
        other = foreign(prose, language)
        if other:
            yield "another language", f"it is written in {other}; write it in {language}"


def _with_targets(targets: Sequence[str]) -> dict[str, Any]:
    """The form of a policy whose enforcement can only be one of those there are."""
    schema = schema_of(Policy)
    rules = schema["properties"]["rules"]
    line = {
        **rules["items"],
        "properties": {**rules["items"]["properties"], "enforced_by": {"enum": list(targets)}},
    }
    return {**schema, "properties": {"rules": {**rules, "items": line}}}


def _signature(entry: dict[str, Any]) -> str:
    """A tool in one line: arguments, result, codes."""
    last = entry["program"][-1]
    sql = last.get("returns_one") or last.get("returns_many")
    codes = [step["error"]["code"] for step in entry["program"] if "error" in step]
    refusals = f"; refuses with {', '.join(codes)}" if codes else ""
    return (
        f"{entry['name']}({', '.join(entry['arguments'])}): {entry['description']} Returns: {sql}{refusals}"
    )


def _finished(data: dict[str, Any], author: str) -> World:
    """The whole world, admitted once more as a whole."""
    try:
        world = parse_world(data, where=data["name"], author=author)
    except WorldError as error:
        raise Rejected("not admitted", error.what) from error
    report = admit(world, language=False)
    if not report.admitted:
        raise Rejected("not admitted", "; ".join(map(str, report.problems[:5])))
    return world
