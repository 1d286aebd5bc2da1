"""Cutting a document into chunks: headings, then paragraphs, then sentences; offset-exact.

A cut never falls inside a formula, code, a table, a list item, a quotation or a citation. The chunks joined are the
document, character by character (and so byte by byte in its encoding).
"""

from __future__ import annotations

import itertools
import re
from bisect import bisect_left
from collections.abc import Iterator
from unicodedata import combining

import sentencex

from pipeline.config.rephrase import RephraseSection
from pipeline.records import Chunk, Document
from pipeline.rephrase.blocks import Block, blocks
from pipeline.rephrase.tokens import Counter, counter

_PROTECTED = re.compile(
    r"\$\$.+?\$\$|\\\[.+?\\\]|\\\(.+?\\\)|\\begin\{(?P<env>\w+\*?)\}.+?\\end\{(?P=env)\}"
    r"|(?<![\\$\w])\$(?=[^\s$])[^$\n]{1,400}?(?<=[^\s\\])\$(?![\d$])|(?P<ticks>`+)[^`]+?(?P=ticks)"
    r"|\*\*[^*\n]{1,200}\*\*|\[[^\[\]\n]{1,300}\](?:\([^()\n]{1,500}\))?|\([^()\n]{1,300}\)"
    r"|“[^“”]{1,2000}”|„[^„“”]{1,2000}[“”]|«[^«»]{1,2000}»|「[^「」]{1,2000}」|(?<!\w)\"[^\"\n]{1,1000}\"",
    re.DOTALL,
)
_CLAUSE = re.compile(r"[;:,、;,،]\s*|\s+")
_JOINERS = "\u200d\ufe0f\ufe0e"
_MIN_PIECE = 200
_OVERSIZE = 4
"""A sentence of more than this many budgets is cut at clauses or words; shorter ones stay whole."""


def chunk(document: Document, config: RephraseSection) -> list[Chunk]:
    """The chunks of `document`, at most `config.chunk_tokens` each except where one piece may not be cut."""
    count = counter(config.tokenizer)
    text, budget = document.text, config.chunk_tokens
    cut: list[Chunk] = []
    start, size, before = 0, 0, ""
    latest = heading = ""
    for kind, begin, end in _pieces(document, count, budget):
        tokens = count(text[begin:end])
        full = size + tokens > budget or (kind == "heading" and size > budget // 3)
        if begin > start and full and before != "heading":  # a heading stays with what it announces
            cut.append(_chunk(document, len(cut), start, begin, heading, count))
            start, size, heading = begin, 0, latest
        if kind == "heading":
            latest = text[begin:end].strip().lstrip("#").strip()
            heading = latest if begin == start else heading
        size += tokens
        before = kind
    if start < len(text):
        cut.append(_chunk(document, len(cut), start, len(text), heading, count))
    return cut


def _chunk(document: Document, index: int, start: int, end: int, heading: str, count: Counter) -> Chunk:
    text = document.text[start:end]
    return Chunk(
        document=document.id,
        index=index,
        start=start,
        end=end,
        text=text,
        tokens=count(text),
        heading=heading,
    )


def _pieces(document: Document, count: Counter, budget: int) -> Iterator[tuple[str, int, int]]:
    """Blocks, and the sentences of those paragraphs that exceed the budget, as (kind, start, end)."""
    for block in blocks(document.text):
        piece = document.text[block.start : block.end]
        if block.whole or (len(piece) <= budget or count(piece) <= budget):
            yield block.kind, block.start, block.end
        else:
            yield from _sentences_of(document, block, count, budget)


def _sentences_of(
    document: Document, block: Block, count: Counter, budget: int
) -> Iterator[tuple[str, int, int]]:
    piece = document.text[block.start : block.end]
    guarded = protected(piece)
    begin = 0
    for end in [*_boundaries(piece, document.language, guarded), len(piece)]:
        if count(piece[begin:end]) > budget * _OVERSIZE:
            for stop in _clauses(piece, begin, end, guarded, budget * 3):
                yield block.kind, block.start + begin, block.start + stop
                begin = stop
        elif end > begin:
            yield block.kind, block.start + begin, block.start + end
        begin = end


def sentence_spans(text: str, language: str) -> list[tuple[int, int]]:
    """Character ranges of the sentences of `text`, without gaps; formulas, quotations and citations stay whole."""
    cuts = [0, *_boundaries(text, language, protected(text)), len(text)]
    return [(a, b) for a, b in itertools.pairwise(cuts) if b > a]


def protected(text: str) -> list[tuple[int, int]]:
    """Ranges of `text` in which no cut may fall, in order."""
    return [found.span() for found in _PROTECTED.finditer(text)]


def _boundaries(text: str, language: str, guarded: list[tuple[int, int]]) -> Iterator[int]:
    """Ends of sentences, the last one excepted."""
    at, guard = 0, 0
    for sentence in sentencex.segment(language, text):
        at += len(sentence)
        while guard < len(guarded) and guarded[guard][1] <= at:
            guard += 1
        inside = guard < len(guarded) and guarded[guard][0] < at
        if not inside and at < len(text):
            yield at


def _clauses(text: str, start: int, end: int, guarded: list[tuple[int, int]], limit: int) -> Iterator[int]:
    """Cuts in an endless sentence: behind clause marks or words, else between characters; the end is the last."""
    lows = [low for low, _ in guarded]
    step = max(limit, _MIN_PIECE)
    begin = start
    for found in _CLAUSE.finditer(text, start, end):
        at = found.end()
        while at - begin > 2 * step:
            begin = _safe(text, begin + step, at, guarded, lows)
            yield begin
        if at - begin >= step and at < end and _safe(text, at, at, guarded, lows) == at:
            yield at
            begin = at
    while end - begin > 2 * step:
        begin = _safe(text, begin + step, end, guarded, lows)
        yield begin
    if begin < end:
        yield end


def _safe(text: str, at: int, end: int, guarded: list[tuple[int, int]], lows: list[int]) -> int:
    """The first place at or after `at` that is in no guarded range and splits no combined character."""
    index = bisect_left(lows, at) - 1
    if index >= 0 and guarded[index][1] > at:
        at = guarded[index][1]
    while at < end and (combining(text[at]) or text[at] in _JOINERS):
        at += 1
    return at
