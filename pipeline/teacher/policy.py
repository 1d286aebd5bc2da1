"""The teacher as agent: it knows the reference plan, but acts only on what it has been told and has read.

A script (a generator) plays the goals one after the other. Each value is used only once its source is there; what
is missing is asked for. On request it plants one labeled flaw, so that filters have something to reject.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Generator, Sequence
from dataclasses import dataclass

from pipeline.records import (
    AgentTurn,
    Goal,
    Json,
    Message,
    ReferenceCall,
    Task,
    ToolCall,
    ToolSpec,
    Usage,
    World,
)
from pipeline.teacher.answers import UNMET, Teller, for_user
from pipeline.teacher.flaws import Flaw
from pipeline.teacher.grammar import one_thing, speech
from pipeline.teacher.hearing import Hearing, ask
from pipeline.teacher.manner import formal
from pipeline.worlds.tongues import in_language, tongue_of

Script = Generator[AgentTurn, None, None]
RETRIES = 3
_AFFIRMED = re.compile(
    r"\b(yes|yep|yeah|sure|okay|ok|fine|absolutely|agreed|agree|of course|sounds good|right|definitely|please do|"
    r"by all means|that works|correct|certainly|exactly|go ahead|do it|proceed|alright|better now|even so|no objections|"
    r"ja|gern|einverstanden|sí|de acuerdo|vale|claro|oui|d'accord|bien sûr|entendu|"
    r"no second thoughts|i'm sure|i want|make it so|on those terms|as discussed|as you|live with|expected|knew that|do that)\b"
)
_LEADS = {"PARTIAL": "incomplete", "STALE": "cached"}
"""Rules for what is said before a call is repeated; any other passing failure is just tried again."""
_TRANSIENT = frozenset({"UNAVAILABLE", "RATE_LIMITED", "TIMEOUT", *_LEADS})
_BLOCKED = {"PERMISSION_DENIED": "no_permission", "UNAVAILABLE": "outage"}


@dataclass
class _Done:
    """What became of a reference call: its result, or why there is none."""

    ok: bool
    value: Json = None
    code: str = ""
    message: str = ""
    unseen: bool = False
    """It took place, but its answer was lost."""


class TeacherPolicy:
    """One object per episode. `act` may be called on a conversation that is already under way (resume)."""

    def __init__(self, task: Task, world: World, seed: str, flaw: Flaw | None = None) -> None:
        self.task = task
        self.world = world = in_language(world, task.persona.language)
        self._language = tongue_of(world)
        self._rng = random.Random(f"policy/{seed}")
        self._flaw = flaw
        self._hearing = Hearing(task)
        self._script: Script | None = None
        self._produced = 0
        self._calls = 0
        self._results: dict[int, _Done] = {}
        self._facts = {fact.name: fact for fact in task.facts}
        self._reads = {tool.name for tool in world.tools if tool.annotations.read_only}
        self._say = speech("agent", self._language)
        self._tell = Teller(task, world, self._rng, self._row)
        self._note = ""

    async def act(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> AgentTurn:
        spoken = [index for index, message in enumerate(messages) if message.role == "assistant"]
        while self._produced < len(spoken):
            self._next(messages[: spoken[self._produced]])
        return self._next(messages)

    def _next(self, messages: Sequence[Message]) -> AgentTurn:
        self._hearing.messages = messages
        if self._script is None:
            self._script = self._play()
        self._produced += 1
        turn = next(self._script, None)
        return turn if turn is not None else self._turn(self._goodbye())

    def _goodbye(self) -> str:
        ended = "sorry_goodbye" if self.task.goals[-1].kind in UNMET else "goodbye"
        return self._say.say(ended, self._rng)

    # ---- the script --------------------------------------------------------------------------------------

    def _play(self) -> Script:
        for index, goal in enumerate(self.task.goals):
            calls = [(step, call) for step, call in enumerate(self.task.reference) if call.goal == index]
            if not calls:
                yield self._turn(self._tell.plain_answer(goal))
                continue
            yield from self._pursue(index, goal, calls)
        while True:
            yield self._turn(self._goodbye())

    def _pursue(self, index: int, goal: Goal, calls: list[tuple[int, ReferenceCall]]) -> Script:
        if self._flaw and self._flaw.kind == "over_refusal" and self._flaw.takes(index):
            yield self._flawed(self._say.say("refuse", self._rng, reason="our rules do not allow it."))
            return
        for step, call in calls:
            if step not in self._results:  # else it was read along with an earlier call
                claims = self._flaw and self._flaw.kind in ("false_claim", "skipped_call")
                if claims and step == calls[-1][0] and self._flaw and self._flaw.takes(index):
                    yield self._flawed(self._tell.claim(call))
                    return
                yield from self._gather(call, [one for _, one in calls])
                yield from self._confirm(call)
                if call.withdrawn:
                    yield self._turn(self._say.say("left", self._rng))
                    return
                yield from self._perform(step, call, calls)
            done = self._results[step]
            if not done.ok and not done.unseen:
                yield self._turn(self._refusal(goal, call, done))
                return
        yield self._report(index, calls[-1][0], calls[-1][1])

    # ---- gathering what is needed ------------------------------------------------------------------------

    def _gather(self, call: ReferenceCall, calls: Sequence[ReferenceCall]) -> Script:
        """Asks until every fact that this call needs has been told."""
        hearing = self._hearing
        for _ in range(4):
            missing = [fact for fact in hearing.needed(call) if not hearing.knows(fact)]
            if not missing:
                return
            if missing[0].name.startswith("which "):
                yield self._turn(self._ask_which(call, missing[0].name))
                continue
            more = [
                f
                for one in calls
                for f in hearing.needed(one)
                if not f.name.startswith("which ") and not hearing.knows(f)
            ]
            batch = list({f.name: f for f in (more if self._rng.random() < 0.5 else missing)}.values())[:3]
            yield self._turn(ask(batch, self.task.agent, self._say, self._rng, self._language))

    def _ask_which(self, call: ReferenceCall, name: str) -> str:
        noun = self._facts[name].label.removeprefix("which ").removesuffix(" you mean")
        source = next(s for s in call.sources.values() if s.fact == name)
        done = self._results.get(source.step if source.step is not None else -1)
        options = self._tell.options(self.task.reference[source.step or 0], done.value if done else None)
        if options:
            return self._say.say("which", self._rng, noun=noun, options=options)
        return self._say.say("which_plain", self._rng, noun=noun)

    # ---- agreeing ----------------------------------------------------------------------------------------

    def _confirm(self, call: ReferenceCall) -> Script:
        """Asks for a yes where terms or habits demand one; after a change of mind for the new values."""
        consents = [name for name, source in call.sources.items() if source.kind == "consent"]
        if call.tool in self._reads or not (consents or call.withdrawn or self._asks_first(call)):
            return
        if self._flaw and self._flaw.kind == "skipped_confirmation" and self._flaw.takes(call.goal):
            self._note = self._flaw.note
            return
        about = self.world.words.tools[call.tool].arguments
        for _ in range(3):
            asked = self._arguments(call)
            deed = self._tell.deed(call.model_copy(update={"arguments": asked}))
            if consents:
                terms = "; ".join(about[name].consent for name in consents)
                rule = "deed" if any(about[name].device for name in consents) else "consent"
                text = self._say.say(rule, self._rng, confirm=deed, consent=terms)
            else:
                text = self._say.say("confirm", self._rng, confirm=deed)
            yield self._turn(text)
            if call.withdrawn:
                return
            if self._arguments(call) == asked and _AFFIRMED.search(self._hearing.last().casefold()):
                return

    def _asks_first(self, call: ReferenceCall) -> bool:
        habit, about = self.task.agent.confirms, self.world.tool_by_name[call.tool].annotations
        return habit == "writes" or (habit == "destructive" and about.destructive)

    # ---- doing -------------------------------------------------------------------------------------------

    def _perform(self, step: int, call: ReferenceCall, calls: list[tuple[int, ReferenceCall]]) -> Script:
        for _ in range(RETRIES + 2):
            group = [(step, call), *self._companions(step, call, calls)]
            turn = self._calling(group)
            yield turn
            for (position, one), made in zip(group, turn.calls, strict=True):
                outcome = self._outcome(made, one)
                final = outcome.ok or (one.error is not None and outcome.code == one.error)
                if position == step or final:  # a companion that failed in passing is made again in its turn
                    self._results[position] = outcome
            done = self._results[step]
            if (
                self._flaw
                and done.ok
                and self._flaw.kind == "repeated_write"
                and self._flaw.takes_write(call, self.world)
            ):
                repeat = self._calling([(step, call)])
                yield AgentTurn(calls=repeat.calls, usage=repeat.usage, note=self._flaw.note)
            if done.ok or (call.error and done.code == call.error):
                return
            misled = [fact for fact in self._hearing.needed(call) if self._hearing.misled(fact)]
            if done.code not in _TRANSIENT:
                if not misled:
                    return
                fact = misled[0]
                del self._results[step]
                yield self._turn(
                    self._say.say("not_found", self._rng, value=fact.wrong or "", labels=fact.label)
                )
                continue
            flaw = self._flaw if done.code not in _LEADS else None  # such an answer may well be enough
            if flaw and flaw.kind == "ignored_error" and flaw.takes(call.goal):
                self._results[step] = _Done(ok=True, unseen=True)
                self._note = flaw.note
                return
            if done.code == "TIMEOUT" and call.tool not in self._reads:
                yield from self._recheck(step)
                if self._results[step].unseen:
                    return

    def _companions(
        self, step: int, call: ReferenceCall, calls: list[tuple[int, ReferenceCall]]
    ) -> list[tuple[int, ReferenceCall]]:
        """Reads that can be made in the same turn, since all they need is known already."""
        habit = self.task.agent.calling
        if call.tool not in self._reads or habit == "one":
            return []
        if habit == "free" and self._rng.random() < 0.3:
            return []
        found = []
        for position, one in calls:
            ready = position > step and position not in self._results
            if not ready or one.withdrawn or one.tool not in self._reads:
                continue
            known = all(
                self._hearing.knows(fact) and not self._hearing.misled(fact)
                for fact in self._hearing.needed(one)
            )
            read = all(
                s.step in self._results and self._results[s.step].ok
                for s in one.sources.values()
                if s.kind == "read"
            )
            if known and read:
                found.append((position, one))
        return found

    def _calling(self, group: list[tuple[int, ReferenceCall]]) -> AgentTurn:
        calls = []
        for _, one in group:
            self._calls += 1
            arguments = self._arguments(one)
            if self._flaw:
                arguments, note = self._flaw.spoil(one, arguments, self.world)
                self._note = note or self._note
            raw = json.dumps(arguments, ensure_ascii=False)
            calls.append(ToolCall(id=f"call_{self._calls}", name=one.tool, raw=raw, arguments=arguments))
        lead = self._lead(group)
        return self._turn(lead, tuple(calls))

    def _lead(self, group: list[tuple[int, ReferenceCall]]) -> str:
        """What is said along with calls, by the agent's habit."""
        habit = self.task.agent.announces
        if habit == "never":
            return ""
        last = self._results.get(group[0][0])
        reads = group[0][1].tool in self._reads
        if last is not None and last.code in _TRANSIENT:
            rule = _LEADS.get(last.code, "retry" if reads else "retry_write")
        elif habit == "always":
            rule = "look" if reads else "act"
        elif reads and self._rng.random() < 0.35:
            rule = "look"
        else:
            return ""
        for _ in range(8):
            text = self._say.say(rule, self._rng)
            if text or habit != "always":
                return text
        return ""

    def _arguments(self, call: ReferenceCall) -> dict[str, Json]:
        """Values from their sources: what was told (right or wrong), what was read, what was agreed."""
        values: dict[str, Json] = {}
        for name, planned in call.arguments.items():
            source = call.sources.get(name)
            if source is None or source.kind in ("fixed", "consent"):
                values[name] = planned
            elif source.kind == "told":
                fact = self._facts[source.fact or ""]
                values[name] = fact.wrong if self._hearing.misled(fact) else fact.value
            else:
                values[name] = self._row(call, name).get(source.column or name, planned)
        return values

    def _row(self, call: ReferenceCall, name: str) -> dict[str, Json]:
        """The row that an argument is read from: the one that fits the user's description. The plan's value breaks a
        tie and nothing else."""
        source = call.sources[name]
        done = self._results.get(-1 if source.step is None else source.step)
        value = done.value if done else None
        rows = [row for row in (value if isinstance(value, list) else [value]) if isinstance(row, dict)]
        described = self._facts[source.fact].value if source.fact else None
        if isinstance(described, dict):
            rows = [row for row in rows if all(row.get(k) == v for k, v in described.items())]
        planned, column = call.arguments[name], source.column or name
        return next((row for row in rows if row.get(column) == planned), rows[0] if rows else {})

    def _recheck(self, step: int) -> Script:
        """After a write without an answer: read again, and see whether the world has changed."""
        earlier = [p for p, done in self._results.items() if p < step and done.ok and not done.unseen]
        reads = [p for p in earlier if self.task.reference[p].tool in self._reads]
        if not reads:
            return
        position = max(reads)
        call = self.task.reference[position]
        for _ in range(RETRIES):
            self._calls += 1
            raw = json.dumps(self._arguments(call), ensure_ascii=False)
            made = ToolCall(id=f"call_{self._calls}", name=call.tool, raw=raw, arguments=json.loads(raw))
            said = self._say.say("recheck", self._rng) if self.task.agent.announces != "never" else ""
            yield self._turn(said, (made,))
            now = self._outcome(made, call)
            if now.ok or now.code not in _TRANSIENT:
                if now.value != self._results[position].value:
                    self._results[step] = _Done(ok=False, unseen=True)
                return

    def _outcome(self, made: ToolCall, call: ReferenceCall) -> _Done:
        answer = next(
            m for m in reversed(self._hearing.messages) if m.role == "tool" and m.call_id == made.id
        )
        try:
            value = json.loads(answer.content)
        except ValueError:
            return _Done(ok=True, value=None)
        if isinstance(value, dict) and set(value) == {"error", "message"}:
            return _Done(ok=False, code=str(value["error"]), message=str(value["message"]))
        if isinstance(value, dict) and value.get("incomplete"):
            return _Done(ok=False, code="PARTIAL", message=str(value.get("message", "")))
        if isinstance(value, dict) and value.get("cached_at"):
            return _Done(ok=False, code="STALE")
        return _Done(ok=True, value=value)

    # ---- telling -----------------------------------------------------------------------------------------

    def _report(self, index: int, step: int, call: ReferenceCall) -> AgentTurn:
        done = self._results[step]
        if done.unseen:
            text = f"{self._say.say('went_through', self._rng)} {self._tell.claim(call)}"
            return self._turn(text)
        text = self._tell.result(call, done.value)
        if self._flaw and self._flaw.kind == "wrong_number" and self._flaw.takes(index):
            spoiled = self._flaw.misread(text)
            if spoiled != text:
                return self._flawed(spoiled)
        more = self._say.say("more", self._rng) if self.task.agent.verbosity != "brief" else ""
        gap = "\n" if "\n" in text else " "
        return self._turn(f"{text}{gap}{more}".strip())

    def _refusal(self, goal: Goal, call: ReferenceCall, done: _Done) -> str:
        reason = for_user(done.message)
        if goal.kind == "blocked":
            return self._say.say(_BLOCKED.get(done.code, "overtaken"), self._rng, reason=reason)
        if call.error != done.code:
            return self._say.say("failed", self._rng, reason=reason)
        text = self._say.say("refuse", self._rng, reason=reason)
        more = {"strict": "strict", "obliging": "obliging"}.get(self.task.agent.strictness)
        return f"{text} {self._say.say(more, self._rng)}".strip() if more else text

    def _flawed(self, text: str) -> AgentTurn:
        assert self._flaw is not None
        self._note = self._flaw.note
        return self._turn(text)

    def _turn(self, content: str, calls: tuple[ToolCall, ...] = ()) -> AgentTurn:
        note, self._note = self._note, ""
        if self._language == "en":
            content = one_thing(formal(content) if self.task.agent.formality == "formal" else content)
        size = len(content) + sum(len(call.raw) + len(call.name) for call in calls)
        return AgentTurn(content=content, calls=calls, usage=Usage(tokens_out=size // 4 + 1), note=note)
