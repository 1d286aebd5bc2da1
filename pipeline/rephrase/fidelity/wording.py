"""Quantifiers, modality, conditions and directions of comparison, compared group by group."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from pipeline.records import Finding, Span
from pipeline.rephrase.fidelity.alignment import Group, tokens_of
from pipeline.rephrase.fidelity.analysis import Analysis, Token
from pipeline.rephrase.fidelity.cues import Cue, cues, same_place
from pipeline.rephrase.fidelity.lexicon import NEGATORS
from pipeline.rephrase.fidelity.matching import has
from pipeline.rephrase.fidelity.numerals import words

_AMOUNTS = ("all", "most", "many", "some", "few", "no", "only")
_NEAR = frozenset({("many", "some"), ("some", "many"), ("only", "few"), ("only", "no"), ("no", "only")})
"""Quantifiers that may stand for each other."""
_THAN: dict[str, tuple[str, ...]] = {
    "en": ("than",),
    "de": ("als",),
    "fr": ("que", "qu'", "qu’"),
    "es": ("que",),
    "zh": ("比",),
}


def compare_wording(source: Analysis, rewrite: Analysis, groups: list[Group]) -> list[Finding]:
    """Findings of the kinds quantifier, modality, condition and comparison.

    A finding is a failure where the words around it stand on the other side too, and a warning where the other side
    says it in other words.
    """
    ours, theirs = cues(source), cues(rewrite)
    totals = (
        Counter(cue.name for side in ours for cue in side),
        Counter(cue.name for side in theirs for cue in side),
    )
    found: list[Finding] = []
    for group in groups:
        a = [cue for index in group.source for cue in ours[index]]
        b = [cue for index in group.rewrite for cue in theirs[index]]
        cued = [*_quantifiers(source, rewrite, group, a, b, totals), *_modality(source, rewrite, group, a, b)]
        found.extend(_weighed(source, rewrite, group, finding) for finding in cued)
        found.extend(_directions(source, rewrite, group, a, b, totals))
        found.extend(_conditions(source, rewrite, group, a, b))
    if not any(item.kind == "quantifier" and item.severity == "fail" for item in found):
        found.extend(_shifted(ours, theirs, totals))
    return found


_SHARES = ("all", "most", "many", "some", "few")


def _shifted(
    ours: list[list[Cue]], theirs: list[list[Cue]], totals: tuple[Counter[str], Counter[str]]
) -> Iterator[Finding]:
    """One quantifier less of one sort and one more of another, all others alike: `most` has become `all`."""
    before, after = totals
    change = {
        name: after[name] - before[name] for name in (*_SHARES, "only", "no") if after[name] != before[name]
    }
    gone = [name for name, by in change.items() if by == -1]
    new = [name for name, by in change.items() if by == 1]
    if len(change) != 2 or len(gone) != 1 or len(new) != 1 or not {*gone, *new} <= set(_SHARES):
        return
    if (gone[0], new[0]) in _NEAR:
        return
    old = [cue for side in ours for cue in side if cue.name == gone[0]]
    fresh = [cue for side in theirs for cue in side if cue.name == new[0]]
    said = {cue.text.lower() for side in ours for cue in side}
    fresh = [cue for cue in fresh if cue.text.lower() not in said] or fresh
    yield _changed("quantifier", old[-1], fresh[-1])


def _weighed(
    source: Analysis,
    rewrite: Analysis,
    group: Group,
    finding: Finding,
) -> Finding:
    one, other, span, sentences = source, tokens_of(rewrite, group.rewrite), finding.source, group.source
    if finding.direction == "added":
        one, other, span, sentences = rewrite, tokens_of(source, group.source), finding.rewrite, group.rewrite
    if finding.severity == "warn" or span is None:
        return finding
    at = next(
        (index for index in sentences if one.sentences[index].start <= span.start < one.sentences[index].end),
        None,
    )
    if at is None or same_place(one, span.start, span.end, at, other):
        return finding
    return finding.replace(severity="warn")


def _span(cue: Cue) -> Span:
    return Span(start=cue.start, end=cue.end, text=cue.text)


def _place(analysis: Analysis, sentences: tuple[int, ...]) -> Span | None:
    if not sentences:
        return None
    first, last = analysis.sentences[sentences[0]], analysis.sentences[sentences[-1]]
    return Span(start=first.start, end=last.end, text=analysis.text[first.start : last.end])


def _changed(kind: str, a: Cue, b: Cue) -> Finding:
    return Finding(
        kind=kind,
        direction="changed",
        message=f"{a.text!r} became {b.text!r}",
        source=_span(a),
        rewrite=_span(b),
    )


_ADVERBS = frozenset("always invariably immer stets toujours siempre".split())
"""Words that make a general statement out of a particular one wherever they stand."""


def _quantifiers(
    source: Analysis,
    rewrite: Analysis,
    group: Group,
    a: list[Cue],
    b: list[Cue],
    totals: tuple[Counter[str], Counter[str]],
) -> Iterator[Finding]:
    """What one group says of all, most, some, few or none, and the other does not; `totals` are those of the texts."""
    mine = Counter(cue.name for cue in a if cue.name in _AMOUNTS)
    yours = Counter(cue.name for cue in b if cue.name in _AMOUNTS)
    if any(token.lower in NEGATORS[rewrite.language] for token in tokens_of(rewrite, group.rewrite)):
        yours["no"] += 0 if yours["no"] else 1
    if any(token.lower in NEGATORS[source.language] for token in tokens_of(source, group.source)):
        mine["no"] += 0 if mine["no"] else 1
    gone = [name for name in _AMOUNTS if mine[name] > yours[name] and not yours[name]]
    new = [name for name in _AMOUNTS if yours[name] > mine[name]]
    for name in gone:
        cue = next((item for item in a if item.name == name), None)
        other = next((item for item in b if item.name in new and (name, item.name) not in _NEAR), None)
        if cue is None:
            continue
        if other is not None:
            yield _changed("quantifier", cue, other)
        elif name in ("most", "few", "only") and totals[1][name] < totals[0][name]:
            severity = "warn" if name == "only" else "fail"
            yield Finding(
                kind="quantifier",
                direction="lost",
                message=f"{cue.text!r} is gone",
                source=_span(cue),
                rewrite=_place(rewrite, group.rewrite),
                severity="fail" if severity == "fail" else "warn",
            )
    if not gone:
        for name in (name for name in new if not mine[name]):
            cue = next((item for item in b if item.name == name), None)
            if (
                cue is not None
                and totals[1][name] > totals[0][name]
                and name in ("all", "most")
                and not rewrite.sentences[cue.sentence].question
                and cue.text.lower() not in ("any", "both", "whole", "entire")
            ):
                yield Finding(
                    kind="quantifier",
                    direction="added",
                    message=f"{cue.text!r} is new",
                    source=_place(source, group.source),
                    rewrite=_span(cue),
                    severity="fail" if name == "most" or cue.text.lower() in _ADVERBS else "warn",
                )


def _denied(analysis: Analysis, cue: Cue) -> bool:
    """Whether a modal word is denied: `must not` forbids as `may not` does."""
    near = [token for token in analysis.by_sentence[cue.sentence] if -25 < token.start - cue.start < 25]
    return any(token.lower in NEGATORS[analysis.language] for token in near)


def _modality(
    source: Analysis, rewrite: Analysis, group: Group, a: list[Cue], b: list[Cue]
) -> Iterator[Finding]:
    mine = {name: [cue for cue in a if cue.name == name] for name in ("may", "can", "must", "should")}
    yours = {name: [cue for cue in b if cue.name == name] for name in ("may", "can", "must", "should")}
    weak_mine, weak_yours = mine["may"] + mine["can"], yours["may"] + yours["can"]
    if any(_denied(source, cue) for cue in mine["must"] + mine["may"]) or any(
        _denied(rewrite, cue) for cue in yours["must"] + yours["may"] + yours["can"]
    ):
        return
    if (
        mine["must"]
        and not yours["must"]
        and not yours["should"]
        and yours["may"]
        and len(weak_yours) > len(weak_mine)
    ):
        yield _changed("modality", mine["must"][0], yours["may"][-1])
    elif mine["must"] and not yours["must"] and len(yours["can"]) > len(mine["can"]):
        yield _changed("modality", mine["must"][0], yours["can"][-1])
    if weak_mine and not weak_yours and yours["must"] and not mine["must"]:
        yield _changed("modality", weak_mine[0], yours["must"][0])
    elif mine["may"] and not weak_yours and not yours["should"]:
        permits = any(cue.name == "only" for cue in a)
        severe = not permits and _followed(
            source, mine["may"][0], {token.stem for token in tokens_of(rewrite, group.rewrite)}
        )
        yield Finding(
            kind="modality",
            direction="lost",
            message=f"{mine['may'][0].text!r} is gone",
            source=_span(mine["may"][0]),
            rewrite=_place(rewrite, group.rewrite),
            severity="fail" if severe else "warn",
        )
    if mine["should"] and yours["must"] and not mine["must"] and not yours["should"]:
        yield _changed("modality", mine["should"][0], yours["must"][0])


def _followed(analysis: Analysis, cue: Cue, stems: set[str]) -> bool:
    """Whether the verb that a modal word goes with stands on the other side, so that it lost the modal there."""
    if cue.text.lower() in ("could", "likely"):
        return False
    behind = [
        token
        for token in analysis.by_sentence[cue.sentence]
        if token.start >= cue.end and token.kind == "word"
    ]
    if analysis.language == "de":
        verb = next((token.stem for token in reversed(behind) if token.stem), "")
    else:
        verb = behind[0].stem if behind else ""
    return bool(verb) and has(verb, stems)


def _directions(
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
            if whole and axis not in _ABSOLUTE:
                continue
            finding = _changed("comparison", before, after)
            yield finding if _balanced(axis, totals) else _weighed(source, rewrite, group, finding)
    elif exchanged(source, rewrite, group):
        yield Finding(
            kind="swap",
            direction="changed",
            message="what is compared has changed places",
            source=_place(source, group.source),
            rewrite=_place(rewrite, group.rewrite),
        )


def _balanced(axis: str, totals: tuple[Counter[str], Counter[str]]) -> bool:
    """Whether both texts have equally many words on the axis, and one of them points the other way."""
    before, after = totals
    up, down = (after[f"{axis}{way}"] - before[f"{axis}{way}"] for way in "+-")
    return (up, down) in ((1, -1), (-1, 1))


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


def converse(source: Analysis, rewrite: Analysis, groups: list[Group]) -> bool:
    """Whether some comparison was turned round as a whole: `A is larger than B`, `B is smaller than A`."""
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


_CLAUSE_END = re.compile(r"[,;:.!?]")


def _conditions(
    source: Analysis, rewrite: Analysis, group: Group, a: list[Cue], b: list[Cue]
) -> Iterator[Finding]:
    yield from _unmet(source, rewrite, group.rewrite, a, b, "lost")
    yield from _unmet(rewrite, source, group.source, b, a, "added")


def _unmet(
    one: Analysis,
    other: Analysis,
    sentences: tuple[int, ...],
    mine: list[Cue],
    yours: list[Cue],
    direction: str,
) -> Iterator[Finding]:
    """Conditions of `one` whose clause `other` does not have, or has without any word that makes it a condition."""
    theirs = {token.stem for token in tokens_of(other, sentences) if token.stem}
    figures = {token.text for token in tokens_of(other, sentences) if token.kind == "num"}
    for cue in mine:
        if cue.name != "if" or (direction == "added" and one.sentences[cue.sentence].question):
            continue
        clause = _clause(one, cue)
        stems = [token for token in clause if token.stem or token.kind == "num"]
        if not stems:
            continue
        kept = sum(has(token.stem, theirs) if token.stem else token.text in figures for token in stems) / len(
            stems
        )
        hedged = any(item.name in ("if", "when", "only") for item in yours)
        if kept < 0.67 and _elsewhere(other, stems):
            continue
        if kept >= 0.67 or (kept >= 0.34 and (hedged or direction == "added")):
            continue
        span = Span(start=cue.start, end=clause[-1].end, text=one.text[cue.start : clause[-1].end])
        place = _place(other, sentences)
        lost = direction == "lost"
        yield Finding(
            kind="condition",
            direction="lost" if lost else "added",
            message=f"the condition {span.text!r} is {'gone' if lost else 'new'}",
            source=span if lost else place,
            rewrite=place if lost else span,
            severity="fail" if lost or kept < 0.2 else "warn",
        )


def _elsewhere(other: Analysis, stems: list[Token]) -> bool:
    """Whether one sentence that was not aligned says the whole clause, with a word that makes it a condition."""
    for held, tokens, hedges in zip(other.stems, other.by_sentence, cues(other), strict=True):
        figures = {token.text for token in tokens if token.kind == "num"}
        if any(item.name in ("if", "when", "only") for item in hedges) and all(
            has(token.stem, held) if token.stem else token.text in figures for token in stems
        ):
            return True
    return False


def _clause(analysis: Analysis, cue: Cue) -> list[Token]:
    """The tokens from a cue to the end of its clause; for a cue at the end of its sentence, those before it."""
    tokens = [token for token in analysis.by_sentence[cue.sentence] if token.start >= cue.end]
    taken: list[Token] = []
    for token in tokens:
        if (
            taken
            and token.kind == "mark"
            and _CLAUSE_END.match(token.text)
            and any(item.stem for item in taken)
        ):
            break
        if token.kind != "mark":
            taken.append(token)
    return taken
