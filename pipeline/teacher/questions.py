"""Questions that an English sentence answers, made by rule; nothing where its form gives no sound one."""

from __future__ import annotations

import re

from pipeline.rephrase.fidelity.lexicon import STOP as _STOP
from pipeline.teacher.rewording import lower

_SUBJECT = (
    r"(?P<subject>(?:The|A|An) (?:[\w'-]+ ){0,2}[\w'-]+(?: of (?:(?:the|a|an) )?[\w'-]+)?"
    r"|[A-Z][\w'-]+(?: (?:[A-Z][\w'-]+|type|rock|water)){0,2})"
)
_BE = re.compile(rf"^{_SUBJECT} (?P<aux>is|are|was|were) (?P<rest>.+)$")
_MODAL = re.compile(rf"^{_SUBJECT} (?P<aux>can|could|may|will|would|should) (?P<verb>[a-z]+) (?P<rest>.+)$")
_OWNS = re.compile(
    rf"^{_SUBJECT} (?P<verb>has|have|had) (?:(?:about|some|over|only|more than) )?(?P<count>[\d,]+|two|three|four|five|six"
    r"|seven|eight|nine|ten|twelve) (?P<things>[a-z]+s)\b"
)
_WHY = re.compile(
    r"^(?P<main>[A-Z][^,;:]+?),? (?:because|since) (?P<why>[^;:]*\b(?:is|are|was|were|has|have|had|can|could|did|does)\b.*)$"
)
_TIME = re.compile(r"\b(?:in|on|around) (?:\d{4}|\d{1,2} [A-Z]\w+ \d{4})")
_PLACE = re.compile(
    r"^(?P<done>kept|held|made|found|built|born|opened|grown|invented) (?:in|at|near) (?:the )?[A-Z]"
)
_DONE = re.compile(r"^(?P<done>\w+ed|built|made|found|held|kept|born)\b")
_NO_SUBJECT = frozenset(
    "nobody none no not some few any each every many most all both other others another there here what who which it they he "
    "she this that these those we you i".split()
)
_VERB_INSIDE = re.compile(r"\b(?:that|which|who|\w{3,}ed|is|are|was|were|has|have|had)\b")
_STATES = frozenset("be have not never also only still hardly".split())


def question(sentence: str) -> str:
    """A question whose answer is `sentence`, or an empty text."""
    if (found := _WHY.match(sentence)) and found["main"].split()[0].lower() not in (
        "although",
        "when",
        "if",
        "while",
    ):
        return f"Why is it that {lower(found['main'])}?"
    for form, ask in ((_OWNS, _how_many), (_BE, _being), (_MODAL, _doing)):
        if (found := form.match(sentence)) and _is_subject(found["subject"]):
            return ask(found, sentence)
    return ""


def _is_subject(phrase: str) -> bool:
    first, *others = phrase.split()
    name = first.lower() not in _STOP["en"] or first in ("The", "A", "An")
    return name and first.lower() not in _NO_SUBJECT and not _VERB_INSIDE.search(" ".join(others))


def _how_many(found: re.Match[str], sentence: str) -> str:
    aux = {"has": "does", "have": "do", "had": "did"}[found["verb"]]
    return f"How many {found['things']} {aux} {lower(found['subject'])} have?"


def _doing(found: re.Match[str], sentence: str) -> str:
    if found["verb"] in _STATES:
        return ""
    return f"What {found['aux']} {lower(found['subject'])} do?"


def _being(found: re.Match[str], sentence: str) -> str:
    subject, aux, rest = lower(found["subject"]), found["aux"], found["rest"]
    if re.match(r"(?:an?|the) ", rest):
        return f"What {aux} {subject}?"
    if place := _PLACE.match(rest):
        return f"Where {aux} {subject} {place['done']}?"
    done = _DONE.match(rest)
    if done and (when := _TIME.search(rest)) and "," not in rest[: when.start()]:
        return f"When {aux} {subject} {done['done']}?"
    if done and re.search(r" by \w+ing\b", rest):
        return f"How {aux} {subject} {done['done']}?"
    return ""
