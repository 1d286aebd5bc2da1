"""The blocks of a text: headings, paragraphs, and what must never be cut.

A block is a range of characters; the blocks of a text follow each other without gaps and cover it wholly, blank
lines belonging to the block before them. The reading is tolerant: an unclosed fence ends with its text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

Kind = Literal["heading", "paragraph", "code", "math", "table", "item", "quote"]


@dataclass(frozen=True, slots=True)
class Block:
    kind: Kind
    start: int
    end: int
    level: int = 0
    """Depth of a heading, 1 … 6; 0 for other kinds."""

    @property
    def whole(self) -> bool:
        """Whether the block may not be cut."""
        return self.kind not in ("paragraph", "quote")


_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]")
_ITEM = re.compile(r"[ \t]*(?:[-*+•]|\d{1,3}[.)]|[a-z][.)])[ \t]+\S")
_TABLE = re.compile(r"[ \t]*\|.*\||[^|\n]+(?:\t[^\t\n]+){2,}")
_MATH_OPEN = re.compile(r"[ \t]*(\$\$|\\\[|\\begin\{(\w+\*?)\})")
_LIST_NUMBER = re.compile(r"[ \t]*(?:[-*+•]|\d)")


def blocks(text: str) -> list[Block]:
    """The blocks of `text`, in order; empty only for an empty text."""
    lines = [(found.start(), found.end()) for found in _LINE.finditer(text)]
    found: list[Block] = []
    at = 0
    while at < len(lines):
        kind, stop, level = _block_at(text, lines, at)
        while stop < len(lines) and text[lines[stop][0] : lines[stop][1]].isspace():
            stop += 1
        found.append(Block(kind, lines[at][0], lines[stop - 1][1], level))
        at = stop
    return found


def _block_at(text: str, lines: list[tuple[int, int]], at: int) -> tuple[Kind, int, int]:
    """Kind, index of the line after the block, and level, for the block that starts on line `at`."""
    start, end = lines[at]
    head = text[start : min(end, start + 200)]
    if fence := _FENCE.match(head):
        return "code", _close(text, lines, at, fence[1], whole_line=True), 0
    if heading := _HEADING.match(head):
        return "heading", at + 1, len(heading[1])
    if (math := _MATH_OPEN.match(head)) and (stop := _close_math(text, lines, at, math)):
        return "math", stop, 0
    if _TABLE.match(text, start, end):
        return "table", _while(text, lines, at, _TABLE), 0
    if _ITEM.match(head):
        return "item", _item_end(text, lines, at), 0
    if head.startswith(("    ", "\t")) and not head.isspace():
        return "code", _indented(text, lines, at), 0
    if head.lstrip().startswith(">"):
        return "quote", _while(text, lines, at, re.compile(r"\s*>")), 0
    return "paragraph", _paragraph_end(text, lines, at), 0


def _close(text: str, lines: list[tuple[int, int]], at: int, mark: str, *, whole_line: bool) -> int:
    for index in range(at + 1, len(lines)):
        line = text[lines[index][0] : lines[index][1]].strip()
        if (line.startswith(mark) and not line.strip(mark[0])) if whole_line else mark in line:
            return index + 1
    return len(lines)


def _close_math(text: str, lines: list[tuple[int, int]], at: int, opened: re.Match[str]) -> int:
    """Line after the display formula that opens on line `at`; 0 when it closes on its line with prose behind."""
    mark = {"$$": "$$", "\\[": "\\]"}.get(opened[1]) or f"\\end{{{opened[2]}}}"
    start, end = lines[at]
    where = text.find(mark, start + opened.end(), end)
    if where < 0:
        return _close(text, lines, at, mark, whole_line=False)
    return at + 1 if not text[where + len(mark) : end].strip(" \t\r\n.,;") else 0


def _while(text: str, lines: list[tuple[int, int]], at: int, pattern: re.Pattern[str]) -> int:
    stop = at + 1
    while stop < len(lines) and pattern.match(text, *lines[stop]):
        stop += 1
    return stop


def _item_end(text: str, lines: list[tuple[int, int]], at: int) -> int:
    """An item goes on over indented and plain lines until a blank line that no indented line follows."""
    stop = at + 1
    while stop < len(lines):
        line = text[lines[stop][0] : lines[stop][1]]
        if line.isspace():
            after = stop + 1
            if after >= len(lines) or text[lines[after][0]] not in " \t" or _ITEM.match(text, *lines[after]):
                return stop
        elif _ITEM.match(line) or _starts_other(line):
            return stop
        stop += 1
    return stop


def _indented(text: str, lines: list[tuple[int, int]], at: int) -> int:
    stop = at + 1
    while stop < len(lines) and text[lines[stop][0] : lines[stop][1]].startswith(("    ", "\t")):
        stop += 1
    return stop


def _starts_other(line: str) -> bool:
    return bool(_FENCE.match(line) or _HEADING.match(line))


def _paragraph_end(text: str, lines: list[tuple[int, int]], at: int) -> int:
    """A paragraph holds inline display formulas (`$$` on lines of their own) and ends at a blank line or a block."""
    stop = at + 1
    while stop < len(lines):
        start, end = lines[stop]
        head = text[start : min(end, start + 200)]
        if head.isspace() or _starts_other(head) or _TABLE.match(text, start, end):
            return stop
        if (
            _ITEM.match(head)
            and _LIST_NUMBER.match(head)
            and text[lines[stop - 1][0] : lines[stop - 1][1]].rstrip().endswith(":")
        ):
            return stop
        if math := _MATH_OPEN.match(head):
            stop = max(_close_math(text, lines, stop, math), stop + 1)
            continue
        stop += 1
    return stop
