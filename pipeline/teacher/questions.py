"""Questions that an English sentence answers, made by rule."""

from __future__ import annotations

import random
import re

from pipeline.teacher.rewording import lower

_AUX = r"is|are|was|were|can|could|may|might|must|has|have|had|will|would|should"
_CLAUSE = re.compile(
    rf"^(?P<subject>(?:The|A|An|Most|Some|Many|[A-Z])[\w' -]{{1,50}}?) (?P<aux>{_AUX}) (?P<rest>[^,;:]+)"
)
_DEFINES = re.compile(r"^(?:an?|the) ")
_TIME = re.compile(r"\b(?:in|on|around|since) (?:\d{4}|\d{1,2} [A-Z]\w+ \d{4})")
_WHY = re.compile(r"^(?P<main>[^,;:]+?),? (?:because|since) ")
_OPEN = (
    "What can be said about {subject}?",
    "What should I know about {subject}?",
    "Could you tell me about {subject}?",
    "What is there to say about {subject}?",
)
_MORE = ("Can you go on?", "What comes next?", "And then?", "Is there more to it?", "Could you say more?")


def question(sentence: str, rng: random.Random) -> str:
    """A question whose answer is `sentence`; a plain request to go on where its form gives nothing to ask."""
    if found := _WHY.match(sentence):
        return f"Why is it that {lower(found['main'])}?"
    found = _CLAUSE.match(sentence)
    if found is None or found["subject"].split()[0] in (
        "It",
        "They",
        "He",
        "She",
        "This",
        "These",
        "There",
        "Because",
        "When",
        "If",
        "In",
    ):
        return rng.choice(_MORE)
    subject = lower(found["subject"])
    if found["aux"] in ("is", "are", "was", "were"):
        if _DEFINES.match(found["rest"]):
            return f"What {found['aux']} {subject}?"
        participle = re.match(r"(\w+ed|built|made|found)\b", found["rest"])
        if participle and _TIME.search(sentence):
            return f"When {found['aux']} {subject} {participle[1]}?"
        if participle and " by " in sentence:
            return (
                f"By whom {found['aux']} {subject} {participle[1]}?"
                if re.search(r" by [A-Z]", sentence)
                else f"How {found['aux']} {subject} {participle[1]}?"
            )
    return rng.choice(_OPEN).format(subject=subject)
