"""Formulas of two texts compared: as expressions where they can be read, as tidied text where not.

A formula is split at its relation signs into sides and relations. A relation of the source is kept when the rewriting
relates equal sides in the same way; a relation that the rewriting adds must be in the source or be true arithmetic.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

from pipeline.records import Finding, Span
from pipeline.rephrase.fidelity import symbolic
from pipeline.rephrase.fidelity.analysis import Analysis
from pipeline.rephrase.fidelity.latex import Unreadable, is_number, tidy, value
from pipeline.rephrase.fidelity.quantities import quantities

Key = tuple[object, ...]

_RELATION = re.compile(
    r"(\\le(?![a-zA-Z])|\\ge(?![a-zA-Z])|\\ne(?![a-zA-Z])|\\approx|\\to(?![a-zA-Z])|\\equiv|\\in(?![a-zA-Z])|=|<|>)"
)
_FLIP = {"=": "=", "\\ne": "\\ne", "\\approx": "\\approx", "\\le": "\\ge", "\\ge": "\\le", "<": ">", ">": "<"}
_PLAIN = re.compile(
    r"(?<![\w.$\\])(?:\(?-?\d+(?:\.\d+)?\)?\s*[-+−*/×·÷]\s*)+\(?-?\d+(?:\.\d+)?\)?(?:\s*=\s*[-−]?\d+(?:\.\d+)?)+(?![\w$])"
)
_LITERAL = re.compile(r"\d+(?:\.\d+)?")
_SIGNS = re.compile(r"[+\-]")
_FLOATS = 1e-9


@dataclass(frozen=True, slots=True)
class Side:
    text: str
    key: Key


@dataclass(frozen=True, slots=True)
class Relation:
    op: str
    left: Side
    right: Side
    start: int
    end: int

    @property
    def keys(self) -> set[Key]:
        """The relation read from the left and from the right."""
        return {
            (self.op, self.left.key, self.right.key),
            (_FLIP.get(self.op, self.op + "'"), self.right.key, self.left.key),
        }


@dataclass(slots=True)
class Formulas:
    """The formulas of one text."""

    sides: list[tuple[Side, int, int]]
    relations: list[Relation]
    literals: set[float]
    loose: str
    """All formulas and prose, tidied, to find what one side writes as plain text."""
    numbers: set[float]
    """Numbers that the text names, in prose or as a formula or part of one."""
    own: set[float]
    """Those of them that stand in formulas."""


def formulas(analysis: Analysis) -> Formulas:
    """Sides, relations and number literals of all formulas, plain-text arithmetic included."""
    found = Formulas([], [], set(), tidy(analysis.text.replace("$", " ")), set(), set())
    spans = [(item.start, item.end, item.body) for item in analysis.formulas]
    spans += [
        (hit.start(), hit.end(), hit[0])
        for hit in _PLAIN.finditer(analysis.text)
        if not _inside(hit.start(), spans)
    ]
    for start, end, body in spans:
        found.literals.update(float(number) for number in _LITERAL.findall(tidy(body)))
        for part in _parts(body):
            pieces = _RELATION.split(part)
            sides = [Side(piece, _key(piece)) for piece in pieces[::2]]
            found.sides.extend((side, start, end) for side in sides if side.text)
            for at, op in enumerate(pieces[1::2]):
                if sides[at].text and sides[at + 1].text:
                    found.relations.append(Relation(op, sides[at], sides[at + 1], start, end))
    found.own = found.literals | {
        number for side, _, _ in found.sides if (number := _numeric(side)) is not None
    }
    found.numbers = {round(item.value, 9) for item in quantities(analysis)} | found.own
    return found


def _inside(offset: int, spans: list[tuple[int, int, str]]) -> bool:
    return any(start <= offset < end for start, end, _ in spans)


def _parts(body: str) -> Iterator[str]:
    """The statements of one formula: aligned lines, and what `\\quad` or a word separates."""
    inner = re.sub(r"\\(?:begin|end)\{(?:align|aligned|equation|gather|split)\*?\}", " ", body)
    if "\\begin" in inner:
        yield tidy(inner)
        return
    for part in re.split(
        r"\\\\|\\quad|\\qquad|\\text\{[^}]*\}|\\Rightarrow|\\implies|\\iff|\\Leftrightarrow",
        inner.replace("&", " "),
    ):
        if part.strip():
            yield tidy(part)


def _key(text: str) -> Key:
    try:
        values = value(text)
    except Unreadable:
        return ("text", "+".join(sorted(text.split("+"))))  # the order of summands says nothing
    return ("value", *(_rounded(item) for item in values))


def _rounded(number: complex) -> tuple[str, str]:
    return f"{number.real + 0.0:.9g}".replace("-0", "0") if abs(
        number.real
    ) < _FLOATS else f"{number.real:.9g}", ("0" if abs(number.imag) < _FLOATS else f"{number.imag:.9g}")


Gone = tuple[str, int, int, Relation | None]
"""A formula without a counterpart: its text, its place, and the relation where it is one."""


def compare_formulas(source: Analysis, rewrite: Analysis, ours: Formulas, theirs: Formulas) -> list[Finding]:
    """Findings for formulas lost, added or changed, and for wrong arithmetic in the rewriting."""
    if not ours.sides and not theirs.sides:
        return []
    wrong = [relation for relation in theirs.relations if _false(relation) and not _known(relation, ours)]
    lost = _lost(ours, theirs)
    added = [item for item in _lost(theirs, ours) if not _derived(item, ours)]
    lost, added = _unequal(lost, added)
    findings = [_arithmetic(rewrite, relation) for relation in wrong]
    return findings + list(_paired(source, rewrite, lost, added))


def _unequal(lost: list[Gone], added: list[Gone]) -> tuple[list[Gone], list[Gone]]:
    """Both lists without the pairs that the probe cannot read and that math-verify holds to be equal."""
    rest, left = list(added), []
    for item in lost:
        partner = next(
            (other for other in rest if _unread(item) and _unread(other) and _same(item, other)), None
        )
        if partner is None:
            left.append(item)
        else:
            rest.remove(partner)
    return left, rest


def _unread(gone: Gone) -> bool:
    """Whether a formula, or a side of it, could only be compared as text."""
    relation = gone[3]
    keys = [_key(gone[0])] if relation is None else [relation.left.key, relation.right.key]
    return any(key[0] == "text" for key in keys)


def _same(a: Gone, b: Gone) -> bool:
    one, other = a[3], b[3]
    if one is None or other is None:
        return one is other and symbolic.equal(a[0], b[0]) is True
    return one.op == other.op and all(
        x.key == y.key or symbolic.equal(x.text, y.text) is True
        for x, y in ((one.left, other.left), (one.right, other.right))
    )


def _lost(some: Formulas, other: Formulas) -> list[Gone]:
    """Relations and single expressions of one text that the other does not have."""
    gone: list[Gone] = []
    keys = {key for relation in other.relations for key in relation.keys}
    side_keys = {side.key for side, _, _ in other.sides}
    chained = _chains(other)
    in_relation = {(relation.start, relation.end) for relation in some.relations}
    for relation in some.relations:
        text = f"{relation.left.text}{relation.op}{relation.right.text}"
        if relation.keys & keys or text in other.loose or _linked(relation, chained, other, side_keys):
            continue
        if relation.op == "=" and (scaled := _scaled(relation)) is not None:
            same = any(other_one.op == "=" and _scaled(other_one) == scaled for other_one in other.relations)
            if same:
                continue
        gone.append((text, relation.start, relation.end, relation))
    for side, start, end in some.sides:
        alone = (start, end) not in in_relation
        if not alone or side.key in side_keys or _plain_symbol(side.text) or _stands(side.text, other.loose):
            continue
        if is_number(side.text) and side.key[0] == "value" and _numeric(side) in other.numbers:
            continue
        gone.append((side.text, start, end, None))
    return gone


def _scaled(relation: Relation) -> Key | None:
    """What an equation says when all is brought to one side, up to a factor; None where it cannot be read.

    So `x^2 = 5x - 6` is `x^2 - 5x + 6 = 0`. An equation of numbers, or of a symbol alone, says its sides themselves.
    """
    if is_number(relation.left.text) or (is_number(relation.right.text) and relation.right.text != "0"):
        return None
    try:
        values = value(f"({relation.left.text})-({relation.right.text})")
    except Unreadable:
        return None
    first = next((item for item in values if abs(item) > _FLOATS), None)
    return None if first is None else ("value", *(_rounded(item / first) for item in values))


def _stands(text: str, loose: str) -> bool:
    """Whether an expression stands in prose by itself, and not as a part of a longer one."""
    return re.search(rf"(?<![\d{{(^+\-*/\\]){re.escape(text)}(?![\d)}}^+\-*/])", loose) is not None


def _chains(found: Formulas) -> dict[Key, int]:
    """A number of the chain of equations that each side stands in."""
    chain: dict[Key, int] = {}
    for relation in found.relations:
        if relation.op not in ("=", "\\approx"):
            continue
        a, b = chain.get(relation.left.key), chain.get(relation.right.key)
        name = a if a is not None else b if b is not None else len(chain)
        if a is not None and b is not None and a != b:
            chain = {key: a if group == b else group for key, group in chain.items()}
        chain[relation.left.key] = chain[relation.right.key] = name
    return chain


def _linked(relation: Relation, chained: dict[Key, int], other: Formulas, side_keys: set[Key]) -> bool:
    """Whether the other text equates both sides by way of further ones, or says an equation's side in prose."""
    if relation.op not in ("=", "\\approx"):
        return False
    a, b = chained.get(relation.left.key), chained.get(relation.right.key)
    if a is not None and a == b:
        return True
    if relation.left.key == relation.right.key:
        literals = {
            float(number) for number in _LITERAL.findall(relation.left.text + " " + relation.right.text)
        }
        return relation.left.key in side_keys or literals <= other.numbers
    said = relation.right.key in side_keys or _numeric(relation.right) in other.numbers
    if not _plain_symbol(relation.left.text) and relation.left.key in side_keys and said:
        return True  # the other text relates the two in prose
    if not (_plain_symbol(relation.left.text) and is_number(relation.right.text)):
        return False
    valued = any(relation.left.key == one.left.key and is_number(one.right.text) for one in other.relations)
    return _numeric(relation.right) in other.numbers and (relation.right.key in side_keys or not valued)


