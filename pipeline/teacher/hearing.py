"""What the teacher's assistant has been told so far, and how it asks for the rest."""

from __future__ import annotations

import random
from collections.abc import Sequence

from pipeline.records import AgentProfile, Fact, Message, ReferenceCall, Task
from pipeline.tasks.telling import states
from pipeline.tasks.values import folded, mentions
from pipeline.teacher.grammar import Grammar
from pipeline.worlds.tongues import pack

_CLAUSES = ("whether", "how", "what", "when", "which", "if", "where")


class Hearing:
    """The user's words as the assistant knows them. `messages` is the conversation so far."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.messages: Sequence[Message] = ()
        self._facts = {fact.name: fact for fact in task.facts}

    def needed(self, call: ReferenceCall) -> list[Fact]:
        """The facts that a call needs."""
        names = [source.fact for source in call.sources.values() if source.fact]
        return [self._facts[name] for name in dict.fromkeys(names)]

    def last(self) -> str:
        """The user's latest message."""
        return next(message.content for message in reversed(self.messages) if message.role == "user")

    def knows(self, fact: Fact) -> bool:
        """Whether the fact has been told, rightly or wrongly."""
        return self._told(fact, fact.spoken) or (bool(fact.wrong) and self._told(fact, fact.wrong or ""))

    def misled(self, fact: Fact) -> bool:
        """Only a wrong or a first version has been heard so far."""
        return bool(fact.wrong) and not self._told(fact, fact.spoken)

    def _told(self, fact: Fact, value: str) -> bool:
        """Whether the user has stated a value, or answered with it when asked for the fact."""
        asked = ""
        for message in self.messages:
            if message.role == "assistant":
                asked = message.content
            elif message.role == "user":
                if states(message.content, fact, self.task.goals, value=value):
                    return True
                if _asks_for(asked, fact) and mentions(message.content, value):
                    return True
        return False


def _asks_for(text: str, fact: Fact) -> bool:
    label = folded(fact.label.removeprefix("which ").removesuffix(" you mean"))
    return "?" in text and label in folded(text)


def ask(
    facts: Sequence[Fact], agent: AgentProfile, say: Grammar, rng: random.Random, language: str = "en"
) -> str:
    """A question for facts, in the agent's tone."""
    labels = _listed([fact.label for fact in facts], "and" if language == "en" else pack(language)["and"])
    if language == "en" and any(fact.label.split(" ")[0] in _CLAUSES for fact in facts):
        return say.say("ask_clause", rng, labels=labels)
    if len(facts) > 1:
        return say.say("ask_many", rng, labels=labels)
    if agent.tone in ("businesslike", "plainspoken"):
        kind = "businesslike"
    else:
        kind = "warm" if agent.tone in ("warm", "cheerful") and agent.formality != "formal" else "neutral"
    return say.of("ask", kind, rng, labels=labels)


def _listed(labels: Sequence[str], joined: str) -> str:
    return labels[0] if len(labels) == 1 else f"{', '.join(labels[:-1])} {joined} {labels[-1]}"
