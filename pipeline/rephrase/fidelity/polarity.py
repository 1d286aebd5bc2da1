"""Negation: what one text denies and the other states.

Two signs make a failure: what a mark of denial denies stands in the other text, close to the same words; and nothing
there denies, forbids, excepts or restricts in any other way.
"""

from __future__ import annotations

from collections.abc import Iterator

from pipeline.records import Finding, Span
from pipeline.rephrase.fidelity.alignment import Group
from pipeline.rephrase.fidelity.analysis import Analysis
from pipeline.rephrase.fidelity.lexicon import COVERS
from pipeline.rephrase.fidelity.marks import COMPARES, LARGER, Mark, marks
from pipeline.rephrase.fidelity.matching import kindred

_LONGER = 1.5
"""By how much one of two sentences that count as the same may be the longer one."""
_NEARLY = 0.75
"""Share of common stems from which two sentences count as the same."""


def compare_negation(source: Analysis, rewrite: Analysis, groups: list[Group]) -> list[Finding]:
    """Findings for what is denied on one side and stated on the other; one a group and direction."""
    found: list[Finding] = []
    for group in groups:
        before = len(found)
        for one, other, mine, yours, lost in (
            (source, rewrite, group.source, group.rewrite, True),
            (rewrite, source, group.rewrite, group.source, False),
        ):
            for index in mine:
                for mark in marks(one)[index]:
                    if mark.kind == "soft":
                        continue
                    severe = _uncovered(one, other, mark, mine, yours)
                    if severe is not None:
                        found.append(_finding(mark, other, yours, lost=lost, severe=severe))
        if len(found) == before:
            found.extend(_parity(source, rewrite, group))
    return found


def _uncovered(
    one: Analysis, other: Analysis, mark: Mark, mine: tuple[int, ...], yours: tuple[int, ...]
) -> bool | None:
    """Whether the other side states what a mark denies: surely (True), perhaps (False), or not at all (None)."""
    places = {
        index: [stem for stem in mark.focus if any(kindred(stem, held) for held in other.stems[index])]
        for index in yours
    }
    stating = [index for index, held in places.items() if held]
    if not stating or one.sentences[mark.token.sentence].question:
        return None
    said = {*stating, *_saying(other, mark)}
    if any(_denies(other, index) for index in said) or _cancelled(one, mark):
        return None
    first = mark.focus[0] if mark.focus else ""
    best = max(stating, key=lambda index: len(places[index]))
    near = places[best]
    context = _context(one, mark)
    shared = sum(any(kindred(stem, held) for held in other.stems[best]) for stem in context)
    close = len(near) >= min(_FOCUS, len(mark.focus)) and first in near
    more = _count(one, mine) > _count(other, yours)
    return close and more and shared >= _SHARED * len(context)


def _saying(analysis: Analysis, mark: Mark) -> list[int]:
    """The sentences anywhere that say what a mark denies."""
    wanted = min(_FOCUS, len(mark.focus))
    return [
        index
        for index, stems in enumerate(analysis.stems)
        if sum(any(kindred(stem, held) for held in stems) for stem in mark.focus) >= wanted
    ]


def _cancelled(analysis: Analysis, mark: Mark) -> bool:
    """Whether another mark close by takes a denial back: `does not keep them from flying`."""
    tokens = analysis.by_sentence[mark.token.sentence]
    at = tokens.index(mark.token)
    return any(
        0 < abs(tokens.index(other.token) - at) <= _CLOSE
        for other in marks(analysis)[mark.token.sentence]
        if other.token.lower not in _REPEATS and mark.token.lower not in _REPEATS
    )


_CLOSE = 4
_FOCUS, _SHARED = 2, 0.5
"""Words of the focus that must stand together on the other side, and the share of its sentence's words."""


def _context(analysis: Analysis, mark: Mark) -> list[str]:
    """Content stems within eight tokens of a mark in its sentence."""
    tokens = analysis.by_sentence[mark.token.sentence]
    at = tokens.index(mark.token)
    return [token.stem for token in tokens[max(0, at - 8) : at + 9] if token.stem and token is not mark.token]


def _denies(analysis: Analysis, index: int) -> bool:
    """Whether anything in a sentence, or in the answer to it or the question before it, denies or restricts."""
    near = [index]
    if analysis.sentences[index].question:
        near.append(index + 1)
    elif index and analysis.sentences[index - 1].question:
        near.append(index - 1)
    return any(
        marks(analysis)[at]
        or any(token.lower in COVERS[analysis.language] for token in analysis.by_sentence[at])
        for at in near
        if at < len(analysis.sentences)
    )


def _count(analysis: Analysis, sentences: tuple[int, ...]) -> int:
    """Marks of some sentences; those that repeat a denial (`no … nadie`, `neither … nor`) count once."""
    once = analysis.language in ("es", "fr")
    total = 0
    for index in sentences:
        here = [mark for mark in marks(analysis)[index] if mark.token.lower not in _REPEATS]
        total += min(1, len(here)) if once else len(here)
    return total


_REPEATS = frozenset("nor noch ni".split())


def _parity(source: Analysis, rewrite: Analysis, group: Group) -> Iterator[Finding]:
    """A negator more or less between two sentences that are otherwise the same."""
    for index in group.source:
        mine = source.stems[index]
        alike = {
            at: len(mine & rewrite.stems[at]) / (len(mine | rewrite.stems[at]) or 1) for at in group.rewrite
        }
        best = max(alike, key=lambda at: alike[at], default=None)
        sizes = sorted(len(text.by_sentence[at]) for text, at in ((source, index), (rewrite, best or 0)))
        if (
            best is None
            or alike[best] < _NEARLY
            or rewrite.sentences[best].question
            or sizes[1] > _LONGER * sizes[0]
        ):
            continue
        ours, theirs = _negators(source, index), _negators(rewrite, best)
        if (len(ours) - len(theirs)) % 2 == 0 or _others(source, index) != _others(rewrite, best):
            continue
        if len(ours) > len(theirs):
            yield _finding(ours[-1], rewrite, group.rewrite, lost=True)
        else:
            yield _finding(theirs[-1], source, group.source, lost=False)


def _negators(analysis: Analysis, index: int) -> list[Mark]:
    """The negators of a sentence, those that bound or compare among them; `neither … nor` is one."""
    return [
        mark
        for mark in marks(analysis)[index]
        if mark.token.lower not in _REPEATS and (mark.kind == "not" or (mark.kind == "soft" and mark.focus))
    ]


def _others(analysis: Analysis, index: int) -> list[str]:
    """All else that denies, restricts or compares in a sentence."""
    words = {
        mark.token for mark in marks(analysis)[index] if not mark.focus or mark.kind not in ("not", "soft")
    }
    return sorted(
        token.lower
        for token in analysis.by_sentence[index]
        if token in words
        or token.lower in COVERS[analysis.language]
        or token.lower in COMPARES.get(analysis.language, ())
        or (analysis.language == "en" and LARGER.fullmatch(token.lower))
    )


def _finding(
    mark: Mark, other: Analysis, sentences: tuple[int, ...], *, lost: bool, severe: bool = True
) -> Finding:
    token = mark.token
    mine = Span(start=token.start, end=token.end, text=token.text)
    first, last = other.sentences[sentences[0]], other.sentences[sentences[-1]]
    place = Span(start=first.start, end=last.end, text=other.text[first.start : last.end])
    return Finding(
        kind="negation",
        direction="lost" if lost else "added",
        message=f"{token.text!r} is {'gone' if lost else 'new'}",
        source=mine if lost else place,
        rewrite=place if lost else mine,
        severity="fail" if severe else "warn",
    )
