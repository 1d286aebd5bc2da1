"""Documents, their pieces, their rewritings, and the verdict on fidelity."""

from __future__ import annotations

from functools import cached_property
from typing import Literal

from pipeline.records.base import Record, content_id


class Document(Record):
    """A source text, exactly as read (decoded)."""

    source: str
    """File name or row id, without machine paths."""
    text: str
    kind: Literal["knowledge", "math", "code", "table"] = "knowledge"
    language: str = "en"
    title: str = ""
    license: str = ""

    @cached_property
    def id(self) -> str:
        return content_id("doc", [self.source, self.text])


class Chunk(Record):
    """A piece of a document: `text == document.text[start:end]`; chunks joined give the document."""

    document: str
    index: int
    start: int
    end: int
    text: str
    tokens: int
    heading: str = ""


class Span(Record):
    """Character offsets [start, end) in a named text."""

    start: int
    end: int
    text: str = ""


class Finding(Record):
    """One difference between source and rewriting."""

    kind: str
    """number, unit, date, name, negation, condition, comparison, quantifier, formula, answer, arithmetic, …"""
    direction: Literal["added", "lost", "changed"]
    message: str
    source: Span | None = None
    rewrite: Span | None = None
    severity: Literal["fail", "warn"] = "fail"


class FidelityReport(Record):
    """Whether source and rewriting say the same, both ways."""

    verdict: Literal["faithful", "unfaithful", "undecided"]
    score: float
    findings: tuple[Finding, ...] = ()
    coverage: float = 1.0
    """Share of the source's checkable facts that the rewriting keeps."""
    checker: str = "rules"


class Rewrite(Record):
    """A rewriting of one chunk in one style."""

    document: str
    chunk: int
    style: str
    text: str
    verdict: Literal["kept", "source_kept", "rejected"]
    """`source_kept`: no attempt was good enough, the source text stands in its place."""
    reason: str = ""
    attempts: int = 1
    author: str = "teacher"
    prompt: str = ""
    """Prompt hash."""
    seed: int = 0
    source: Span
    place: Span | None = None
    """Where it stands in the stitched text."""
    report: FidelityReport | None = None

    @cached_property
    def id(self) -> str:
        return content_id("rw", [self.document, self.chunk, self.style, self.seed])
