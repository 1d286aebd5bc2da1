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
from typing import Any

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
_SUSPECT = re.compile(r"[A-Za-z0-9_/+=.-]{16,}|-----BEGIN [\s\S]*|://[^/\s]+@")
_BEFORE, _AFTER = 80, 8
"""Detectors are slow on long texts, so they see the surroundings of suspects only: what is long and has a digit."""
_EMAIL = re.compile(r"\b[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,}\b")
_RESERVED_MAIL = re.compile(
    r"@(?:[a-z0-9-]+\.)*(?:example\.(?:com|org|net|edu)|[a-z0-9-]+\.(?:example|test|invalid|localhost))$",
    re.I,
)
_PHONES = tuple(
    re.compile(pattern + r"(?![\w-])")
    for pattern in (r"\+\d[\d ().-]{6,18}\d", r"\(\d{3}\) ?\d{3}-\d{4}", r"\d{3}-\d{3}-\d{4}")
)


@lru_cache(maxsize=1)
def _detectors() -> tuple[tuple[str, re.Pattern[str]], ...]:
    found = [(name, re.compile(pattern)) for name, pattern in _FURTHER.items()]
    kinds: dict[str, Any] = get_mapping_from_secret_type_to_class()
    for name, kind in sorted(kinds.items()):
        if issubclass(kind, RegexBasedDetector) and name not in _NOT_SECRET and name not in _FURTHER:
            found.extend((name, pattern) for pattern in kind.denylist)
    return tuple(found)


def contacts(text: str) -> set[str]:
    """E-mail addresses and phone numbers in a text, in the form in which they are compared."""
    return {_normal(each) for each in (*_EMAIL.findall(text), *_phones(text))}


def _phones(text: str) -> Iterator[str]:
    for pattern in _PHONES:
        for match in pattern.finditer(text):
            before = text[match.start() - 1 : match.start()]
            if not (before.isalnum() or (before in ("_", ".", "-", "+") and before)):
                yield match.group()


def _normal(contact: str) -> str:
    return contact.casefold() if "@" in contact else re.sub(r"\D", "", contact)[-9:]


def _secrets(text: str) -> Iterator[tuple[str, str]]:
    for suspect in _SUSPECT.finditer(text):
        found = suspect.group()
        if not (any(map(str.isdigit, found)) or found[0] in "-:"):
            continue
        around = text[max(0, suspect.start() - _BEFORE) : suspect.end() + _AFTER]
        for name, pattern in _detectors():
            for match in pattern.finditer(around):
                groups = [group for group in match.groups() if group]
                yield name, max(groups, key=len) if groups else match.group()


def _foreign_contacts(text: str, own: Callable[[str], bool]) -> Iterator[tuple[str, str]]:
    for match in _EMAIL.finditer(text):
        if not _RESERVED_MAIL.search(match.group()) and not own(_normal(match.group())):
            yield "e-mail address", match.group()
    for phone in _phones(text):
        if _is_phone(phone) and not own(_normal(phone)):
            yield "phone number", phone


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
    # Most rows hold nothing of the kind, and one look at all texts together says so.
    together = "\n".join(text for turn in row.turns for text in _texts(turn) if text)
    if next(_secrets(together), None) is None and next(_foreign_contacts(together, own), None) is None:
        return row, counts

    def clean(text: str) -> str:
        return scrub_text(text, own, counts) if text else text

    return row.with_turns([_cleaned(turn, clean) for turn in row.turns]), counts


def _texts(turn: Turn) -> tuple[str, ...]:
    return turn.content, turn.reasoning, *(call.arguments for call in turn.calls)


def _cleaned(turn: Turn, clean: Callable[[str], str]) -> Turn:
    return replace(
        turn,
        content=clean(turn.content),
        reasoning=clean(turn.reasoning),
        calls=tuple(replace(call, arguments=clean(call.arguments)) for call in turn.calls),
    )
