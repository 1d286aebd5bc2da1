"""Asking an author: one form, filled in or not, and if not, why."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from pydantic import ValidationError

from pipeline.models.players.schemas import schema_of
from pipeline.models.players.seat import Seat
from pipeline.models.prompts import Prompts, shipped
from pipeline.models.prompts import fence as mark_for
from pipeline.models.structured import Unreadable, read_json
from pipeline.records import ChatAnswer, Json, Message, Outcome, Record, Usage

A = TypeVar("A", bound=Record)

_MANY = 40
"""Entries that the longest list of any form may have."""


@dataclass(frozen=True)
class Said(Generic[A]):
    """An answer: its value, or the kind of trouble with it and a sentence that the model may be shown.

    Kinds: refused, cut off, prose, schema instead of instance, too many, misfit (JSON of another form), no answer.
    """

    value: A | None
    raw: str
    usage: Usage
    kind: str = ""
    problem: str = ""
    repairs: int = 0
    """How often the door had it put right before: answers that were no JSON of the wanted form."""


class Asker:
    """An author's pen: renders prompts of the folder `author`, keeps the talk of one stage, reads the answers."""

    def __init__(
        self,
        seat: Seat,
        *,
        temperature: float | None = None,
        max_tokens: int | None = None,
        terse: bool = False,
        prompts: Prompts | None = None,
    ) -> None:
        """`terse`: a repair shows the problem alone and not the answer that had it, which weak models repeat."""
        self.seat = seat
        self.terse = terse
        self._temperature = temperature
        self._max_tokens = max_tokens
        self.prompts = prompts or shipped()
        self.author = f"model:{seat.model}"

    def begin(self, prompt: str, **inputs: Any) -> Talk:
        """A talk about one stage, begun with the prompt `author/PROMPT`."""
        file = self.prompts.get(f"author/{prompt}")
        return Talk(self, file.render(**inputs), file.version)

    async def ask(
        self, messages: tuple[Message, ...], version: str, form: type[A], schema: dict[str, Any] | None
    ) -> Said[A]:
        """EndpointDown and BudgetExceeded pass through; whatever else happens is data."""
        answer = await self.seat.try_(
            messages,
            version,
            output_schema=schema or schema_of(form),
            temperature=self._temperature,
            max_tokens=self._max_tokens,
        )
        if answer.outcome is not Outcome.OK:
            kind, problem = _trouble(answer)
            return Said(None, answer.content, answer.usage, kind, problem, answer.repairs)
        try:
            value = form.model_validate(answer.parsed)
            return Said(value, answer.content, answer.usage, repairs=answer.repairs)
        except ValidationError as error:
            found = error.errors(include_input=False, include_url=False)[0]
            problem = f"{'/'.join(map(str, found['loc']))}: {found['msg']}"
            return Said(None, answer.content, answer.usage, "misfit", problem, answer.repairs)


@dataclass
class Talk:
    """The messages of one stage: the request, and for each repair the answer and what was wrong with it."""

    pen: Asker
    messages: tuple[Message, ...]
    version: str

    async def say(self, form: type[A], schema: dict[str, Any] | None = None) -> Said[A]:
        """The next answer; `schema` may be narrower than the form's own."""
        return await self.pen.ask(self.messages, self.version, form, schema)

    def object(self, said: Said[Any], problem: str) -> None:
        """Shows the model its answer and what is wrong with it. Only the latest answer stays: earlier ones cost
        tokens and repeat mistakes."""
        kept = self.messages[: 2 if self.messages[0].role == "system" else 1]
        file = self.pen.prompts.get("author/anew" if self.pen.terse else "author/again")
        shown = problem[: 500 if self.pen.terse else 1500]
        told = file.render(problem=shown)
        if self.pen.terse:
            request = kept[-1].replace(content=f"{kept[-1].content}\n\n{told[0].content}")
            self.messages = (*kept[:-1], request)
        else:
            answer = Message(role="assistant", content=said.raw[:6000] or "(no answer)")
            self.messages = (*kept, answer, *told)
        if file.version not in self.version:
            self.version = f"{self.version}+{file.version}"


def _trouble(answer: ChatAnswer) -> tuple[str, str]:
    """Kind and sentence for an answer that is none."""
    if answer.outcome is Outcome.REFUSED:
        return "refused", answer.refusal or answer.content[:300]
    if answer.outcome is Outcome.TRUNCATED:
        return "cut off", "The answer was cut off before its end. Give a shorter one."
    if answer.outcome is Outcome.FAILED:
        return "no answer", answer.error
    try:
        value = read_json(answer.content)
    except Unreadable as error:
        begun = answer.content.lstrip()[:1] in ("{", "[")
        return ("cut off" if begun else "prose"), str(error)
    if isinstance(value, dict) and isinstance(value.get("properties"), dict) and "type" in value:
        return "schema instead of instance", "This is the schema itself. Fill it in with content."
    listed = (
        [len(part) for part in value.values() if isinstance(part, list)] if isinstance(value, dict) else []
    )
    if max(listed, default=0) > _MANY:
        return "too many", f"The list has {max(listed)} entries; at most {_MANY} are ever wanted."
    return "misfit", answer.error


def fence(*shown: Json) -> str:
    """A mark to stand around the shown data, which does not hold it.

    It depends on the first of them, as long as it can: an endpoint that keeps the beginning of a prompt need not read
    the same world again for each of its tools.
    """
    return mark_for(list(shown), shown[0] if shown else "")


def lines(values: Iterable[Json]) -> list[str]:
    """Values as lines of JSON: nothing in them can end a line or pass for an instruction of ours."""
    return [json.dumps(value, ensure_ascii=False) for value in values]
