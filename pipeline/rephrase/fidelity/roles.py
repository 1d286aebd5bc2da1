"""Who does what to whom, by the parsing layer.

Each noun gets the roles it plays (`sell:agent`, `sell:to`, `large:than`), the same for active and passive voice. Two
things have changed roles when each plays a part that only the other played in the source.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from pipeline.records import Finding, Span
from pipeline.rephrase.fidelity.analysis import Analysis
from pipeline.rephrase.fidelity.parsing import parses

Roles = dict[str, frozenset[str]]
"""Roles by content stem."""

_SUBJECTS, _OBJECTS = ("nsubj", "csubj"), ("dobj", "attr", "oprd", "acomp")
_INHERITS = frozenset(("conj", "appos"))
_RELATIVE = frozenset(("which", "that", "who", "whom"))
_PLURAL = frozenset("they them these both".split())
_PRONOUNS = _PLURAL | frozenset("it he she him her this".split())
_PLAIN = frozenset(("be", "have", "do", "make", "take", "get"))
"""Verbs that say too little alone: their roles count only together with what stands beside them."""


def compare_roles(source: Analysis, rewrite: Analysis) -> list[Finding]:
    """At most one finding: two things that have exchanged their roles. Both texts must be `available` to the parser."""
    ours, theirs = _read(source), _read(rewrite)
    shared = sorted(ours.keys() & theirs.keys())
    moved = {name: (ours[name] - theirs[name], theirs[name] - ours[name]) for name in shared}
    for a in shared:
        for b in shared:
            if a >= b:
                continue
            left = (moved[a][0] & moved[b][1]) - ours[b] - theirs[a]
            right = (moved[b][0] & moved[a][1]) - ours[a] - theirs[b]
            if left and right:
                return [_finding(source, rewrite, a, b, sorted(left)[0], sorted(right)[0])]
    return []


def _finding(source: Analysis, rewrite: Analysis, a: str, b: str, left: str, right: str) -> Finding:
    return Finding(
        kind="swap",
        direction="changed",
        message=f"{a!r} and {b!r} have changed roles ({left}, {right})",
        source=_mention(source, a),
        rewrite=_mention(rewrite, a),
    )


def _mention(analysis: Analysis, stem: str) -> Span | None:
    for token in analysis.tokens:
        if token.stem == stem:
            return Span(start=token.start, end=token.end, text=token.text)
    return None


@dataclass(frozen=True, slots=True)
class _Subject:
    """A noun that a later pronoun may stand for."""

    name: str
    plural: bool
    head: Any


@lru_cache(maxsize=64)
def _read(analysis: Analysis) -> Roles:
    found: defaultdict[str, set[str]] = defaultdict(set)
    subjects: list[_Subject] = []
    for _, parsed, names in parses(analysis):
        frames: defaultdict[int, list[tuple[str, str]]] = defaultdict(list)
        for word in parsed:
            name = names[word.i]
            if word.lower_ in _RELATIVE and word.dep_ != "mark":
                name = _antecedent(word, names)
            elif word.lower_ in _PRONOUNS and word.dep_ in (
                *_SUBJECTS,
                "nsubjpass",
                "dobj",
                "pobj",
                "dative",
            ):
                name = _meant(word, subjects)
            elif name and word.dep_ in (*_SUBJECTS, "nsubjpass"):
                subjects.append(_Subject(name, word.tag_ in ("NNS", "NNPS"), word.head))
            if not name:
                continue
            for head, role in _played(word):
                frames[head.i].append((role, name))
        compared = " ".join(word.lower_ for word in parsed if word.tag_ in ("JJR", "RBR"))
        for at, parts in frames.items():
            for name, key in _keys(parsed[at], parts):
                found[name].add(f"{compared} {key}" if "than" in key else key)
    return {name: frozenset(keys) for name, keys in found.items()}


def _meant(pronoun: Any, subjects: list[_Subject]) -> str:
    """The latest subject that agrees in number, of another verb; nothing where there is none."""
    plural = pronoun.lower_ in _PLURAL
    verb = next((up for up in pronoun.ancestors if up.pos_ in ("VERB", "AUX")), pronoun.head)
    for subject in reversed(subjects):
        if subject.plural == plural and subject.head != verb:
            return subject.name
    return ""


def _antecedent(word: Any, names: dict[int, str]) -> str:
    """The noun that a relative pronoun stands for."""
    for up in word.ancestors:
        if up.dep_ == "relcl":
            return names.get(up.head.i, "")
    return ""


def _played(word: Any) -> Iterator[tuple[Any, str]]:
    """(head, role) of a word; members of a coordination play what the first one plays."""
    top = word
    while top.dep_ in _INHERITS and top.pos_ in ("NOUN", "PROPN", "NUM", "PRON") and top.head.i != top.i:
        top = top.head
    head, dep = top.head, top.dep_
    if dep in _SUBJECTS:
        yield head, "agent"
        for verb in head.conjuncts:
            if verb.pos_ == "VERB" and not any(
                child.dep_ in (*_SUBJECTS, "nsubjpass") for child in verb.children
            ):
                yield verb, "patient" if any(child.dep_ == "auxpass" for child in verb.children) else "agent"
    elif dep == "nsubjpass":
        given = any(child.dep_ == "dobj" for child in head.children)  # who is taught something is taught to
        yield head, "to" if given else "patient"
    elif dep in _OBJECTS:
        yield head, "patient"
    elif dep == "dative":
        yield head, "to"
    elif dep == "pobj" and head.dep_ == "agent":
        yield head.head, "agent"
    elif dep == "pobj":
        yield head.head, head.lower_
    elif dep == "nummod":
        yield head, "count"
    if dep in (*_SUBJECTS, "nsubjpass", "dobj", "pobj", "attr", "ROOT"):
        for child in top.children:
            if child.dep_ == "acl" and child.tag_ == "VBN":
                yield child, "patient"


def _keys(head: Any, parts: list[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """(name, role key) of all that depend on one head: each alone, and each with what stands beside it."""
    lemma = head.lemma_.lower()
    denied = "not " if any(child.dep_ == "neg" for child in head.children) else ""
    for role, name in parts:
        if lemma not in _PLAIN:
            yield name, f"{denied}{lemma}:{role}"
        for other_role, other in parts:
            if (other_role, other) != (role, name) and other != name:
                yield name, f"{denied}{lemma}:{role} with {other_role}={other}"
