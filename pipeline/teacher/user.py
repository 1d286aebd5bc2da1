"""The teacher's words for the user: a grammar, the world's phrases, and the persona's style."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

from pipeline.records import Fact, Message, Task, UserMove, UserWords, World
from pipeline.records.trajectories import Usage
from pipeline.tasks.values import mentions
from pipeline.teacher.grammar import capital, speech, tidy


class TeacherUser:
    """One object per episode; equal seeds give equal words."""

    def __init__(self, task: Task, world: World, seed: str) -> None:
        self.task = task
        self.world = world
        self._seed = seed

    async def speak(self, move: UserMove, messages: Sequence[Message]) -> UserWords:
        rng = random.Random(f"{self._seed}/{move.turn}/{len(messages)}")
        text = self._words(move, rng)
        return UserWords(text, Usage(tokens_out=len(text) // 4 + 1))

    def _words(self, move: UserMove, rng: random.Random) -> str:
        goal = move.goal
        style = move.persona.style
        phrase = rng.choice(goal.phrasings) if goal and goal.phrasings else (goal.intent if goal else "")
        inside = phrase if move.act in ("open", "next") else ""
        facts = [f for f in move.facts if f.name in move.wrong or not mentions(inside, f.spoken)]
        stated = [_stated(f, f.wrong if f.name in move.wrong and f.wrong else f.spoken, rng) for f in facts]
        values = {
            "vp": phrase.rstrip("?."),
            "facts": " ".join(_sentence(text) for text in stated),
            "facts_lc": _clauses(stated),
            "aside": rng.choice(self.world.words.asides) if self.world.words.asides else "",
            "because": rng.choice(goal.reasons) if goal and goal.reasons else "I have to",
        }
        grammar = speech("user")
        if goal and not goal.reasons and move.act in ("open", "next", "nudge"):
            return self._styled(self._without_reason(move.act, values, style, rng), move, rng)
        if move.act == "open":
            return self._styled(grammar.of("open", style, rng, **values), move, rng)
        rule = move.act if stated or move.act not in ("answer", "correct") else "nudge"
        return self._styled(grammar.say(rule, rng, **values), move, rng)

    @staticmethod
    def _without_reason(act: str, values: dict[str, str], style: str, rng: random.Random) -> str:
        """Questions and odd wishes come without a stated reason."""
        grammar, phrase = speech("user"), values["vp"]
        first = phrase.split(" ", 1)[0].casefold()
        lead = {"next": "next_lead", "nudge": "confused"}.get(
            act, "hey" if style in ("casual", "hurried") else "greet"
        )
        greeting = grammar.say(lead, rng)
        aside = values["aside"] if style in ("chatty", "anxious") and rng.random() < 0.5 else ""
        if first in _QUESTION_WORDS:
            wish = phrase if greeting.endswith((",", ":")) and not aside else capital(phrase)
            return tidy(f"{greeting} {aside} {wish}?")
        wish = grammar.say(
            "want_lc" if greeting.endswith((",", ":")) and not aside else "want_s", rng, **values
        )
        return tidy(f"{greeting} {aside} {wish}")

    def _styled(self, text: str, move: UserMove, rng: random.Random) -> str:
        style = move.persona.style
        if style in ("casual", "hurried") and rng.random() < 0.6:
            text = _lowered(text)
        if style == "terse" and rng.random() < 0.5:
            text = text.rstrip(".")
        if style == "casual" and rng.random() < 0.3:
            text = re.sub(r"\bplease\b", "pls", text, count=1)
        if style == "learner":
            text = _fewer_articles(text, [f.spoken for f in self.task.facts], rng)
        return text


_QUESTION_WORDS = frozenset(
    "what who when where why how is are do does did can could may must will would should which am if".split()
)


def _stated(fact: Fact, value: str, rng: random.Random) -> str:
    template = rng.choice(fact.said) if fact.said else "{value}"
    return template.replace("{value}", value)


def _sentence(text: str) -> str:
    text = capital(text.strip())
    return text if text.endswith((".", "!", "?")) else text + "."


def _clauses(stated: Sequence[str]) -> str:
    parts = [text.strip().rstrip(".") for text in stated]
    if not parts:
        return ""
    joined = parts[0] if len(parts) == 1 else ", ".join(parts[:-1]) + " and " + parts[-1]
    return joined + "."


def _lowered(text: str) -> str:
    """Sentence starts without capitals, as people type on a phone; names and codes stay as they are."""
    return re.sub(r"(^|[.!?…] )([A-Z])(?=[a-z' ])", lambda match: match[1] + match[2].lower(), text)


def _fewer_articles(text: str, protected: Sequence[str], rng: random.Random) -> str:
    spans = sorted({word for phrase in protected for word in re.findall(r"\w+", phrase.casefold())})
    words = text.split(" ")
    kept = [
        word
        for index, word in enumerate(words)
        if not (
            word in ("the", "a", "an")
            and index + 1 < len(words)
            and re.sub(r"\W", "", words[index + 1]).casefold() not in spans
            and rng.random() < 0.4
        )
    ]
    return " ".join(kept)