def _numeric(side: Side) -> float | None:
    if side.key[0] != "value":
        return None
    real, imaginary = cast(tuple[str, str], side.key[1])
    return round(float(real), 9) if imaginary == "0" else None


def _plain_symbol(text: str) -> bool:
    return bool(re.fullmatch(r"\\?[a-zA-Z]+'?|[a-zA-Z]_\w|[a-zA-Z]'?\([a-zA-Z]\)|", text))


def _known(relation: Relation, ours: Formulas) -> bool:
    return any(relation.keys & other.keys for other in ours.relations)


def _false(relation: Relation) -> bool:
    """Whether an equation between numbers is wrong; roundings to the digits written are right."""
    if relation.op not in ("=", "\\approx") or not (
        is_number(relation.left.text) and is_number(relation.right.text)
    ):
        return False
    a, b = _numeric(relation.left), _numeric(relation.right)
    if a is None or b is None or abs(a - b) <= 1e-9 * max(1, abs(a), abs(b)):
        return False
    decimals = min(
        (len(found.partition(".")[2]) for found in _LITERAL.findall(relation.right.text)), default=0
    )
    slack = 2 * 10.0**-decimals if relation.op == "\\approx" or decimals else 0.0
    return abs(a - b) > slack + 0.005 * abs(a) * (relation.op == "\\approx")


