"""The user as a state machine: what it wants, what it knows, what it has told, and when it is over.

The machine decides; a player of the role `user` only finds the words.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from pipeline.records import Event, Fact, Goal, Task, UserAct, UserLookup, UserMove
from pipeline.tasks.telling import states
from pipeline.tasks.values import folded, mentions

_CONFIRM = re.compile(
    r"\b(shall i|should i|may i|can i go ahead|go ahead|proceed|do you want me|would you like me|is that (?:ok|okay|right|fine|alright)|"
    r"are you (?:ok|okay|happy|sure)|do you (?:agree|accept|confirm)|confirm|okay with you|all right with you|"
    r"want me to|happy for me|agreed|your ok|your go-ahead|sound (?:good|right)|"
    r"soll ich|in ordnung|ist das recht|procedo|le parece bien|está de acuerdo|dois-je|vous convient|êtes-vous d'accord)\b"
)
_MORE = re.compile(
    r"\b(anything else|something else|help with anything|what else|any other|sonst noch|algo más|autre chose|d'autre)\b"
)
_REFUSAL = re.compile(
    r"\b(can't|cannot|can not|unable|not able|not possible|isn't possible|won't|not allowed|isn't something|sorry|afraid|no way to|not something|unfortunately|"
    r"leider|lamentablemente|lo siento|malheureusement|désolé)\b"
)
_NUDGES = 2
"""How often the user insists before giving a goal up."""
_WAITS = 6
"""How often the user speaks while something agreed to is neither done nor tried, before the engine ends it."""


@dataclass
class Ledger:
    """What the user has told and done so far. `wrong`: facts told wrongly and not yet put right; `deeds`: what was done
    on their own devices, by goal."""

    told: set[str] = field(default_factory=set)
    wrong: set[str] = field(default_factory=set)
    deeds: set[tuple[int, str]] = field(default_factory=set)


class UserMachine:
    """Decides the user's next act. Feed it each message and call with `see`; ask `move` when the agent has spoken."""

    def __init__(self, task: Task, rng: random.Random) -> None:
        self.task = task
        self.ledger = Ledger()
        self.over = False
        self.stalled = False
        """It is over because the agent never made a call that the user agreed to."""
        self._rng = rng
        self._goal = -1
        self._turn = 0
        self._nudges = 0
        self._waits = 0
        self._confirmed = False
        self._closing = rng.random() < 0.6
        self._acted = False
        self._tried = False
        """The agent has made the call since the user agreed; if it failed, nothing is pending any more."""
        self._move: UserMove | None = None
        self._facts = {fact.name: fact for fact in task.facts}
        self._final = {i: [c for c in task.reference if c.goal == i][-1:] for i in range(len(task.goals))}

    # ---- what happens ------------------------------------------------------------------------------------

    def see(self, event: Event) -> None:
        """Takes notice of a committed event (also when an episode is resumed)."""
        if event.role == "user":
            self._heard_self(event.content)
            self.ledger.deeds |= {
                (self._goal, one.tool) for one in event.lookups if one.tool in self.goal.devices
            }
        elif event.role == "tool" and self._goal_call(event.name):
            landed = bool(event.ok) or bool(event.fault and event.fault.committed)
            self._acted = self._acted or landed or self._expected_refusal(event)
            self._tried = True

    def _goal_call(self, name: str) -> bool:
        final = self._final.get(self._goal)
        return bool(final) and final[0].tool == name  # type: ignore[index]

    def _expected_refusal(self, event: Event) -> bool:
        final = self._final.get(self._goal)
        return bool(final) and final[0].error == event.error_code != ""  # type: ignore[index]

    def _heard_self(self, text: str) -> None:
        """Books what the text tells: the facts the last move asked for, and others that it states."""
        meant = {fact.name for fact in self._move.facts} - set(self._move.wrong) if self._move else set()
        goals = self.task.goals[: self._goal + 1]
        for name, fact in self._facts.items():
            if states(text, fact, goals) or (name in meant and mentions(text, fact.spoken)):
                self.ledger.told.add(name)
                self.ledger.wrong.discard(name)
            elif fact.wrong and mentions(text, fact.wrong):
                self.ledger.wrong.add(name)

    # ---- what to do next ---------------------------------------------------------------------------------

    def move(self, agent_text: str | None) -> UserMove | None:
        """The next act after the agent's message (None at the start); None when the user is done."""
        self._turn += 1
        if agent_text is None:
            return self._raise_goal("open")
        if self.over:
            return None
        if self._turn > self.task.persona.patience and not self.write_pending:
            self.over = True
            return self._make("give_up")
        self._waits += self.write_pending
        if self._waits > _WAITS:
            self.over = self.stalled = True
            return None
        return self._answer(folded(agent_text))

    def _answer(self, text: str) -> UserMove | None:
        goal = self.goal
        question = "?" in text
        if question and not (self._acted and _MORE.search(text)):
            asked = self._asked_for(text)
            if asked:
                return self._tell(asked)
        if question and _CONFIRM.search(text) and not _MORE.search(text) and not self._acted:
            return self._agree(text)
        self._closing = self._closing or (question and bool(_MORE.search(text)))
        if self._acted or goal.kind in ("talk", "unserved"):
            return self._next_goal()
        if not question and (_REFUSAL.search(text) or self._sounds_done(text)) and not self.write_pending:
            return self._next_goal()
        if question:
            rest = [fact for fact in self._open_facts() if fact.name not in self.ledger.told]
            if rest:
                return self._tell(rest[:1])
        return self._insist()

    def _agree(self, question: str) -> UserMove:
        """A yes, unless the user thinks again: first of a value, or of the whole. Asked to do something on a device of
        their own, they do it."""
        if self.goal.kind == "withdrawn":
            self._acted = True
            return self._make("decline")
        second = [fact for fact in self._goal_facts() if self._second_thought(fact)]
        if second:
            return self._make("change", tuple(second))
        self._confirmed, self._tried = True, False
        named = any(_about(question, terms) for terms in self.goal.consent)
        open_ = [one for one in self.goal.devices if named and (self._goal, one) not in self.ledger.deeds]
        return self._make("confirm", deeds=open_)

    def _second_thought(self, fact: Fact) -> bool:
        return fact.disclosure == "changed" and fact.name not in self.ledger.told

    def _insist(self) -> UserMove | None:
        """Asks again, a bounded number of times: once something is agreed to, `_WAITS`."""
        self._nudges += 1
        if self._nudges > _NUDGES and not self.write_pending:
            return self._next_goal()
        return self._make("nudge")

    @staticmethod
    def _sounds_done(text: str) -> bool:
        return bool(
            re.search(
                r"\b(done|all set|completed|taken care|has been|have been|is now|successfully|"
                r"erledigt|hecho|fait)\b",
                text,
            )
        )

    def _asked_for(self, text: str) -> list[Fact]:
        """The facts that the agent's question is about, by label or keywords, told or not."""
        found = []
        for fact in self._open_facts():
            named = folded(fact.label) in text
            words = [word for word in fact.keywords if re.search(rf"\b{re.escape(word)}\b", text)]
            if named or (fact.keywords and len(words) == len(fact.keywords)):
                found.append(fact)
        fresh = [fact for fact in found if fact.name not in self.ledger.told]
        return fresh or [
            fact for fact in found if fact.name in self.ledger.told and not self._confirming(text)
        ]

    @staticmethod
    def _confirming(text: str) -> bool:
        return bool(_CONFIRM.search(text))

    def _open_facts(self) -> list[Fact]:
        names = {name for goal in self.task.goals[: self._goal + 1] for name in goal.facts}
        current = set(self.goal.facts)
        ordered = sorted(names, key=lambda name: (name not in current, name))
        return [self._facts[name] for name in ordered if name in self._facts]

    def _tell(self, facts: Sequence[Fact]) -> UserMove:
        wrong = tuple(f.name for f in facts if f.wrong and f.name not in self.ledger.wrong | self.ledger.told)
        again = [f for f in facts if f.name in self.ledger.wrong]
        act: UserAct = "change" if any(map(self._second_thought, again)) else "correct" if again else "answer"
        return self._make(act, tuple(facts), wrong)

    def _next_goal(self) -> UserMove | None:
        if self._goal + 1 < len(self.task.goals):
            return self._raise_goal("next")
        self.over = True
        return self._make("close") if self._closing else None

    def _raise_goal(self, act: UserAct) -> UserMove:
        self._goal += 1
        self._nudges, self._waits = 0, 0
        self._confirmed = self._acted = self._tried = False
        facts = [f for f in self._goal_facts() if f.disclosure == "open" and f.name not in self.ledger.told]
        said_wrong = [
            f
            for f in self._goal_facts()
            if f.disclosure in ("corrected", "changed") and f.name not in self.ledger.told
        ]
        keep = [f for f in facts if not f.name.startswith("which ")]
        # What the opening says depends on the task alone: its attempts begin alike.
        rng = random.Random(f"opening/{self.task.id}") if act == "open" else self._rng
        wrong = [f for f in said_wrong if rng.random() < 0.5]
        return self._make(act, tuple(keep + wrong), tuple(f.name for f in wrong))

    def _goal_facts(self) -> list[Fact]:
        return [self._facts[name] for name in self.goal.facts if name in self._facts]

    @property
    def goal(self) -> Goal:
        return self.task.goals[max(self._goal, 0)]

    @property
    def write_pending(self) -> bool:
        """Whether the user has agreed to something that has been neither done nor tried yet."""
        return self._confirmed and not self._acted and not self._tried

    def _make(
        self,
        act: UserAct,
        facts: tuple[Fact, ...] = (),
        wrong: tuple[str, ...] = (),
        deeds: Sequence[str] = (),
    ) -> UserMove:
        lookups = tuple(
            _looked_up(fact) for fact in facts if fact.device and fact.name not in self.ledger.told
        )
        self._move = UserMove(
            act=act,
            persona=self.task.persona,
            goal=self._as_meant(),
            facts=facts,
            wrong=wrong,
            turn=self._turn,
            lookups=(*lookups, *(UserLookup(tool=one, result={"done": True}) for one in deeds)),
        )
        return self._move

    def _as_meant(self) -> Goal:
        """The goal as the user sees it now: before a change of mind not with the value they will want in the end."""
        goal = self.goal
        first = any(map(self._second_thought, self._goal_facts()))
        return goal.replace(intent=goal.phrasings[0]) if first and goal.phrasings else goal


def _about(question: str, terms: str) -> bool:
    """Whether a question (folded) names what the terms say: a quarter of their longer words at least."""
    words = set(re.findall(r"[^\W\d_]{5,}", folded(terms)))
    return sum(word[:5] in question for word in words) >= len(words) / 4


def _looked_up(fact: Fact) -> UserLookup:
    """The call of the user's own tool that finds a fact."""
    return UserLookup(tool=fact.device, arguments={"for": fact.label}, result={"found": fact.spoken})
