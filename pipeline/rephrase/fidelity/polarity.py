"""Negation: what one text denies and the other does not."""

from __future__ import annotations

from collections.abc import Iterator

from pipeline.records import Finding, Span
from pipeline.rephrase.fidelity.alignment import Group, tokens_of
from pipeline.rephrase.fidelity.analysis import Analysis, Token, stem_of
from pipeline.rephrase.fidelity.cues import same_place
from pipeline.rephrase.fidelity.lexicon import NEGATIVE_PREFIXES, NEGATIVE_WORDS, NEGATORS
from pipeline.rephrase.fidelity.matching import kindred

_REACH = 7
_THAN = {"en": ("than",), "de": ("als",)}
"""Tokens on either side of a negator that it may deny."""


def compare_negation(source: Analysis, rewrite: Analysis, groups: list[Group]) -> list[Finding]:
    """Findings for what is denied on one side and stated on the other.

    A negator's focus are the content words near it. Where a focus word stands in the other text without any denial
    near it, the polarity has changed; where none of them stands there, the whole group decides.
    """
    found: list[Finding] = []
    difference = _count(source) - _count(rewrite)
    even = difference % 2 == 0
    for group in groups:
        a, b = tokens_of(source, group.source), tokens_of(rewrite, group.rewrite)
        before = len(found)
        counts = [
            sum(_negates(side, at, text.language) for at in range(len(side)))
            for side, text in ((a, source), (b, rewrite))
        ]
        moved = (
            counts[0] == counts[1]
        )  # as many denials on both sides: said of other words, in all likelihood
        lost = list(_undenied(a, b, source.language, rewrite.language))
        for token in lost:
            severe = len(lost) % 2 == 1 and same_place(source, token.start, token.end, token.sentence, b)
            severe = severe or (difference == 1 and _plainly(a, b, source.language) and _spoken(a, token, b))
            severe = severe and not moved and not _until(source, token, b)
            found.append(_finding("lost", token, rewrite, group.rewrite, severe=severe))
        added = [
            token for token in _undenied(b, a, rewrite.language, source.language) if not _asks(rewrite, token)
        ]
        for token in added:
            severe = len(added) % 2 == 1 and same_place(rewrite, token.start, token.end, token.sentence, a)
            severe = severe or (difference == -1 and _plainly(a, b, source.language) and _spoken(b, token, a))
            severe = severe and not moved and not _until(rewrite, token, a)
            found.append(_finding("added", token, source, group.source, severe=severe))
        if len(found) == before and not even:
            found.extend(_parity(source, rewrite, group, a, b))
    return _settled(found, source, rewrite)


def _settled(found: list[Finding], source: Analysis, rewrite: Analysis) -> list[Finding]:
    """A denial lost in one place and found in another, of the same word, is none lost."""
    lost = [item for item in found if item.direction == "lost"]
    added = [item for item in found if item.direction == "added"]
    if len(lost) != 1 or len(added) != 1:
        return found
    one, other = _denies(source, lost[0].source), _denies(rewrite, added[0].rewrite)
    if not any(kindred(a, b) for a in one for b in other):
        return found
    return [item.replace(severity="warn") for item in found]


def _denies(analysis: Analysis, span: Span | None) -> list[str]:
    for at, token in enumerate(analysis.tokens):
        if span is not None and token.start == span.start:
            return _focus(analysis.tokens, at)
    return []


def _plainly(a: list[Token], b: list[Token], language: str) -> bool:
    """Whether nothing but the negators themselves denies or restricts in two groups of sentences."""
    limits = [{token.lower for token in side} & (_ONLY | _BEFORE) for side in (a, b)]
    return limits[0] == limits[1] and not any(
        _softens(tokens, at, language)
        or any(
            token.lemma.startswith(prefix) and len(token.lemma) > 6 for prefix in NEGATIVE_PREFIXES[language]
        )
        for tokens in (a, b)
        for at, token in enumerate(tokens)
    )


def _spoken(tokens: list[Token], negator: Token, others: list[Token]) -> bool:
    """Whether the other side says the word that is denied."""
    focus = _focus(tokens, tokens.index(negator))
    return any(other.stem and kindred(other.stem, stem) for stem in focus[:1] for other in others)


_ONLY = frozenset("only nur erst seulement solo sólo".split())
_BEFORE = frozenset("before until bis bevor vor avant antes hasta".split())


def _until(analysis: Analysis, negator: Token, others: list[Token]) -> bool:
    """`not before 1940` is `only in 1940`."""
    sentence = analysis.by_sentence[negator.sentence]
    return any(token.lower in _BEFORE for token in sentence) and any(token.lower in _ONLY for token in others)


def _count(analysis: Analysis) -> int:
    return sum(
        _negates(tokens, at, analysis.language)
        for tokens in analysis.by_sentence
        for at in range(len(tokens))
    )


def _parity(
    source: Analysis, rewrite: Analysis, group: Group, a: list[Token], b: list[Token]
) -> Iterator[Finding]:
    """A negator more or less between two sentences that are otherwise the same."""
    ours = [a[at] for at in range(len(a)) if _negates(a, at, source.language)]
    theirs = [b[at] for at in range(len(b)) if _negates(b, at, rewrite.language)]
    if (len(ours) - len(theirs)) % 2 == 0 or any(
        rewrite.sentences[index].question for index in group.rewrite
    ):
        return
    if any(token.lower in NEGATIVE_WORDS[source.language] for token in a + b):
        return
    mine, yours = {token.stem for token in a if token.stem}, {token.stem for token in b if token.stem}
    if len(mine & yours) < _NEARLY * len(mine | yours):
        return
    if len(ours) > len(theirs):
        yield _finding("lost", ours[-1], rewrite, group.rewrite)
    else:
        yield _finding("added", theirs[-1], source, group.source)


