"""Rewriting a document chunk by chunk in some styles, checked, stitched, and told as rows.

Nothing is dropped silently: a chunk whose answers are not good enough keeps its source text and says why.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from pipeline.config.rephrase import RephraseSection
from pipeline.records import (
    Checker,
    Chunk,
    Document,
    FidelityReport,
    ModelError,
    Rewrite,
    Rewriter,
    RewriteRequest,
    Span,
)
from pipeline.rephrase.answers import clean, fault, same_seam
from pipeline.rephrase.blocks import blocks
from pipeline.rephrase.chunking import chunk
from pipeline.rephrase.diversity import overlap
from pipeline.rephrase.styles import STYLES, Style
from pipeline.rephrase.tokens import Counter, counter

Rows = dict[str, list[dict[str, Any]]]
"""Rows by table: `documents`, `rewrites`, `findings`, `rewrite_attempts`, `texts`."""


class Rephrased(NamedTuple):
    """What became of one document."""

    rewrites: list[Rewrite]
    texts: dict[str, str]
    """The stitched text by style."""
    rows: Rows


@dataclass(slots=True)
class _Tries:
    """What the attempts at one chunk came to."""

    text: str = ""
    report: FidelityReport | None = None
    prompt: str = ""
    attempts: int = 0
    reasons: list[str] = field(default_factory=list)
    rejected: list[str] = field(default_factory=list)
    """The answers that were not taken, one for each reason; empty where there was none."""
    good: bool = False


async def rephrase_document(
    document: Document,
    styles: Sequence[str],
    rewriter: Rewriter,
    checker: Checker,
    config: RephraseSection,
    seed: int,
) -> Rephrased:
    """Rewrites `document` once in each of `styles`.

    EndpointDown and BudgetExceeded pass through; a ModelError of one call is one failed attempt.
    """
    count = counter(config.tokenizer)
    chunks = chunk(document, config)
    rewrites: list[Rewrite] = []
    texts: dict[str, str] = {}
    rows: Rows = {"documents": [], "rewrites": [], "findings": [], "rewrite_attempts": [], "texts": []}
    for name in styles:
        made = await _in_style(document, chunks, STYLES[name], rewriter, checker, config, seed, count, rows)
        if other := _too_alike(made, rewrites, config):
            made = [_reverted(item, chunks[item.chunk], f"as {other}") for item in made]
        texts[name], placed = stitch(document, chunks, made)
        rewrites.extend(placed)
        rows["texts"].append(_text_row(document, name, texts[name], placed, count))
    rows["documents"].append(document_row(document, chunks, count))
    refused = {(row["style"], row["chunk"]): row["text"] for row in rows["rewrite_attempts"]}
    for item in rewrites:
        row = _rewrite_row(item, chunks[item.chunk], count)
        row["refused_text"] = (
            refused.get((item.style, item.chunk), "") if item.verdict == "source_kept" else ""
        )
        rows["rewrites"].append(row)
        rows["findings"].extend(_finding_rows(item))
    return Rephrased(rewrites, texts, rows)


async def _in_style(
    document: Document,
    chunks: list[Chunk],
    style: Style,
    rewriter: Rewriter,
    checker: Checker,
    config: RephraseSection,
    seed: int,
    count: Counter,
    rows: Rows,
) -> list[Rewrite]:
    written = ""
    made: list[Rewrite] = []
    for piece in chunks:
        if reason := _nothing_to_say(piece, style):
            result = _kept_source(piece, style, seed, rewriter.name, _Tries(reasons=[reason]))
        else:
            tries = await _attempts(document, piece, style, written, rewriter, checker, config, seed, count)
            rows["rewrite_attempts"].extend(
                {
                    "document": document.id,
                    "chunk": piece.index,
                    "style": style.name,
                    "attempt": number,
                    "reason": reason,
                    "text": text,
                }
                for number, (reason, text) in enumerate(zip(tries.reasons, tries.rejected, strict=True))
            )
            result = _rewrite(piece, style, seed, rewriter.name, tries)
        written = _join(written, result.text)
        made.append(result)
    return made


async def _attempts(
    document: Document,
    piece: Chunk,
    style: Style,
    written: str,
    rewriter: Rewriter,
    checker: Checker,
    config: RephraseSection,
    seed: int,
    count: Counter,
) -> _Tries:
    """Asks until an answer is good or the attempts are used up; the reasons of the failed ones are kept in order."""
    tries = _Tries()
    tail = _tail(written, config.tail_tokens, count)
    for attempt in range(config.attempts):
        tries.attempts = attempt + 1
        try:
            answer = await rewriter.rewrite(RewriteRequest(document, piece, style.name, tail, attempt, seed))
        except ModelError as error:
            if type(error) is not ModelError:
                raise
            tries.reasons.append(f"no answer: {error.what}")
            tries.rejected.append("")
            continue
        tries.prompt = answer.prompt
        text = clean(answer.text)
        bounds = (min(config.min_ratio, style.min_ratio), max(config.max_ratio, style.max_ratio))
        languages = (document.language, config.target_language)
        reason = fault(answer, text, piece, style, count, languages, bounds)
        if not reason and (repeated := same_seam(written, text)):
            reason = f"repeats at the seam: {repeated[:80]}"
        if (
            not reason
            and document.kind == "knowledge"
            and (share := overlap(text, piece.text)) > config.max_overlap
        ):
            reason = f"too close to the source ({share:.2f})"
        if not reason:
            report = await checker.check(piece.text, text, style=style.name, kind=document.kind)
            tries.report = report
            if report.verdict == "faithful":
                tries.text, tries.good = text, True
                return tries
            failed = [finding for finding in report.findings if finding.severity == "fail"]
            reason = "; ".join(
                f"{finding.kind} {finding.direction}: {finding.message}" for finding in failed[:3]
            )
            reason = reason or f"fidelity {report.verdict}"
        tries.reasons.append(reason)
        tries.rejected.append(text)
    return tries


def _nothing_to_say(piece: Chunk, style: Style) -> str:
    """Why a chunk is passed on as it is: nothing but code, tables, display formulas and headings."""
    kinds = {block.kind for block in blocks(piece.text)}
    if kinds <= {"code", "table", "math", "heading"} and not (
        "code" in kinds and style.name == "commented_code"
    ):
        return "nothing but " + ", ".join(sorted(kinds))
    return ""


def _rewrite(piece: Chunk, style: Style, seed: int, author: str, tries: _Tries) -> Rewrite:
    if not tries.good:
        return _kept_source(piece, style, seed, author, tries)
    return Rewrite(
        document=piece.document,
        chunk=piece.index,
        style=style.name,
        text=tries.text,
        verdict="kept",
        attempts=tries.attempts,
        author=author,
        prompt=tries.prompt,
        seed=seed,
        source=Span(start=piece.start, end=piece.end),
        report=tries.report,
    )


def _kept_source(piece: Chunk, style: Style, seed: int, author: str, tries: _Tries) -> Rewrite:
    return Rewrite(
        document=piece.document,
        chunk=piece.index,
        style=style.name,
        text=piece.text.strip(),
        verdict="source_kept",
        reason=tries.reasons[-1] if tries.reasons else "",
        attempts=tries.attempts,
        author=author,
        prompt=tries.prompt,
        seed=seed,
        source=Span(start=piece.start, end=piece.end),
        report=tries.report,
    )


def _reverted(item: Rewrite, piece: Chunk, why: str) -> Rewrite:
    if item.verdict != "kept":
        return item
    return item.replace(
        text=piece.text.strip(), verdict="source_kept", reason=f"too close to the rewriting {why}"
    )


def _too_alike(made: list[Rewrite], before: list[Rewrite], config: RephraseSection) -> str:
    """An earlier style whose rewritings these repeat, or nothing; kept source texts are no rewritings."""
    text = _kept_text(made)
    for style in dict.fromkeys(item.style for item in before):
        other = _kept_text([item for item in before if item.style == style])
        if overlap(text, other) > config.max_overlap_between:
            return style
    return ""


def _kept_text(made: list[Rewrite]) -> str:
    return "\n\n".join(item.text for item in made if item.verdict == "kept")


def stitch(document: Document, chunks: list[Chunk], rewrites: list[Rewrite]) -> tuple[str, list[Rewrite]]:
    """The rewritings joined as the chunks were, and the rewritings with their places in the joined text."""
    text = ""
    placed = []
    for piece, item in zip(chunks, rewrites, strict=True):
        before = _seam(chunks[piece.index - 1], item.text) if piece.index else ""
        start = len(text) + len(before)
        text += before + item.text
        placed.append(item.replace(place=Span(start=start, end=start + len(item.text))))
    return text + ("\n" if document.text.endswith("\n") else ""), placed


def _seam(before: Chunk, text: str) -> str:
    """What stands between two rewritten chunks: the white space of the source, at least a space or a line."""
    space = before.text[len(before.text.rstrip()) :]
    if "\n\n" in space or text.startswith(("#", "-", "|", "```", "$$", "1.")):
        return "\n\n"
    return "\n" if "\n" in space else " "


def _join(written: str, text: str) -> str:
    return f"{written}\n\n{text}" if written else text


def _tail(written: str, tokens: int, count: Counter) -> str:
    """The last sentences of what is written, at most about `tokens`."""
    if count(written) <= tokens:
        return written
    cut = written[-tokens * 4 :]
    found = re.search(r"(?<=[.!?。])\s+", cut)
    return cut[found.end() :] if found else cut


def document_row(document: Document, chunks: list[Chunk], count: Counter) -> dict[str, Any]:
    """The row of table `documents`: the text itself, with what was counted."""
    return {
        "id": document.id,
        "source": document.source,
        "title": document.title,
        "kind": document.kind,
        "language": document.language,
        "license": document.license,
        "characters": len(document.text),
        "tokens": count(document.text),
        "chunks": len(chunks),
        "text": document.text,
    }


def _rewrite_row(item: Rewrite, piece: Chunk, count: Counter) -> dict[str, Any]:
    report = item.report
    place = item.place or Span(start=0, end=0)
    return {
        "id": item.id,
        "document": item.document,
        "chunk": item.chunk,
        "style": item.style,
        "verdict": item.verdict,
        "reason": item.reason,
        "attempts": item.attempts,
        "author": item.author,
        "prompt": item.prompt,
        "seed": item.seed,
        "source_start": item.source.start,
        "source_end": item.source.end,
        "place_start": place.start,
        "place_end": place.end,
        "heading": piece.heading,
        "tokens_source": piece.tokens,
        "tokens": count(item.text),
        "fidelity": report.verdict if report else "",
        "score": report.score if report else None,
        "coverage": report.coverage if report else None,
        "checker": report.checker if report else "",
        "findings": len(report.findings) if report else 0,
        "overlap": round(overlap(item.text, piece.text), 4),
        "text": item.text,
        "source_text": piece.text,
    }


def _finding_rows(item: Rewrite) -> list[dict[str, Any]]:
    return [
        {
            "rewrite": item.id,
            "document": item.document,
            "chunk": item.chunk,
            "style": item.style,
            "index": index,
            "kind": finding.kind,
            "direction": finding.direction,
            "severity": finding.severity,
            "message": finding.message,
            "source_start": finding.source.start if finding.source else None,
            "source_end": finding.source.end if finding.source else None,
            "source_text": finding.source.text if finding.source else "",
            "rewrite_start": finding.rewrite.start if finding.rewrite else None,
            "rewrite_end": finding.rewrite.end if finding.rewrite else None,
            "rewrite_text": finding.rewrite.text if finding.rewrite else "",
        }
        for index, finding in enumerate(item.report.findings if item.report else ())
    ]


def _text_row(
    document: Document, style: str, text: str, made: list[Rewrite], count: Counter
) -> dict[str, Any]:
    """A row of the corpus: the stitched text with where it comes from."""
    kept = [item for item in made if item.verdict == "kept"]
    covered = [item.report.coverage for item in kept if item.report]
    return {
        "document": document.id,
        "source": document.source,
        "style": style,
        "language": document.language,
        "kind": document.kind,
        "license": document.license,
        "author": made[0].author if made else "",
        "prompts": sorted({item.prompt for item in made if item.prompt}),
        "seed": made[0].seed if made else 0,
        "chunks": len(made),
        "chunks_kept": len(kept),
        "coverage": round(sum(covered) / len(covered), 6) if covered else 1.0,
        "tokens_source": count(document.text),
        "tokens": count(text),
        "text": text,
    }
