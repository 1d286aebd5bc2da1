"""Sentences lost or invented, members of lists, and things that changed places."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from pipeline.records import Finding, Span
from pipeline.rephrase.fidelity.alignment import tokens_of, units
from pipeline.rephrase.fidelity.analysis import Analysis, Token
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
    found = []
    for best, unit, stems in sorted(held, key=lambda item: -item[0]):
        taken = [name for stem in sorted(stems) if (name := _take(stem, left)) is not None]
        left.subtract(taken)
        found.append(Said(unit, min(best, len(taken) / len(stems) + _SHARED)))
    return sorted(found, key=lambda item: item.unit)


_SHARED = 0.1
"""What a unit may have in common with its neighbors without a word of its own."""


def _take(stem: str, left: Counter[str]) -> str | None:
    if left[stem] > 0:
        return stem
    return next((name for name, count in left.items() if count > 0 and kindred(name, stem)), None)


def compare_lists(source: Analysis, rewrite: Analysis) -> list[Finding]:
    """Findings for members of enumerations (three items or more) that are missing or new on the other side."""
    found = []
    for one, other, direction in ((source, rewrite, "lost"), (rewrite, source, "added")):
        pool = other.all_stems
        for items in _enumerations(one):
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


_FINITE = frozenset(
    (
        "it they he she which who that is are was were has have had can may must will we you not er sie es ist sind war wird hat haben "
        "kann il elle ils elles est sont qui que ont se no so then"
    ).split()
)
"""Words by which a piece between commas is a clause and no member of a list."""
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
            items = [pieces[start][-2:], *pieces[start + 1 : at + 1], pieces[at + 1][:3]]
            middle = [token.lower for item in items[1:] for token in item]
            if _FINITE & set(middle):
                continue
            if all(0 < len(item) <= 4 and any(token.stem for token in item) for item in items):
                yield items


_WINDOW = 5
_BREAK = 3
"""By how many words a comma or a conjunction separates."""
_PREPOSITION = 0.5
"""Weight of the word before a name or a figure."""
_MARGIN, _COMMON_MARGIN = 0.7, 0.9


def compare_places(source: Analysis, rewrite: Analysis, *, converse: bool = False) -> list[Finding]:
    """Findings for two things that have taken each other's place: each now stands where the other stood."""
    if converse:  # a comparison that was turned round exchanges its operands rightly
        return []
    ours = _contexts(source.tokens)
    theirs = _contexts(rewrite.tokens)
    capital = {token.stem for token in source.tokens if token.kind == "word" and token.text[0].isupper()}
    voices_differ = _passive(source) != _passive(rewrite)
    if (turned := _turned(source, rewrite)) is not None:
        message = f"{turned[0]!r} and {turned[1]!r} have changed roles"
        spans = _mention(source, turned[0]), _mention(rewrite, turned[0])
        return [Finding(kind="swap", direction="changed", message=message, source=spans[0], rewrite=spans[1])]
    for a, b in _exchangeable(ours, theirs):
        named = a[0].isdigit() or (a in capital and b in capital)
        if not named and voices_differ:
            continue
        there = _alike(ours[a], theirs[b], a, b)
        back = _alike(ours[b], theirs[a], a, b) if there > _LEAST else 0.0
        margin = _MARGIN if named else _COMMON_MARGIN
        if back <= _LEAST or there + back <= margin:
            continue
        if there + back > _alike(ours[a], theirs[a], a, b) + _alike(ours[b], theirs[b], a, b) + margin:
            message = f"{a!r} and {b!r} have changed places"
            spans = _mention(source, a), _mention(rewrite, a)
            return [
                Finding(kind="swap", direction="changed", message=message, source=spans[0], rewrite=spans[1])
            ]
    return []


_LEAST = 0.3


def _turned(source: Analysis, rewrite: Analysis) -> tuple[str, str] | None:
    """Two names on either side of a word that stand on its other sides in the rewriting, both in the active voice."""
    if _passive(source) or _passive(rewrite) or source.language == "de":
        return None
    there = set(_triples(rewrite))
    return next(
        ((a, b) for a, word, b in _triples(source) if (b, word, a) in there and (a, word, b) not in there),
        None,
    )


_PLACES = frozenset("in at to from of for on near into à de en au aux chez vers a por para desde".split())


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
                and _comparable(a, b)
                and not _touch(a, b, ours)
                and not _touch(a, b, theirs)
                and (a[0].isdigit() or not kindred(a, b))
            ):
                yield a, b


Context = dict[str, float]


def _contexts(tokens: list[Token]) -> dict[str, Context]:
    """For each content word and figure: its neighbors, the nearer the heavier; words said twice are left out."""
    content = [(at, token) for at, token in enumerate(tokens) if token.stem or token.kind == "num"]
    breaks = [0]
    for token in tokens:
        breaks.append(breaks[-1] + (token.text in ",;:" or token.lower in _AND))
    found: dict[str, Context] = {}
    twice: set[str] = set()
    for place, (at, token) in enumerate(content):
        name = token.stem or token.text
        if name in found:
            twice.add(name)
        near = found.setdefault(name, {})
        for other_at, other in content[max(0, place - _WINDOW) : place + _WINDOW + 1]:
            if other is token or other.sentence != token.sentence:
                continue
            low, high = (at, other_at) if at < other_at else (other_at, at)
            weight = 1 / (high - low + _BREAK * (breaks[high] - breaks[low + 1]))
            key = other.stem or other.text
            if weight > near.get(key, 0.0):
                near[key] = weight
        if (token.kind == "num" or token.text[0].isupper()) and at and tokens[at - 1].kind == "word":
            near[f"<{tokens[at - 1].lower}"] = _PREPOSITION
    return {name: near for name, near in found.items() if name not in twice}


_AGENT = frozenset({"by", "von", "durch", "par", "por"})


def _passive(analysis: Analysis) -> bool:
    return any(token.lower in _AGENT for token in analysis.tokens)


def _comparable(a: str, b: str) -> bool:
    return a[0].isdigit() == b[0].isdigit()


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


def _mention(analysis: Analysis, name: str) -> Span | None:
    for token in analysis.tokens:
        if (token.stem or token.text) == name:
            return Span(start=token.start, end=token.end, text=token.text)
    return None