_NEARLY = 0.8
"""Share of common stems from which two groups count as the same sentences."""


_ANSWERS = frozenset("no nein non".split())
"""Words that answer a question; they deny what their sentence then denies."""


def _negates(tokens: list[Token], at: int, language: str) -> bool:
    token = tokens[at]
    if token.lower.endswith("n't") or token.lower.endswith("n’t"):
        return True
    if token.lower not in NEGATORS[language]:
        return False
    following = tokens[at + 1].lower if at + 1 < len(tokens) else ""
    if any(
        item.lower in _THAN.get(language, ())
        for item in tokens[at + 1 : at + 4]
        if item.sentence == token.sentence
    ):
        return False  # a bound, as in `not longer than`
    if language == "en" and token.lower in ("no", "not"):
        return following not in (
            "more",
            "longer",
            "less",
            "only",
            "just",
            "higher",
            "later",
            "fewer",
            "before",
            "until",
        ) or (token.lower == "not" and following == "before")
    if (
        following == ","
        and token.lower in _ANSWERS
        and (at == 0 or tokens[at - 1].sentence != token.sentence)
    ):
        return not any(
            _negates(tokens, other, language)
            for other in range(at + 1, len(tokens))
            if tokens[other].sentence == token.sentence
        )
    if language == "fr" and token.lower == "personne":
        return any(other.lower in ("ne", "n'", "n’") for other in tokens)
    return not (
        language == "de" and token.lower == "nicht" and following in ("mehr", "nur", "schneller", "länger")
    )


def _undenied(ours: list[Token], theirs: list[Token], language: str, other: str) -> Iterator[Token]:
    negators = [at for at in range(len(ours)) if _negates(ours, at, language)]
    denied = {at for at in range(len(theirs)) if _negates(theirs, at, other)}
    prefixed = {at for at, token in enumerate(theirs) if _prefixed(token, ours, other)}
    soft = {at for at in range(len(theirs)) if _softens(theirs, at, other)}
    for at in negators:
        focus = _focus(ours, at)
        places = {
            stem: [place for place, token in enumerate(theirs) if token.stem and kindred(token.stem, stem)]
            for stem in focus
        }
        found = {stem: where for stem, where in places.items() if where}
        marks = denied | prefixed | (soft - {place for where in found.values() for place in where})
        if not any(_covers(theirs, mark, found) for mark in marks):
            yield ours[at]


def _softens(tokens: list[Token], at: int, language: str) -> bool:
    """Whether a word denies without being a negator; `first` does so in `the first to …` only."""
    token = tokens[at]
    if token.lower == "first" and (at == 0 or tokens[at - 1].lower != "the"):
        return False
    return token.lower in NEGATIVE_WORDS[language] or token.lemma in NEGATIVE_WORDS[language]


def _covers(tokens: list[Token], mark: int, found: dict[str, list[int]]) -> bool:
    """Whether a denying word stands near enough of the focus: two of its words, or all that are there."""
    near = sum(
        any(
            abs(place - mark) <= _REACH and abs(tokens[place].sentence - tokens[mark].sentence) <= 1
            for place in where
        )
        for where in found.values()
    )
    return near >= (2 if len(found) > 2 else min(1, len(found)))


def _focus(tokens: list[Token], at: int) -> list[str]:
    """Stems of the content words behind a negator in its clause, else before it."""
    behind: list[str] = []
    for token in tokens[at + 1 : at + 1 + _REACH]:
        if (token.kind == "mark" and token.text in ",;.:!?") or token.sentence != tokens[at].sentence:
            break
        if token.stem:
            behind.append(token.stem)
    before: list[str] = []
    for token in reversed(tokens[max(0, at - _REACH) : at]):
        if (token.kind == "mark" and token.text in ",;.:!?") or token.sentence != tokens[at].sentence:
            break
        if token.stem:
            before.append(token.stem)
    return behind[:2] + before[:1] if behind else before[:2]


_WITHOUT = {
    "en": ("less", "free"),
    "de": ("los", "lose", "losen", "loser", "frei", "freie", "freien", "freies"),
}
"""Endings of words that say that something is missing."""


def _prefixed(token: Token, ours: list[Token], language: str) -> bool:
    """Whether a word is the denied form of one of the other side: `undefined` for `defined`, `acid-free` for `acid`."""
    if token.kind == "word" and token.lower.endswith(_WITHOUT.get(language, ())) and len(token.lower) > 6:
        return any(other.stem and kindred(other.stem, token.stem) for other in ours)
    for prefix in NEGATIVE_PREFIXES[language]:
        rest = token.lemma[len(prefix) :]
        if token.lemma.startswith(prefix) and len(rest) >= 4:
            stem = stem_of(rest, language)
            return any(other.stem and kindred(other.stem, stem) for other in ours)
    return False


def _asks(analysis: Analysis, token: Token) -> bool:
    return analysis.sentences[token.sentence].question


def _finding(
    direction: str, token: Token, other: Analysis, sentences: tuple[int, ...], *, severe: bool = True
) -> Finding:
    mine = Span(start=token.start, end=token.end, text=token.text)
    first, last = other.sentences[sentences[0]], other.sentences[sentences[-1]]
    place = Span(start=first.start, end=last.end, text=other.text[first.start : last.end])
    lost = direction == "lost"
    return Finding(
        kind="negation",
        direction="lost" if lost else "added",
        message=f"{token.text!r} is {'gone' if lost else 'new'}",
        source=mine if lost else place,
        rewrite=place if lost else mine,
        severity="fail" if severe else "warn",
    )
