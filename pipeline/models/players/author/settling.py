"""One stage of authoring: ask, execute, show what went wrong, at most so many times; and the account of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from inspect import isawaitable
from typing import Any, Generic, TypeVar

from pipeline.models.players.author.asking import Said, Talk
from pipeline.records import Record

A = TypeVar("A", bound=Record)
B = TypeVar("B")

Problem = tuple[str, str]
"""Kind, a few words that failures are counted by; and a sentence that the model is shown."""
_FINAL = frozenset({"refused", "no answer", "prose", "schema instead of instance", "too many", "misfit"})
"""Kinds that end a stage: the door to the models has already shown the model what was wrong with its form."""


@dataclass
class Checked(Generic[B]):
    """What execution made of an answer: a result, perhaps only a part of what was wanted, and what was wrong."""

    result: B | None = None
    problems: Sequence[Problem] = ()
    whole: bool = True
    """False: the result is a part that will do when nothing better comes."""


@dataclass
class Step:
    """The account of one stage: what was asked, repaired, caught and spent, and what became of it."""

    stage: str
    subject: str
    asked: int = 0
    repairs: int = 0
    kept: bool = False
    partial: bool = False
    caught: list[str] = field(default_factory=list)
    """Kinds of the problems that were found on the way."""
    kind: str = ""
    message: str = ""
    tokens: int = 0
    cost: float = 0.0

    def count(self, said: Said[Any]) -> None:
        """Books an answer, and those before it that were no JSON of the wanted form."""
        self.asked += 1 + said.repairs
        self.repairs += said.repairs
        self.caught += ["form"] * said.repairs
        self.tokens += said.usage.tokens_in + said.usage.tokens_out
        self.cost += said.usage.cost


async def settle(
    talk: Talk,
    form: type[A],
    check: Callable[[A], Checked[B] | Awaitable[Checked[B]]],
    step: Step,
    *,
    repairs: int,
    also: Callable[[A], Iterable[Problem]] = lambda value: (),
    schema: dict[str, Any] | None = None,
) -> B | None:
    """The result of a stage, or the best part of one, or None; `step` says how it came about.

    `check` executes an answer; `also` holds what must be true of every answer whatever it is about, and is asked first.
    """
    best: B | None = None
    before = ""
    for attempt in range(repairs + 1):
        said = await talk.say(form, schema)
        step.count(said)
        if said.value is None:
            problems: list[Problem] = [(said.kind, said.problem)]
            checked = Checked[B](problems=problems)
        else:
            problems = list(also(said.value))
            found = Checked[B](problems=problems) if problems else check(said.value)
            checked = await found if isawaitable(found) else found
            problems = list(checked.problems)
        if checked.result is not None and not problems:
            step.kept, step.partial = True, not checked.whole
            return checked.result
        problems = problems or [("nothing", "there is nothing in it")]
        best = checked.result if checked.result is not None else best
        step.caught += list(dict.fromkeys(kind for kind, _ in problems))
        step.kind, step.message = problems[0]
        mended = best is not None and attempt > 0
        if step.kind in _FINAL or attempt == repairs or mended or said.raw == before:
            break  # a part that will do is mended once; who repeats an answer would repeat it again
        before = said.raw
        step.repairs += 1
        talk.object(said, "\n".join(dict.fromkeys(text for _, text in problems[:6])))
    if best is not None:
        step.kept = step.partial = True
    return best
