"""Secrets and personal contacts are taken out, the invented ones of a world are left.

Keys and tokens are found by the detectors of `detect-secrets`, phone numbers are judged by `phonenumbers`. A world is
full of e-mail addresses and phone numbers that its author made up; those that its own tools or its task brought in
are no one's and stay, and so do the ranges that are reserved for examples.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import lru_cache

import phonenumbers
from detect_secrets.core.plugins.util import get_mapping_from_secret_type_to_class
from detect_secrets.plugins.base import RegexBasedDetector

from pipeline.store.export.conversation import Conversation, Turn

_NOT_SECRET = {"Public IP (ipv4)"}
_FURTHER = {
    "Private Key": r"-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?-----END [A-Z ]*PRIVATE KEY-----",
    "Hugging Face Token": r"\bhf_[A-Za-z0-9]{30,}\b",
    "Google API Key": r"\bAIza[A-Za-z0-9_-]{35}\b",
    "Model Provider Key": r"\bsk-[A-Za-z0-9_-]{32,}\b",
}
"""What the library has no detector for, or sees only the first line of."""
_MAY_HOLD_SECRET = re.compile(r"[A-Za-z0-9_/+=.-]{16,}|-----BEGIN|://[^/\s]+@")
_EMAIL = re.compile(r"\b[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,}\b")
_RESERVED_MAIL = re.compile(
    r"@(?:[a-z0-9-]+\.)*(?:example\.(?:com|org|net|edu)|[a-z0-9-]+\.(?:example|test|invalid|localhost))$",
    re.I,
)
_PHONE = re.compile(r"(?<![\w.])(?:\+\d[\d ().-]{6,18}\d|\(\d{3}\) ?\d{3}-\d{4}|\d{3}-\d{3}-\d{4})(?![\w-])")


@lru_cache(maxsize=1)
def _detectors() -> tuple[tuple[str, re.Pattern[str]], ...]:
    found = [(name, re.compile(pattern)) for name, pattern in _FURTHER.items()]
    for name, kind in sorted(get_mapping_from_secret_type_to_class().items()):
        if issubclass(kind, RegexBasedDetector) and name not in _NOT_SECRET and name not in _FURTHER:
            found.extend((name, pattern) for pattern in kind.denylist)  # type: ignore[attr-defined]
    return tuple(found)


def contacts(text: str) -> set[str]:
    """E-mail addresses and phone numbers in a text, in the form in which they are compared."""
    return {_normal(match.group()) for pattern in (_EMAIL, _PHONE) for match in pattern.finditer(text)}


def _normal(contact: str) -> str:
    return contact.casefold() if "@" in contact else re.sub(r"\D", "", contact)[-9:]


def _secrets(text: str) -> Iterator[tuple[str, str]]:
    if not _MAY_HOLD_SECRET.search(text):
        return
    for name, pattern in _detectors():
        for match in pattern.finditer(text):
            groups = [group for group in match.groups() if group]
            yield name, max(groups, key=len) if groups else match.group()


def _foreign_contacts(text: str, own: Callable[[str], bool]) -> Iterator[tuple[str, str]]:
    for match in _EMAIL.finditer(text):
        if not _RESERVED_MAIL.search(match.group()) and not own(_normal(match.group())):
            yield "e-mail address", match.group()
    for match in _PHONE.finditer(text):
        if _is_phone(match.group()) and not own(_normal(match.group())):
            yield "phone number", match.group()


@lru_cache(maxsize=4096)
def _is_phone(text: str) -> bool:
    try:
        return phonenumbers.is_valid_number(phonenumbers.parse(text, "US"))
    except phonenumbers.NumberParseException:
        return False


def scrub_text(text: str, own: Callable[[str], bool], counts: Counter[str]) -> str:
    """The text with each find replaced by `[KIND removed]`; `counts` grows by what was replaced."""
    for kind, value in [*_secrets(text), *_foreign_contacts(text, own)]:
        if value in text:  # an earlier, longer find may have taken it along
            counts[kind] += text.count(value)
            text = text.replace(value, f"[{kind.lower()} removed]")
    return text


def scrub(row: Conversation, own: Callable[[str], bool]) -> tuple[Conversation, Counter[str]]:
    """The conversation without secrets and foreign contacts, and what was replaced.

    `own(contact)` says whether a contact, as `contacts` gives it, is the world's own.
    """
    counts: Counter[str] = Counter()

    def clean(text: str) -> str:
        return scrub_text(text, own, counts) if text else text

    turns = [_cleaned(turn, clean) for turn in row.turns]
    return (row.with_turns(turns), counts) if counts else (row, counts)


def _cleaned(turn: Turn, clean: Callable[[str], str]) -> Turn:
    return replace(
        turn,
        content=clean(turn.content),
        reasoning=clean(turn.reasoning),
        calls=tuple(replace(call, arguments=clean(call.arguments)) for call in turn.calls),
    )
