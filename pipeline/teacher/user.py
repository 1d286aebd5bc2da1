"""The teacher's words for the user: a grammar, the world's phrases, and the persona's style."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

from pipeline.records import Fact, Goal, Message, Task, UserMove, UserWords, World
from pipeline.records.trajectories import Usage
from pipeline.tasks.agents import devices
from pipeline.tasks.values import mentions
from pipeline.teacher.answers import UNMET
from pipeline.teacher.grammar import capital, speech, tidy
from pipeline.worlds.mixed import MixedWorld
from pipeline.worlds.tongues import in_language, pack, tongue_of


class TeacherUser:
    """One object per episode; equal seeds give equal words."""

    def __init__(self, task: Task, world: World, seed: str) -> None:
        self.task = task
        self.world = in_language(world, task.persona.language)
        self._language = tongue_of(self.world)
        self._seed = seed
        self._tries: tuple[int, int] = (0, 0)

    async def speak(self, move: UserMove, messages: Sequence[Message]) -> UserWords:
        turn, tries = self._tries
        self._tries = (move.turn, tries + 1 if turn == move.turn else 0)
        again = f"/{self._tries[1]}" if self._tries[1] else ""
        # All attempts at a task open alike, so that a better and a worse one share their beginning.
        opening = (
            f"opening/{self.task.id}" if move.act == "open" else f"{self._seed}/{move.turn}/{len(messages)}"
        )
        rng = random.Random(f"{opening}{again}")
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
            "facts_lc": _clauses(stated, "and" if self._language == "en" else pack(self._language)["and"]),
            "aside": self._aside(goal, rng),
            "because": rng.choice(goal.reasons) if goal and goal.reasons else "I have to",
        }
        if self._language != "en":
            return self._foreign(move, bool(stated), values, rng)
        grammar = speech("user")
        if goal and not goal.reasons and move.act in ("open", "next", "nudge"):
            plain = self._without_reason(move.act, values, style, asks(phrase), rng)
            return self._styled(plain, move, rng)
        if move.act == "open":
            return self._styled(grammar.of("open", style, rng, **values), move, rng)
        if move.lookups and move.act == "answer":
            leads = next(one["lead"] for one in devices() if one["name"] == move.lookups[0].tool)
            return self._styled(tidy(f"{rng.choice(leads)} {values['facts']}"), move, rng)
        rule = _rule(move, bool(stated))
        return self._styled(grammar.say(rule + self._mood(move), rng, **values), move, rng)

    def _foreign(self, move: UserMove, stating: bool, values: dict[str, str], rng: random.Random) -> str:
        """The words in another language: questions, wishes and wishes with a reason open differently."""
        grammar, goal = speech("user", self._language), move.goal
        if move.act in ("open", "next") and goal:
            kind = "_question" if goal.kind == "talk" else "_because" if goal.reasons else ""
            rule = move.act + kind
            if move.act == "open":
                return grammar.of(rule, "plain", rng, **values)
            return grammar.say(rule, rng, **values)
        rule = _rule(move, stating)
        return grammar.say(rule + (self._mood(move) if rule == "close" else ""), rng, **values)

    def _mood(self, move: UserMove) -> str:
        """What a turn's rule is called after a wish that was not met, or was left."""
        if move.act not in ("next", "close") or move.goal is None:
            return ""
        before = self.task.goals[self._number(move.goal) - 1] if move.act == "next" else self.task.goals[-1]
        return "_after_no" if before.kind in UNMET else "_after_left" if before.kind == "withdrawn" else ""

    def _aside(self, goal: Goal | None, rng: random.Random) -> str:
        """A remark of the world; none for a goal in another world than the first, whose people it would not be."""
        asides = self.world.words.asides
        if not asides or (isinstance(self.world, MixedWorld) and goal is not None and self._abroad(goal)):
            return ""
        return rng.choice(asides)

    def _number(self, goal: Goal) -> int:
        return next(n for n, one in enumerate(self.task.goals) if one.phrasings == goal.phrasings)

    def _abroad(self, goal: Goal) -> bool:
        assert isinstance(self.world, MixedWorld)
        tools = [call.tool for call in self.task.reference if call.goal == self._number(goal)]
        return any(self.world.places[tool].part for tool in tools)

    @staticmethod
    def _without_reason(
        act: str, values: dict[str, str], style: str, question: bool, rng: random.Random
    ) -> str:
        """Questions and odd wishes come without a stated reason."""
        grammar, phrase = speech("user"), values["vp"]
        lead = {"next": "next_lead", "nudge": "confused"}.get(
            act, "hey" if style in ("casual", "hurried") else "greet"
        )
        greeting = grammar.say(lead, rng)
        aside = values["aside"] if style in ("chatty", "anxious") and rng.random() < 0.5 else ""
        if question:
            wish = phrase if greeting.endswith((",", ":")) and not aside else capital(phrase)
            return tidy(f"{greeting} {aside} {wish}? {values['facts']}")
        wish = grammar.say(
            "want_lc" if greeting.endswith((",", ":")) and not aside else "want_s", rng, **values
        )
        return tidy(f"{greeting} {aside} {wish} {values['facts']}")

    def _styled(self, plain: str, move: UserMove, rng: random.Random) -> str:
        """The text in the persona's manner; as it was when the manner would hide a fact."""
        style, text = move.persona.style, plain
        spoken = [value for fact in self.task.facts for value in (fact.spoken, fact.wrong) if value]
        if style in ("casual", "hurried") and rng.random() < 0.6:
            text = _lowered(text)
        if style == "terse" and rng.random() < 0.5:
            text = text.rstrip(".")
        if style == "casual" and rng.random() < 0.3:
            text = re.sub(r"\bplease\b", "pls", text, count=1)
        if style == "learner":
            text = _fewer_articles(text, spoken, rng)
        hidden = any(mentions(plain, value) and not mentions(text, value) for value in spoken)
        return plain if hidden else text


