"""Sentences lost or invented, and members of lists."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from pipeline.records import Finding, Span
from pipeline.rephrase.fidelity.alignment import Group, tokens_of, units
from pipeline.rephrase.fidelity.analysis import Analysis, Token
from pipeline.rephrase.fidelity.lexicon import GENERIC
from pipeline.rephrase.fidelity.matching import has, kindred

_LOST, _INVENTED = 0.3, 0.25
"""Share of a sentence's content words that two neighboring sentences of the other text must have."""
_FEWEST = 3
"""Content words from which a sentence is held to say something of its own."""


@dataclass(frozen=True, slots=True)
class Said:
    """A unit of sentences, and the share of its content that the other text has."""

    unit: tuple[int, ...]
    share: float


def compare_content(source: Analysis, rewrite: Analysis) -> tuple[list[Finding], float]:
    """Findings for sentences without a counterpart, and the mean share of the source's content that is kept."""
    kept = _shares(source, rewrite)
    made = _shares(rewrite, source)
    findings = [
        Finding(
            kind="lost_sentence",
            direction="lost",
            message=f"nothing says this ({item.share:.2f})",
            source=_span(source, item.unit),
        )
        for item in kept
        if item.share < _LOST
    ]
    findings += [
        Finding(
            kind="invented_sentence",
            direction="added",
            message=f"nothing in the source says this ({item.share:.2f})",
            rewrite=_span(rewrite, item.unit),
        )
        for item in made
        if item.share < _INVENTED and not all(rewrite.sentences[index].question for index in item.unit)
    ]
    return findings, sum(item.share for item in kept) / len(kept) if kept else 1.0


def _span(analysis: Analysis, unit: tuple[int, ...]) -> Span:
    start, end = analysis.sentences[unit[0]].start, analysis.sentences[unit[-1]].end
    return Span(start=start, end=end, text=analysis.text[start:end])


def _shares(one: Analysis, other: Analysis) -> list[Said]:
    """The share of each unit's content words that the other text has left for it.

    A word of the other text speaks for one unit only: those with the best counterpart take theirs first. So a sentence
    that shares its subject with its neighbors is missed all the same.
    """
    pools = [
        frozenset().union(*other.stems[max(0, at - 1) : at + 1]) for at in range(max(1, len(other.stems)))
    ]
    held: list[tuple[float, tuple[int, ...], frozenset[str]]] = []
    for unit in units(one):
        tokens = tokens_of(one, unit)
        stems = frozenset(token.stem for token in tokens if token.stem)
        formulas = sum(formula.sentence in unit for formula in one.formulas)
        if len(stems) >= _FEWEST + 3 * bool(formulas):
            held.append(
                (max(sum(has(stem, pool) for stem in stems) for pool in pools) / len(stems), unit, stems)
            )
    left = Counter(token.stem for token in other.tokens if token.stem)
    found = [
        Said((index,), share)
        for index in _answers(one)
        if (
            share := max(sum(has(stem, pool) for stem in one.stems[index]) for pool in pools)
            / len(one.stems[index])
        )
        < _ALONE
    ]
    for best, unit, stems in sorted(held, key=lambda item: -item[0]):
        taken = [name for stem in sorted(stems) if (name := _take(stem, left)) is not None]
        left.subtract(taken)
        found.append(Said(unit, min(best, len(taken) / len(stems) + _SHARED)))
    return sorted(found, key=lambda item: item.unit)


_ALONE = 0.15
"""Share of its words below which a sentence says something else, whatever question it stands behind."""


def _answers(analysis: Analysis) -> Iterator[int]:
    """Sentences of some length that are read together with the question before them."""
    for unit in units(analysis):
        if len(unit) > 1:
            yield from (
                index
                for index in unit
                if not analysis.sentences[index].question and len(analysis.stems[index]) > _FEWEST
            )


_SHARED = 0.1
"""What a unit may have in common with its neighbors without a word of its own."""


def _take(stem: str, left: Counter[str]) -> str | None:
    if left[stem] > 0:
        return stem
    return next((name for name, count in left.items() if count > 0 and kindred(name, stem)), None)


def compare_lists(source: Analysis, rewrite: Analysis, groups: list[Group]) -> list[Finding]:
    """Findings for members of enumerations (three items or more) that are missing or new in the sentences opposite."""
    found = []
    for one, other, direction in ((source, rewrite, "lost"), (rewrite, source, "added")):
        opposite = _opposite(groups, other, reverse=direction == "added")
        for items in _enumerations(one):
            pool = opposite.get(items[0][0].sentence, other.all_stems)
            here = [any(has(token.stem, pool) for token in item if token.stem) for item in items]
            if sum(here) < max(2, len(items) - 1) or all(here):
                continue
            item = items[here.index(False)]
            span = Span(start=item[0].start, end=item[-1].end, text=one.text[item[0].start : item[-1].end])
            lost = direction == "lost"
            found.append(
                Finding(
                    kind="list",
                    direction="lost" if lost else "added",
                    message=f"{span.text!r} is {'missing' if lost else 'new'} in the list",
                    source=span if lost else None,
                    rewrite=None if lost else span,
                )
            )
    return found


def _opposite(groups: list[Group], other: Analysis, *, reverse: bool) -> dict[int, frozenset[str]]:
    """What the sentences say that are aligned with each sentence."""
    found = {}
    for group in groups:
        mine, yours = (group.rewrite, group.source) if reverse else (group.source, group.rewrite)
        stems = frozenset(token.stem for token in tokens_of(other, yours) if token.stem)
        found.update(dict.fromkeys(mine, stems))
    return found


_FINITE = frozenset(
    (
        "it they he she which who that is are was were has have had can may must will we you not er sie es ist sind war wird hat haben "
        "kann il elle ils elles est sont qui que ont se no so then"
    ).split()
)
"""Words by which a piece between commas is a clause and no member of a list."""
_OPENS = frozenset(
    "in at on by for from to as with without after before when if since because although while im am bei nach vor mit wenn "
    "en à au après avant pour si con por para cuando".split()
)
_AND = frozenset("and or und oder et ou y o sowie".split())


def _enumerations(analysis: Analysis) -> Iterator[list[list[Token]]]:
    """Runs `a, b and c` of short items."""
    for tokens in analysis.by_sentence:
        pieces: list[list[Token]] = [[]]
        joints: list[str] = []
        for token in tokens:
            if token.text == "," or token.lower in _AND:
                if pieces[-1]:
                    pieces.append([])
                    joints.append(token.lower)
                continue
            if token.kind == "mark":
                pieces.append([])
                joints.append(token.text)
                continue
            pieces[-1].append(token)
        for at, joint in enumerate(joints):
            if joint not in _AND or at < 1 or joints[at - 1] != ",":
                continue
            start = at - 1
            while start > 0 and joints[start - 1] == "," and len(pieces[start]) <= 4:
                start -= 1
            if start == 0 and pieces[0] and pieces[0][0].lower in _OPENS:
                start += 1  # `In brief, …`: what opens a sentence is no member of its list
            if start >= at:
                continue
            items = [pieces[start][-2:], *pieces[start + 1 : at + 1], pieces[at + 1][:3]]
            middle = [token.lower for item in items[1:] for token in item]
            if _FINITE & set(middle) or any(token.kind == "num" for item in items for token in item):
                continue
            if any(token.lower in GENERIC for token in items[0]):
                items = items[1:]  # `three things, a, b and c`
            if len(items) > 2 and all(
                0 < len(item) <= 4 and any(token.stem for token in item) for item in items
            ):
                yield items
