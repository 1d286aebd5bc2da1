"""What is denied of which predicate, by the parsing layer: `is wanted` against `is not wanted`.

A predicate that one text only states and the other only denies has changed, whatever else is denied around it. Where
a sentence limits in other words (`only`, `unless`, `less`), the rules decide.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

from pipeline.records import Finding, Span
from pipeline.rephrase.fidelity.analysis import Analysis
from pipeline.rephrase.fidelity.lexicon import NEGATIVE_WORDS
from pipeline.rephrase.fidelity.parsing import parses

_DENIERS = frozenset("never nowhere not n't no".split())
_NOBODY = frozenset("nobody nothing none neither".split())
_LIMITS = NEGATIVE_WORDS["en"] | frozenset(
    "only unless before until without except less fewer than as nor otherwise but although though whether".split()
)


class _Said(NamedTuple):
    denied: bool
    span: Span
    limits: frozenset[str]


def compare_denials(source: Analysis, rewrite: Analysis) -> list[Finding]:
    """Findings for predicates whose polarity has changed. Both texts must be `available` to the parser."""
    ours, theirs = _polarities(source), _polarities(rewrite)
    found = []
    for stem in sorted(ours.keys() & theirs.keys()):
        mine, yours = ours[stem], theirs[stem]
        if len({item.denied for item in mine}) > 1 or len({item.denied for item in yours}) > 1:
            continue
        if mine[0].denied == yours[0].denied:
            continue
        if frozenset().union(*(item.limits for item in mine)) != frozenset().union(
            *(item.limits for item in yours)
        ):
            continue
        found.append(
            Finding(
                kind="negation",
                direction="added" if yours[0].denied else "lost",
                message=f"{yours[0].span.text!r} is {'denied' if yours[0].denied else 'stated'} now",
                source=mine[0].span,
                rewrite=yours[0].span,
            )
        )
    return found


@lru_cache(maxsize=64)
def _polarities(analysis: Analysis) -> dict[str, list[_Said]]:
    """By stem: verbs, and what a form of `be` says of its subject; questions state nothing."""
    found: dict[str, list[_Said]] = {}
    for sentence, parsed, names in parses(analysis):
        if sentence.question:
            continue
        limits = frozenset(word.lower_ for word in parsed) & _LIMITS
        for word in parsed:
            verb = word if word.pos_ == "VERB" else word.head if word.dep_ in ("acomp", "attr") else None
            if verb is None or not names[word.i]:
                continue
            start = sentence.start + word.idx
            span = Span(start=start, end=start + len(word.text), text=word.text)
            near = any(before.lower_ in _DENIERS for before in parsed[max(0, word.i - 2) : word.i])
            found.setdefault(names[word.i], []).append(_Said(near or _denied(verb), span, limits))
    return found


def _denied(verb: Any) -> bool:
    """Whether a verb has a negator, or a subject or object that is nobody; members of `neither … nor` and `or` share it."""
    for child in verb.children:
        if child.dep_ == "neg" or (child.dep_ == "advmod" and child.lower_ in _DENIERS):
            return True
        if child.dep_ in ("nsubj", "nsubjpass", "dobj", "attr") and (
            child.lower_ in _NOBODY or any(word.lower_ == "no" for word in child.children)
        ):
            return True
    if verb.dep_ == "conj" and verb.head.pos_ == "VERB":
        joined = any(word.dep_ == "cc" and word.lower_ in ("or", "nor") for word in verb.head.children)
        return joined and _denied(verb.head)
    return False
