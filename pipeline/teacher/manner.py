"""The assistant's manner: full forms where it writes formally."""

from __future__ import annotations

import re

_FULL = {
    "can't": "cannot", "won't": "will not", "don't": "do not", "doesn't": "does not", "didn't": "did not",
    "isn't": "is not", "aren't": "are not", "wasn't": "was not", "weren't": "were not", "couldn't": "could not",
    "wouldn't": "would not", "hasn't": "has not", "haven't": "have not", "i'm": "I am", "i've": "I have",
    "i'll": "I will", "i'd": "I would", "you're": "you are", "you've": "you have", "you'll": "you will",
    "we're": "we are", "we've": "we have", "we'll": "we will", "they're": "they are", "they've": "they have",
    "that's": "that is", "there's": "there is", "it'll": "it will", "that'll": "that will", "let's": "let us",
}  # fmt: skip
_SHORT = re.compile(r"\b(?:" + "|".join(map(re.escape, _FULL)) + r")\b", re.IGNORECASE)
_IT_IS = re.compile(r"\b([Ii]t|[Ww]hat|[Hh]ere)'s (?!been\b|got\b|had\b|gone\b)")


def formal(text: str) -> str:
    """Text without contractions; `it's been` and the like keep theirs, since they may mean `has`."""
    if "'" not in text:
        return text
    text = _IT_IS.sub(r"\1 is ", text)
    return _SHORT.sub(_full, text)


def _full(match: re.Match[str]) -> str:
    full = _FULL[match[0].lower()]
    if match[0][0].isupper():
        return full[0].upper() + full[1:]
    return full if full.startswith("I ") else full[0].lower() + full[1:]