def _derived(gone: Gone, ours: Formulas) -> bool:
    """Whether an added formula says nothing new: a true equation of numbers, or a part of a formula of the source."""
    text, _, _, relation = gone
    if relation is None:
        return _stands(text, ours.loose)
    if relation.op in ("=", "\\approx") and is_number(relation.left.text) and is_number(relation.right.text):
        return not _false(relation)
    return relation.op == "=" and relation.left.key == relation.right.key


def _arithmetic(rewrite: Analysis, relation: Relation) -> Finding:
    return Finding(
        kind="arithmetic",
        direction="changed",
        message=f"{relation.left.text} {relation.op} {relation.right.text} is wrong",
        rewrite=Span(
            start=relation.start, end=relation.end, text=rewrite.text[relation.start : relation.end]
        ),
    )


def _paired(source: Analysis, rewrite: Analysis, lost: list[Gone], added: list[Gone]) -> Iterator[Finding]:
    rest = list(added)
    for text, start, end, _ in lost:
        span = Span(start=start, end=end, text=source.text[start:end])
        partner = min(rest, key=lambda other: _distance(text, other[0]), default=None)
        if partner is None:
            yield Finding(kind="formula", direction="lost", message=f"{text} is missing", source=span)
            continue
        rest.remove(partner)
        signs = _SIGNS.sub("±", text) == _SIGNS.sub("±", partner[0]) or text.replace("-", "") == partner[
            0
        ].replace("-", "")
        yield Finding(
            kind="formula_sign" if signs else "formula",
            direction="changed",
            message=f"{text} became {partner[0]}",
            source=span,
            rewrite=Span(start=partner[1], end=partner[2], text=rewrite.text[partner[1] : partner[2]]),
        )
    for text, start, end, _ in rest:
        span = Span(start=start, end=end, text=rewrite.text[start:end])
        yield Finding(kind="formula", direction="added", message=f"{text} is not in the source", rewrite=span)


