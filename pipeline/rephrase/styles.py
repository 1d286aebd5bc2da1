"""The styles of rewriting: what each is for, and what its answers may look like.

The wording of a style is its prompt, `prompts/style/NAME.md`; here stand its numbers.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from pipeline.records import Document


@dataclass(frozen=True, slots=True)
class Style:
    """One style × perspective. Ratios are tokens of the rewriting per token of the source."""

    name: str
    kinds: tuple[str, ...] = ("knowledge", "table")
    min_ratio: float = 0.55
    max_ratio: float = 2.0
    least_coverage: float = 1.0
    """Smallest share of the source's facts that must be kept; below it the rewriting is unfaithful."""
    may_ask: bool = False
    """Whether questions are part of the form."""
    translates: bool = False


STYLES: dict[str, Style] = {
    style.name: style
    for style in (
        Style("encyclopedic"),
        Style("question_answer", max_ratio=2.5, may_ask=True),
        Style("dialogue", max_ratio=3.0, may_ask=True),
        Style("lecture", max_ratio=2.5),
        Style("story_problem", max_ratio=2.5, may_ask=True),
        Style("notes", min_ratio=0.35, max_ratio=1.3, least_coverage=0.9),
        Style("for_a_child", max_ratio=2.5),
        Style("for_an_expert", min_ratio=0.4),
        Style("historical"),
        Style("cause_and_effect"),
        Style("news_report"),
        Style("comparison"),
        Style("letter", max_ratio=2.5),
        Style("learning_note", kinds=("math",), max_ratio=3.0),
        Style("worked_steps", kinds=("math",), max_ratio=3.0),
        Style("translation", kinds=("math", "knowledge", "table"), max_ratio=2.5, translates=True),
        Style("commented_code", kinds=("code",), max_ratio=2.5),
    )
}


def fitting(document: Document, allowed: Collection[str] = (), target_language: str = "en") -> list[str]:
    """Names of the styles for the document's kind, of those `allowed` (empty: all); translation only for documents in another language."""
    foreign = document.language != target_language
    return [
        style.name
        for style in STYLES.values()
        if document.kind in style.kinds
        and (foreign or not style.translates)
        and (not allowed or style.name in allowed)
    ]


def choose(fit: Sequence[str], document: Document, count: int, seed: int, used: Counter[str]) -> list[str]:
    """`count` different styles of those in `fit`: the least used so far, in an order drawn by seed among equals.

    For mathematics in another language the translation comes first. `used` is counted on.
    """
    names = list(fit)
    random.Random(f"{seed} {document.id}").shuffle(names)
    names.sort(key=lambda name: (not (document.kind == "math" and STYLES[name].translates), used[name]))
    used.update(names[:count])
    return names[:count]
