"""Secrets and personal contacts are taken out, the invented ones of a world are left.

Keys and tokens are found by the detectors of `detect-secrets`, phone numbers are judged by `phonenumbers`. A world is
full of e-mail addresses and phone numbers that its author made up; those that its own tools or its task brought in
are no one's and stay, and so do the ranges that are reserved for examples. Arguments and results are JSON text: they
are searched as their strings read, since an escape is no part of what follows it, and stay JSON.
"""

from __future__ import annotations

import json
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
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
"""A string of JSON text."""
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
    read = _as_read(text)
    return {_normal(each) for each in (*_EMAIL.findall(read), *_phones(read))}


def _as_read(text: str) -> str:
    """The strings of JSON text that has escapes, one a line; any other text as it stands."""
    if "\\" not in text or not _is_json(text):
        return text
    return "\n".join(json.loads(string) for string in _STRING.findall(text))


def _is_json(text: str) -> bool:
    """Whether a text is a JSON object or list."""
    if not text.startswith(("{", "[")):
        return False
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


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


def _finds(text: str, own: Callable[[str], bool]) -> Iterator[tuple[str, str]]:
    """What to take out of a text: (kind, value)."""
    read = _as_read(text)
    yield from _secrets(read)
    if read is not text:  # some keys are known by the name that stands before them
        yield from _secrets(text)
    yield from _foreign_contacts(read, own)


def scrub_text(text: str, own: Callable[[str], bool], counts: Counter[str]) -> str:
    """The text with each find replaced by `[KIND removed]`; `counts` grows by what was replaced."""
    finds = list(_finds(text, own))
    if not finds:
        return text

    def clean(part: str) -> str:
        for kind, value in finds:
            if value in part:  # an earlier, longer find may have taken it along
                counts[kind] += part.count(value)
                part = part.replace(value, f"[{kind.lower()} removed]")
        return part

    def clean_string(found: re.Match[str]) -> str:
        value = json.loads(found.group())
        cleaned = clean(value)
        return found.group() if cleaned == value else json.dumps(cleaned, ensure_ascii=False)

    return _STRING.sub(clean_string, text) if _is_json(text) else clean(text)


def scrub(row: Conversation, own: Callable[[str], bool]) -> tuple[Conversation, Counter[str]]:
    """The conversation without secrets and foreign contacts, and what was replaced.

    `own(contact)` says whether a contact, as `contacts` gives it, is the world's own.
    """
    counts: Counter[str] = Counter()
    # Most rows hold nothing of the kind, and one look at all texts together says so.
    texts = [text for turn in row.turns for text in _texts(turn) if text]
    together = "\n".join([*texts, *(read for text in texts if (read := _as_read(text)) is not text)])
    if next(_secrets(together), None) is None and next(_foreign_contacts(together, own), None) is None:
        return row, counts
    return row.with_turns(
        [_cleaned(turn, lambda text: scrub_text(text, own, counts)) for turn in row.turns]
    ), counts


def _texts(turn: Turn) -> tuple[str, ...]:
    return turn.content, turn.reasoning, *(call.arguments for call in turn.calls)


def _cleaned(turn: Turn, clean: Callable[[str], str]) -> Turn:
    return replace(
        turn,
        content=clean(turn.content),
        reasoning=clean(turn.reasoning),
        calls=tuple(replace(call, arguments=clean(call.arguments)) for call in turn.calls),
    )
