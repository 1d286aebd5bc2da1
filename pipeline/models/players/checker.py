"""A checker of faithfulness, played by a model: claims compared both ways, with quotations that must exist."""

from __future__ import annotations

import re
from typing import Literal

from pydantic import Field

from pipeline.models.players.schemas import read_record, schema_of
from pipeline.models.players.seat import Seat
from pipeline.models.prompts import Prompts, shipped
from pipeline.models.structured import Unreadable
from pipeline.records import FidelityReport, Finding, Record, Span


class Difference(Record):
    """One fact that source and rewriting do not share."""

    direction: Literal["added", "lost", "changed"]
    kind: Literal[
        "number", "unit", "date", "name", "negation", "condition", "comparison", "quantifier", "formula",
        "answer", "arithmetic", "claim",
    ]  # fmt: skip
    source_quote: str = Field(
        description="the words of the source, verbatim; empty when it says nothing of it"
    )
    rewrite_quote: str = Field(
        description="the words of the rewriting, verbatim; empty when it says nothing of it"
    )
    message: str = Field(description="what differs, in one sentence")


class CheckerAnswer(Record):
    """All differences; none for a faithful rewriting."""

    differences: list[Difference]


class ModelChecker:
    """Asks for differences, and believes only those whose quotations stand in the texts."""

    def __init__(
        self, seat: Seat, *, temperature: float | None = 0.0, prompts: Prompts | None = None
    ) -> None:
        self._seat = seat
        self._temperature = temperature
        self._prompt = (prompts or shipped()).get("checker/compare")
        self.name = f"model:{seat.model}"

    async def check(self, source: str, rewrite: str, *, style: str, kind: str) -> FidelityReport:
        """`undecided` when the answer cannot be read, or when no quotation of it can be found."""
        messages = self._prompt.render(source=source, rewrite=rewrite, style=style, kind=kind)
        answer = await self._seat.try_(
            messages,
            self._prompt.version,
            output_schema=schema_of(CheckerAnswer),
            temperature=self._temperature,
        )
        by = f"{self.name} {self._prompt.version}"
        try:
            differences = read_record(answer, CheckerAnswer).differences
        except Unreadable:
            return FidelityReport(verdict="undecided", score=0.5, checker=by)
        found = [finding for item in differences if (finding := _finding(item, source, rewrite)) is not None]
        if found:
            return FidelityReport(verdict="unfaithful", score=0.0, findings=tuple(found), checker=by)
        if differences:
            return FidelityReport(verdict="undecided", score=0.5, checker=by)
        return FidelityReport(verdict="faithful", score=1.0, checker=by)


def _finding(said: Difference, source: str, rewrite: str) -> Finding | None:
    """The difference with its places, or None when a quotation it needs stands nowhere."""
    here, there = _place(said.source_quote, source), _place(said.rewrite_quote, rewrite)
    needed = {"lost": (here,), "added": (there,), "changed": (here, there)}[said.direction]
    if any(span is None for span in needed):
        return None
    return Finding(kind=said.kind, direction=said.direction, message=said.message, source=here, rewrite=there)


def _place(quote: str, text: str) -> Span | None:
    """Where the quotation stands; differences of white space do not matter."""
    words = quote.split()
    if not words:
        return None
    start = text.find(quote)
    if start >= 0:
        return Span(start=start, end=start + len(quote), text=quote)
    match = re.search(r"\s+".join(re.escape(word) for word in words), text)
    return None if match is None else Span(start=match.start(), end=match.end(), text=match[0])