def _distance(a: str, b: str) -> int:
    return len(set(enumerate(a)) ^ set(enumerate(b)))


_CODE = re.compile(r"```[^\n]*\n(.*?)```|`([^`\n]+)`", re.DOTALL)


def compare_code(source: Analysis, rewrite: Analysis) -> list[Finding]:
    """Findings for code of the source that the rewriting does not hold character by character (white space aside)."""
    loose = re.sub(r"\s+", "", rewrite.text)
    return [
        Finding(
            kind="code",
            direction="lost",
            message="code was left out or changed",
            source=Span(start=hit.start(), end=hit.end(), text=hit[0]),
        )
        for hit in _CODE.finditer(source.text)
        if re.sub(r"\s+", "", hit[1] or hit[2]) not in loose
    ]


_ANSWER = re.compile(
    r"(?:\banswer|\banswer is|antwort|lösung lautet|réponse|respuesta|答案)\W{0,4}(?:is|ist|est|es|lautet|equals|:|是|为|therefore|, is)?"
    r"[\s:*]*(?:about|approximately|etwa|environ)?\s*(?P<text>\$[^$]+\$|[-−]?\d[\d.,/]*\d|[-−]?\d)",
    re.IGNORECASE,
)
_BOX = re.compile(r"\\boxed\{((?:[^{}]|\{[^{}]*\})*)\}")


def answer_of(text: str) -> tuple[str, int, int] | None:
    """The final answer of a worked solution, tidied, and its place: the last box, else the last `answer is …`."""
    boxes = list(_BOX.finditer(text))
    if boxes:
        return tidy(boxes[-1][1]), boxes[-1].start(), boxes[-1].end()
    said = list(_ANSWER.finditer(text))
    return (tidy(said[-1]["text"].strip("$")), said[-1].start("text"), said[-1].end("text")) if said else None


def compare_answers(source: Analysis, rewrite: Analysis) -> list[Finding]:
    """A finding when both texts state a final answer and the answers differ."""
    ours, theirs = answer_of(source.text), answer_of(rewrite.text)
    if ours is None or theirs is None or ours[0] == theirs[0] or _key(ours[0]) == _key(theirs[0]):
        return []
    tail = _RELATION.split(ours[0])[-1], _RELATION.split(theirs[0])[-1]
    if _key(tail[0]) == _key(tail[1]):
        return []
    return [
        Finding(
            kind="answer",
            direction="changed",
            message=f"the answer {ours[0]} became {theirs[0]}",
            source=Span(start=ours[1], end=ours[2], text=source.text[ours[1] : ours[2]]),
            rewrite=Span(start=theirs[1], end=theirs[2], text=rewrite.text[theirs[1] : theirs[2]]),
        )
    ]
