"""Things that have taken each other's place: each now stands where the other stood.

A word's context are its neighbors in its sentence, the nearer the heavier. Two words have changed places when the
contexts fit crosswise and do not fit straight.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

from pipeline.records import Finding, Span
from pipeline.rephrase.fidelity.alignment import Group, tokens_of
from pipeline.rephrase.fidelity.analysis import Analysis, Token
from pipeline.rephrase.fidelity.lexicon import NEGATORS
from pipeline.rephrase.fidelity.matching import kindred
from pipeline.rephrase.fidelity.numerals import words

_WINDOW = 5
_BREAK = 3
"""By how many words a comma or a conjunction separates."""
_PREPOSITION = 0.5
"""Weight of the word before a name or a figure."""
_DENIED = 0.5
"""Weight of a negator right before a word."""
_MARGIN, _COMMON_MARGIN = 0.55, 0.85
_LEAST = 0.15
_FEWEST = 2
"""Neighbors from which a word has a context."""
_AND = frozenset("and or und oder et ou y o sowie".split())
_AGENT = frozenset({"by", "von", "durch", "par", "por"})
_PLACES = frozenset("in at to from of for on near into à de en au aux chez vers a por para desde".split())

Context = dict[str, float]


def compare_places(
    source: Analysis, rewrite: Analysis, groups: list[Group], *, converse: bool = False
) -> list[Finding]:
    """Findings for two things that stand in each other's place; at most one, since one swap disturbs its neighbors.

    `converse`: a comparison was turned round as a whole, which exchanges its operands rightly.
    """
    if converse:
        return []
    if (turned := _turned(source, rewrite)) is not None:
        return [_finding(source, rewrite, *turned, "have changed roles")]
    capital = {token.stem for token in source.tokens if token.kind == "word" and token.text[0].isupper()}
    whole = Group(tuple(range(len(source.sentences))), tuple(range(len(rewrite.sentences))))
    for group in [*groups, whole] if len(groups) > 1 else [whole]:
        a, b = tokens_of(source, group.source), tokens_of(rewrite, group.rewrite)
        if (pair := _exchanged(a, b, source.language, capital)) is not None:
            return [_finding(source, rewrite, *pair, "have changed places")]
    return []


def _exchanged(
    ours: list[Token], theirs: list[Token], language: str, capital: set[str]
) -> tuple[str, str] | None:
    if [token.stem or token.text for token in ours] == [token.stem or token.text for token in theirs]:
        return None
    mine, yours = _contexts(ours, language), _contexts(theirs, language)
    voices_differ = _passive(ours) != _passive(theirs)
    listed = _listed(ours, language) & _listed(theirs, language)
    for a, b in _exchangeable(mine, yours):
        named = a[0].isdigit() or (a in capital and b in capital)
        if (not named and voices_differ) or frozenset((a, b)) in listed:
            continue
        there = _alike(mine[a], yours[b], a, b)
        back = _alike(mine[b], yours[a], a, b) if there > _LEAST else 0.0
        margin = _MARGIN if named else _COMMON_MARGIN
        if back <= _LEAST or there + back <= margin:
            continue
        if there + back > _alike(mine[a], yours[a], a, b) + _alike(mine[b], yours[b], a, b) + margin:
            return a, b
    return None


def _listed(tokens: list[Token], language: str) -> set[frozenset[str]]:
    """Pairs that stand as members of one list, whose order says nothing."""
    names = [(at, name) for at, name, _ in _content(tokens, language)]
    runs: list[list[str]] = []
    for (i, a), (j, b) in itertools.pairwise(names):
        between = tokens[i + 1 : j]
        joined = any(item.lower in _AND or item.text == "," for item in between) and all(
            item.lower in _AND or item.text in ",;" or (not item.stem and len(item.text) <= 3)
            for item in between
        )
        if joined and runs and runs[-1][-1] == a:
            runs[-1].append(b)
        elif joined:
            runs.append([a, b])
    return {frozenset(pair) for run in runs for pair in itertools.combinations(run, 2)}


def _turned(source: Analysis, rewrite: Analysis) -> tuple[str, str] | None:
    """Two names on either side of a word that stand on its other sides in the rewriting, both in the active voice."""
    if _passive(source.tokens) or _passive(rewrite.tokens) or source.language == "de":
        return None
    there = set(_triples(rewrite))
    return next(
        ((a, b) for a, word, b in _triples(source) if (b, word, a) in there and (a, word, b) not in there),
        None,
    )


def _triples(analysis: Analysis) -> Iterator[tuple[str, str, str]]:
    """(name, word, name) for names of one sentence with one to three content words between them."""
    for tokens in analysis.by_sentence:
        runs: list[list[Token]] = []
        before = ""
        for token in tokens:
            if token.kind == "word" and not token.stem:
                before = token.lower
                continue
            if token.stem and token.text[0].isupper() and before in _PLACES:
                before = ""
                continue
            before = ""
            if token.stem and runs and token.text[0].isupper() and runs[-1][-1].text[0].isupper():
                runs[-1].append(token)
            elif token.stem:
                runs.append([token])
        capitals = [at for at, run in enumerate(runs) if run[0].text[0].isupper()]
        for left, right in itertools.pairwise(capitals):
            if 1 < right - left <= 4:
                yield from (
                    (a.stem, runs[at][0].stem, b.stem)
                    for at in range(left + 1, right)
                    for a in runs[left]
                    for b in runs[right]
                )


def _exchangeable(ours: dict[str, Context], theirs: dict[str, Context]) -> Iterator[tuple[str, str]]:
    """Pairs of shared words of one sort where the neighbors of each turn up beside the other."""
    shared = {
        name for name in ours.keys() & theirs.keys() if min(len(ours[name]), len(theirs[name])) >= _FEWEST
    }
    beside: dict[str, set[str]] = {}
    for name in sorted(shared):
        for key in theirs[name]:
            beside.setdefault(key, set()).add(name)
    candidates = {a: set().union(*(beside.get(key, set()) for key in ours[a])) for a in shared}
    for a in sorted(shared):
        for b in sorted(candidates[a]):
            if (
                a < b
                and a in candidates[b]
                and a[0].isdigit() == b[0].isdigit()
                and not _touch(a, b, ours)
                and not _touch(a, b, theirs)
                and (a[0].isdigit() or not kindred(a, b))
            ):
                yield a, b


_NO_DIGIT = re.compile(r"\D")


def _named(token: Token, language: str) -> str:
    """What a token is called in contexts: its stem, or its figure however it is written; nothing without content."""
    if token.kind == "num":
        return _NO_DIGIT.sub("", token.text).lstrip("0") or "0"
    if token.kind == "word" and (value := words(language).get(token.lower)) is not None and value > 1:
        return str(value)
    return token.stem


def _content(tokens: list[Token], language: str) -> list[tuple[int, str, Token]]:
    """(place, name, token) of all with content; a time of day counts as one figure."""
    found: list[tuple[int, str, Token]] = []
    at = 0
    while at < len(tokens):
        token, name = tokens[at], _named(tokens[at], language)
        if (
            token.kind == "num"
            and at + 2 < len(tokens)
            and tokens[at + 1].text == ":"
            and tokens[at + 2].kind == "num"
            and tokens[at + 2].start == token.end + 1
        ):
            found.append((at, f"{name}{tokens[at + 2].text}", token))
            at += 3
            continue
        if name:
            found.append((at, name, token))
        at += 1
    return found


def _contexts(tokens: list[Token], language: str) -> dict[str, Context]:
    """For each content word and figure: its neighbors, the nearer the heavier; words said twice are left out."""
    content = _content(tokens, language)
    breaks = [0]
    for token in tokens:
        breaks.append(breaks[-1] + (token.text in ",;:" or token.lower in _AND))
    found: dict[str, Context] = {}
    twice: set[str] = set()
    for place, (at, name, token) in enumerate(content):
        if name in found:
            twice.add(name)
        near = found.setdefault(name, {})
        for other_at, key, other in content[max(0, place - _WINDOW) : place + _WINDOW + 1]:
            if other is token or other.sentence != token.sentence:
                continue
            low, high = (at, other_at) if at < other_at else (other_at, at)
            weight = 1 / (high - low + _BREAK * (breaks[high] - breaks[low + 1]))
            if weight > near.get(key, 0.0):
                near[key] = weight
        if (token.kind == "num" or token.text[0].isupper()) and at and tokens[at - 1].kind == "word":
            near[f"<{tokens[at - 1].lower}"] = _PREPOSITION
        if any(before.lower in NEGATORS[language] for before in tokens[max(0, at - 2) : at]):
            near["<not"] = _DENIED
    return {name: near for name, near in found.items() if name not in twice}


def _passive(tokens: list[Token]) -> bool:
    return any(token.lower in _AGENT for token in tokens)


def _touch(a: str, b: str, contexts: dict[str, Context]) -> bool:
    """Whether two words stand side by side, as an adjective and its noun do."""
    return contexts[a].get(b, 0.0) >= 0.5


def _alike(x: Context, y: Context, *without: str) -> float:
    """How alike two contexts are: the lighter weights of what they share over the heavier of all, 0 … 1."""
    light = heavy = 0.0
    for key, weight in x.items():
        if key in without:
            continue
        other = y.get(key, 0.0)
        if weight < other:
            light, heavy = light + weight, heavy + other
        else:
            light, heavy = light + other, heavy + weight
    heavy += sum(weight for key, weight in y.items() if key not in x and key not in without)
    return light / heavy if heavy else 0.0


def _finding(source: Analysis, rewrite: Analysis, a: str, b: str, how: str) -> Finding:
    return Finding(
        kind="swap",
        direction="changed",
        message=f"{a!r} and {b!r} {how}",
        source=_mention(source, a),
        rewrite=_mention(rewrite, a),
    )


def _mention(analysis: Analysis, name: str) -> Span | None:
    for token in analysis.tokens:
        if name in (token.stem, token.text) or _named(token, analysis.language) == name:
            return Span(start=token.start, end=token.end, text=token.text)
    return None
