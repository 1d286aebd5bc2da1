"""Short forms of an English sentence: notes, dated entries, causes with their effects. Facts stay, words go."""

from __future__ import annotations

import re

from pipeline.teacher.rewording import lower, upper

_DEFINITION = re.compile(
    r"^(?:(?:The|A|An) )?(?P<what>[\w'-]+(?: [\w'-]+){0,2}) (?:is|are) (?P<rest>(?:an?|the) [^;:]+)\.$"
)
_DATED = (
    re.compile(r"^In (?P<when>\d{4}),? (?P<main>[^;:]+)\.$"),
    re.compile(r"^(?P<main>[^;:]+?) in (?P<when>\d{4})\.$"),
)
_CAUSAL = (
    re.compile(r"^(?:Because|Since|As) (?P<cause>[^,;:]+), (?P<effect>[^,;:]+)\.$"),
    re.compile(r"^(?P<effect>[^,;:]+),? because (?P<cause>[^;:]+)\.$"),
    re.compile(r"^(?P<effect>[^,;:]+), since (?P<cause>[^;:]+)\.$"),
    re.compile(r"^(?P<cause>[^,;:]+), so (?P<effect>(?!that\b)[^;:]+)\.$"),
)
_ARTICLE = re.compile(r"\b[Tt]he (?=[a-z])")
_HANGS = re.compile(r"(?:it|they|he|she|this|these|there|its|his|her|their)\b", re.IGNORECASE)
_INNER = re.compile(r"\b(?:that|which|who|when|although|but)\b")


def dated(sentence: str) -> tuple[str, str] | None:
    """The year of a sentence that is about one, and the sentence without it."""
    for form in _DATED:
        if (found := form.match(sentence)) and not (form is _DATED[1] and _INNER.search(found["main"])):
            return found["when"], f"{upper(found['main'])}."
    return None


def causal(sentence: str) -> tuple[str, str] | None:
    """Cause and effect of a sentence that joins two clauses by `because`, `since` or `so`."""
    for form in _CAUSAL:
        if found := form.match(sentence):
            cause, effect = found["cause"], found["effect"]
            if len(cause.split()) > 3 and len(effect.split()) > 2 and not effect.startswith("Not "):
                return f"{upper(cause)}.", f"{upper(effect)}."
    return None


def note(sentence: str) -> str:
    """The sentence as a note: without its full stop and its definite articles."""
    return upper(_ARTICLE.sub("", _shortened(sentence)))


def _shortened(sentence: str) -> str:
    if (
        (found := _DEFINITION.match(sentence))
        and not _HANGS.match(found["what"])
        and not _INNER.search(found["what"])
    ):
        return f"{upper(found['what'])}: {found['rest']}"
    if parts := dated(sentence):
        return f"{parts[0]}: {lower(parts[1][:-1])}"
    if parts := causal(sentence):
        return f"{parts[1][:-1]} (reason: {lower(parts[0][:-1])})"
    return sentence.removesuffix(".")