def _rule(move: UserMove, stating: bool) -> str:
    """The rule of the grammar for a move that opens no goal."""
    if move.act == "confirm" and move.lookups:
        return "deed"
    return move.act if stating or move.act not in ("answer", "correct") else "nudge"


_WH = r"(?:what|who|whom|whose|which|when|where|why|how)"
_QUESTION = re.compile(
    rf"{_WH}(?:'?(?:s|re|d|ll|ve))?\b|(?:until|till|at|by|from|to|in|on|for|under|since|with|about|after|before|during) {_WH}\b|"
    r"(?:is|are|am|was|were|do|does|did|can|could|may|might|must|will|would|should|has|have|had)(?:n't)? "
    r"(?:i|you|we|they|he|she|it|there|this|that|these|those|my|your|our|the|a|an|any|all)\b"
)
_IMPERATIVE = re.compile(
    r"(?:(?:do|have) (?:the|an?|my|our|this|that|these|those|any|all|it)\b|have (?:you|them) (?!got\b|seen\b|any\b))"
)


def asks(phrase: str) -> bool:
    """Whether a phrase is a question (`until when can I cancel?`), not a verb phrase (`have the gate opened`)."""
    text = phrase.strip().casefold().replace("’", "'")
    if text.endswith("?"):
        return True
    return _QUESTION.match(text) is not None and _IMPERATIVE.match(text) is None


def _stated(fact: Fact, value: str, rng: random.Random) -> str:
    template = rng.choice(fact.said) if fact.said else "{value}"
    return template.replace("{value}", value)


def _sentence(text: str) -> str:
    text = capital(text.strip())
    return text if text.endswith((".", "!", "?")) else text + "."


def _clauses(stated: Sequence[str], and_: str) -> str:
    """What is stated, as one sentence; a value that is a sentence (a message to be sent) keeps one of its own."""
    texts = [text.strip() for text in stated]
    ended = [text for text in texts if text.endswith((".", "!", "?"))]
    parts = [text for text in texts if text not in ended]
    if not parts:
        return " ".join([*ended[:1], *map(_sentence, ended[1:])])
    joined = parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} {and_} {parts[-1]}"
    return " ".join([joined + ".", *map(_sentence, ended)])


def _lowered(text: str) -> str:
    """Sentence starts without capitals, as people type on a phone; names and codes stay as they are."""
    return re.sub(r"(^|[.!?…] )([A-Z])(?=[a-z' ])", lambda match: match[1] + match[2].lower(), text)


def _fewer_articles(text: str, protected: Sequence[str], rng: random.Random) -> str:
    """Some articles left out, as learners do; never inside a protected phrase, nor right before one."""
    spans = [
        match.span()
        for phrase in protected
        if phrase
        for match in re.finditer(re.escape(phrase), text, re.IGNORECASE)
    ]

    def left_out(match: re.Match[str]) -> str:
        start, end = match.span()
        if any(start < last and end >= first for first, last in spans) or rng.random() >= 0.4:
            return match[0]
        return ""

    return _LOOSE_ARTICLE.sub(left_out, text)


_LOOSE_ARTICLE = re.compile(r"(?<=[a-z,;] )(?:the|an?) (?=[^\W\d])")
