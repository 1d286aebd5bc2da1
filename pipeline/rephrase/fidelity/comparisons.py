"""Directions of comparison, and whether what is compared has changed places."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from pipeline.records import Finding
from pipeline.rephrase.fidelity.alignment import Group, tokens_of
from pipeline.rephrase.fidelity.analysis import Analysis, Token
from pipeline.rephrase.fidelity.cues import Cue, changed, cues, place_of, weighed
from pipeline.rephrase.fidelity.marks import marks
from pipeline.rephrase.fidelity.matching import has
from pipeline.rephrase.fidelity.numerals import words

_THAN: dict[str, tuple[str, ...]] = {
    "en": ("than",),
    "de": ("als",),
    "fr": ("que", "qu'", "qu’"),
    "es": ("que",),
    "zh": ("比",),
}


def compare_directions(
    source: Analysis,
    rewrite: Analysis,
    group: Group,
    a: list[Cue],
    b: list[Cue],
    totals: tuple[Counter[str], Counter[str]],
) -> Iterator[Finding]:
    """Directions that turned (more to less), unless the things compared have changed places with them."""
    flips = list(_flips(a, b))
    if flips:
        whole = turned(source, rewrite, group)
        for axis, before, after in flips:
            if (whole and axis not in _ABSOLUTE) or not _opposite(axis, totals):
                continue
            if _denials(source, before) != _denials(rewrite, after) or not _same_quality(
                source, before, rewrite, after
            ):
                continue
            if axis == "time" and _exchanged_times(source, before, rewrite, after):
                continue
            finding = changed("comparison", before, after)
            yield finding if _balanced(axis, totals) else weighed(source, rewrite, group, finding)
    elif exchanged(source, rewrite, group):
        yield Finding(
            kind="swap",
            direction="changed",
            message="what is compared has changed places",
            source=place_of(source, group.source),
            rewrite=place_of(rewrite, group.rewrite),
        )


def _balanced(axis: str, totals: tuple[Counter[str], Counter[str]]) -> bool:
    """Whether both texts have equally many words on the axis, and one of them points the other way."""
    before, after = totals
    up, down = (after[f"{axis}{way}"] - before[f"{axis}{way}"] for way in "+-")
    return (up, down) in ((1, -1), (-1, 1))


def _opposite(axis: str, totals: tuple[Counter[str], Counter[str]]) -> bool:
    """Whether the texts as a whole point the one way less often and the other way more often."""
    before, after = totals
    up, down = (after[f"{axis}{way}"] - before[f"{axis}{way}"] for way in "+-")
    return (up > 0 > down) or (down > 0 > up)


def _denials(analysis: Analysis, cue: Cue) -> int:
    """Whether a sentence denies: `all over 18`, `no one under 18`."""
    return sum(mark.kind != "soft" for mark in marks(analysis)[cue.sentence]) % 2


_DEGREES = frozenset("more less mehr weniger plus moins más menos most least".split())


def _same_quality(source: Analysis, before: Cue, rewrite: Analysis, after: Cue) -> bool:
    """Whether `more` and `less` are said of one quality: `shorter` is `less long`."""
    if before.text.lower() not in _DEGREES or after.text.lower() not in _DEGREES:
        return not ({before.text.lower().split()[0], after.text.lower().split()[0]} <= _DEGREES)
    words = [
        next(
            (token.stem for token in text.by_sentence[cue.sentence] if token.start >= cue.end and token.stem),
            "",
        )
        for text, cue in ((source, before), (rewrite, after))
    ]
    return words[0] == words[1] or has(words[0], rewrite.all_stems) or has(words[1], source.all_stems)


def _exchanged_times(source: Analysis, before: Cue, rewrite: Analysis, after: Cue) -> bool:
    """Whether what stood behind `before` now stands in front of `after`."""
    sides = [_around(text, cue) for text, cue in ((source, before), (rewrite, after))]
    (front, behind), (other_front, other_behind) = sides
    straight = sum(has(stem, other_front) for stem in front) + sum(has(stem, other_behind) for stem in behind)
    cross = sum(has(stem, other_behind) for stem in front) + sum(has(stem, other_front) for stem in behind)
    return cross > straight


def _around(analysis: Analysis, cue: Cue) -> tuple[set[str], set[str]]:
    """Content words on either side of a cue in its sentence: the names, where both sides have some."""
    tokens = [token for token in analysis.by_sentence[cue.sentence] if token.stem]
    front = [token for token in tokens if token.end <= cue.start][-_WINDOW:]
    behind = [token for token in tokens if token.start >= cue.end][:_WINDOW]
    named = [[token for token in side if token.text[0].isupper()] for side in (front, behind)]
    if named[0] and (named[1] or not behind):
        front, behind = named
    return {token.stem for token in front}, {token.stem for token in behind}


_WINDOW = 6


_ABSOLUTE = frozenset("bound north east left in open sign even true with size".split())
"""Axes that no change of operands can turn."""


def _flips(a: list[Cue], b: list[Cue]) -> Iterator[tuple[str, Cue, Cue]]:
    axes = {cue.name[:-1] for cue in a if cue.name[-1] in "+-"} & {
        cue.name[:-1] for cue in b if cue.name[-1] in "+-"
    }
    for axis in sorted(axes):
        up = [[cue for cue in side if cue.name == f"{axis}+"] for side in (a, b)]
        down = [[cue for cue in side if cue.name == f"{axis}-"] for side in (a, b)]
        lost_up = len(up[1]) < len(up[0]) and len(down[1]) > len(down[0])
        lost_down = len(down[1]) < len(down[0]) and len(up[1]) > len(up[0])
        if lost_up or lost_down:
            before, after = (up[0], down[1]) if lost_up else (down[0], up[1])
            words = {cue.text.lower() for cue in up[0] + down[0]}
            fresh = [cue for cue in after if cue.text.lower() not in words] or after
            yield axis, before[0], fresh[-1]


_ANY_OTHER = re.compile(
    r"\b(?:no|any|kein\w*|jede\w*|aucune?|toute?|ningún|ninguna|cualquier) (?:other|ander\w+|autre|otr[oa])\b",
    re.IGNORECASE,
)
"""`No other bird dives as deep as it`, which puts the things compared in the other order."""


def converse(source: Analysis, rewrite: Analysis, groups: list[Group]) -> bool:
    """Whether some comparison was turned round as a whole: `A is larger than B`, `B is smaller than A`."""
    if _ANY_OTHER.search(source.text) or _ANY_OTHER.search(rewrite.text):
        return True
    ours, theirs = cues(source), cues(rewrite)
    for group in groups:
        a = [cue for index in group.source for cue in ours[index]]
        b = [cue for index in group.rewrite for cue in theirs[index]]
        if any(axis not in _ABSOLUTE and turned(source, rewrite, group, axis) for axis, _, _ in _flips(a, b)):
            return True
    return False


def turned(source: Analysis, rewrite: Analysis, group: Group, axis: str = "") -> bool:
    """Whether the operands of a comparison have changed places (what stood behind `than` now stands before it)."""
    if axis == "time":
        a, b = (
            _operands(tokens_of(text, indexes), text.language)
            for text, indexes in ((source, group.source), (rewrite, group.rewrite))
        )
        if a is not None and b is not None:
            stays = has(a[1], {b[1]}) or bool(a[1] and b[0] and not has(a[1], b[0]) and has(b[1], {a[1]}))
            return not stays and (has(a[1], b[0]) or has(b[1], a[0]))
        return (a is None) != (b is None)
    mine, yours = _compared(source, group.source), _compared(rewrite, group.rewrite)
    if bool(mine) != bool(yours):
        return True  # one side compares in another way: the order cannot be told
    for _, front, behind in mine:
        for _, other_front, other_behind in yours:
            came = (behind & other_front) - front - other_behind
            went = (front & other_behind) - behind - other_front
            same = (behind & other_behind) - (front & other_front)
            if (came or went) and not same:
                return True
    return False


def exchanged(source: Analysis, rewrite: Analysis, group: Group) -> bool:
    """Whether both texts compare in the same word with `than`, and each names first what the other names second."""
    mine, yours = _compared(source, group.source), _compared(rewrite, group.rewrite)
    for word, front, behind in mine:
        for other_word, other_front, other_behind in yours:
            if word != other_word:
                continue
            came = (behind & other_front) - front - other_behind
            went = (front & other_behind) - behind - other_front
            if came and went:
                return True
    return False


_PERSONAL = frozenset("it they he she er sie es il elle ils elles".split())
_SECOND = 3
"""Content words that the second operand of a comparison may have."""


def _compared(
    analysis: Analysis, sentences: tuple[int, ...]
) -> list[tuple[str, frozenset[str], frozenset[str]]]:
    """For each `than`: the comparing word, the stems before it, and those of what it compares with.

    A pronoun at the start stands for the sentence before.
    """
    found = []
    for index in sentences:
        tokens = analysis.by_sentence[index]
        for at, token in enumerate(tokens):
            if token.lower not in _THAN[analysis.language] or token.kind == "mark":
                continue
            word = next(
                (t.lower for t in reversed(tokens[max(0, at - 5) : at]) if _COMPARATIVE.fullmatch(t.lower)),
                "",
            )
            following = tokens[at + 1] if at + 1 < len(tokens) else token
            if not word or following.kind == "num" or following.lower in words(analysis.language):
                continue  # a bound on a number compares no two things
            front = {item.stem for item in tokens[:at] if item.stem}
            if index and any(item.lower in _PERSONAL for item in tokens[:2]):
                front |= analysis.stems[index - 1]
            behind: list[str] = []
            for item in tokens[at + 1 :]:
                if item.kind == "mark" or len(behind) == _SECOND:
                    break
                if item.stem:
                    behind.append(item.stem)
            found.append((word, frozenset(front), frozenset(behind)))
    return found


_COMPARATIVE = re.compile(
    r"\w+er|more|less|better|worse|mehr|weniger|besser|schlechter|plus|moins|mieux|más|menos"
)


_SEQUENCE = {
    "en": ("before", "after", "than"),
    "de": ("vor", "nach", "als"),
    "fr": ("avant", "après"),
    "es": ("antes", "después"),
    "zh": (),
}


def _operands(tokens: list[Token], language: str) -> tuple[set[str], str] | None:
    """Content stems before `before` or `after` in its sentence, and the first one behind it."""
    for at, token in enumerate(tokens):
        if token.lower in _SEQUENCE[language] and token.kind in ("word", "elision", "han"):
            rest = tokens[at + 1 : at + 6]
            behind = next((item.stem for item in rest if item.stem), "")
            counts = bool(rest) and (rest[0].kind == "num" or rest[0].lower in words(language))
            if behind and not counts:
                return {
                    item.stem for item in tokens[:at] if item.stem and item.sentence == token.sentence
                }, behind
    return None
