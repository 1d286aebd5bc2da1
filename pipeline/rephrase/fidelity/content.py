"""Sentences lost or invented, and members of lists."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from pipeline.records import Finding, Span
from pipeline.rephrase.fidelity.alignment import Group, tokens_of, units
from pipeline.rephrase.fidelity.analysis import Analysis, Token
from pipeline.rephrase.fidelity.figures import same
from pipeline.rephrase.fidelity.lexicon import GENERIC
from pipeline.rephrase.fidelity.matching import has, kindred
from pipeline.rephrase.fidelity.quantities import quantities

_LOST, _INVENTED = 0.3, 0.25
"""Share of a sentence's content words that two neighboring sentences of the other text must have."""
_FEWEST = 3
"""Content words from which a sentence is held to say something of its own."""


@dataclass(frozen=True, slots=True)
class Said:
    """A unit of sentences, and the share of its content that the other text has."""

    unit: tuple[int, ...]
    share: float
    own: float
    """Words that the other text does not have."""


def compare_content(source: Analysis, rewrite: Analysis) -> tuple[list[Finding], float]:
    """Findings for sentences without a counterpart, and the mean share of the source's content that is kept.

    Two signs make a finding: few of a sentence's words and figures stand on the other side, and nothing stands there that
    could say the same in other words, which is a sentence with as much of its own.
    """
    kept, made = _shares(source, rewrite), _shares(rewrite, source)
    lost = _unmatched(kept, made, _LOST)
    invented = [
        item
        for item in _unmatched(made, kept, _INVENTED)
        if not all(rewrite.sentences[index].question for index in item.unit)
    ]
    findings = [
        Finding(
            kind="lost_sentence",
            direction="lost",
            message=f"nothing says this ({item.share:.2f})",
            source=_span(source, item.unit),
        )
        for item in lost
    ]
    findings += [
        Finding(
            kind="invented_sentence",
            direction="added",
            message=f"nothing in the source says this ({item.share:.2f})",
            rewrite=_span(rewrite, item.unit),
        )
        for item in invented
    ]
    return findings, sum(item.share for item in kept) / len(kept) if kept else 1.0


def _unmatched(some: list[Said], others: list[Said], least: float) -> list[Said]:
    """The units with too small a share, less those that a unit of the other side may say in words of its own.

    Such a unit has at least half as much that is its own, and stands for one unit only.
    """
    free = [other.own for other in others if other.share < _OWN]
    found = []
    for item in sorted((item for item in some if item.share < least), key=lambda item: item.share):
        match = min((own for own in free if own >= _AS_MUCH * item.own), default=None)
        if match is None:
            found.append(item)
        else:
            free.remove(match)
    return sorted(found, key=lambda item: item.unit)


_OWN, _AS_MUCH = 0.62, 0.5
"""Share below which a unit says something in words of its own, and how much of another unit these can stand for."""


def _span(analysis: Analysis, unit: tuple[int, ...]) -> Span:
    start, end = analysis.sentences[unit[0]].start, analysis.sentences[unit[-1]].end
    return Span(start=start, end=end, text=analysis.text[start:end])


def _shares(one: Analysis, other: Analysis) -> list[Said]:
    """The share of each unit's content words and figures that the other text has left for it.

    A word of the other text speaks for one unit only: those with the best counterpart take theirs first. So a sentence
    that shares its subject with its neighbors is missed all the same.
    """
    pools = [
        frozenset().union(*other.stems[max(0, at - 1) : at + 1]) for at in range(max(1, len(other.stems)))
    ]
    figures, there = quantities(one), quantities(other)
    held: list[tuple[float, tuple[int, ...], frozenset[str], tuple[int, int]]] = []
    for unit in units(one):
        stems = frozenset(token.stem for token in tokens_of(one, unit) if token.stem)
        formulas = sum(formula.sentence in unit for formula in one.formulas)
        mine = [item for item in figures if item.sentence in unit and not item.weak]
        known = sum(any(same(item, twin) for twin in there) for item in mine)
        if len(stems) >= _FEWEST + 3 * bool(formulas):
            rows = [[has(stem, said) for said in other.stems] for stem in stems]
            places = range(len(other.stems))
            best = max(
                (float(sum(row[at] or (at > 0 and row[at - 1]) for row in rows)) for at in places),
                default=0.0,
            )
            held.append((best / len(stems), unit, stems, (known, len(mine))))
    left = Counter(token.stem for token in other.tokens if token.stem)
    found = []
    for best, unit, stems, (known, counted) in sorted(held, key=lambda item: -item[0]):
        taken = [name for stem in sorted(stems) if (name := _take(stem, left)) is not None]
        left.subtract(taken)
        share = min(best, len(taken) / len(stems) + _SHARED)
        whole = len(stems) + _FIGURE * counted
        said = Said(
            unit, (share * len(stems) + _FIGURE * known) / whole, whole * (1 - len(taken) / len(stems))
        )
        found.append(said)
        found.extend(_alone(one, unit, pools, said))
    return sorted(found, key=lambda item: item.unit)


_FIGURE = 2
"""Words that a figure weighs."""
_ALONE = 0.15
"""Share of its words below which a sentence says something else, whatever question it stands behind."""


def _alone(one: Analysis, unit: tuple[int, ...], pools: list[frozenset[str]], said: Said) -> Iterator[Said]:
    """Sentences of some length that are read together with the question before them, and are new all the same."""
    if len(unit) < 2 or said.share < _LOST:
        return
    for index in unit:
        stems = one.stems[index]
        if not one.sentences[index].question and len(stems) > _FEWEST:
            share = max(sum(has(stem, pool) for stem in stems) for pool in pools) / len(stems)
            if share < _ALONE:
                yield Said((index,), share, len(stems) * (1 - share))


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
            if sum(here) < max(2, len(items) - 1) or all(here[1:]):
                continue  # where the first item begins is not sure
            item = items[here.index(False, 1)]
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
