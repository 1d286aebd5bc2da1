"""What no authored text may be: written in a wrong language, about real persons, brands or keys, or an instruction."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any

import py3langid

from pipeline.assets import asset
from pipeline.records import Json, ToolAnnotations
from pipeline.tools.suspicion import suspicions
from pipeline.yaml_files import parse_yaml

_LETTERS = 40
"""Letters below which no language is told."""
_MARGIN = 20.0
"""By how much (natural logarithm of likelihood) another language must be likelier than the wanted one."""
_MAIL = re.compile(r"\b[\w.+-]+@([A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+)")
_LINK = re.compile(r"\b(?:https?://|www\.)([A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+)", re.I)
_RESERVED = re.compile(r"(?:^|\.)(?:example\.(?:com|org|net|edu)|(?:example|test|invalid|localhost))$", re.I)
_KEYS = re.compile(
    r"\b(?:sk|pk|rk)[-_](?:live|test|proj)?[-_]?[A-Za-z0-9]{16,}|\bAKIA[0-9A-Z]{16}\b|\bgh[pousr]_[A-Za-z0-9]{30,}"
    r"|\bAIza[\w-]{35}|\bxox[abprs]-[\w-]{10,}|\bhf_[A-Za-z0-9]{30,}|-----BEGIN [A-Z ]*PRIVATE KEY|\beyJ[\w-]{10,}\.[\w-]{10,}\."
    r"|\b(?:password|passwd|secret)\s*[:=]\s*\S{6,}"
)
_CARD = re.compile(r"\b(?:\d[ -]?){13,19}\b")


@lru_cache(maxsize=1)
def _real_names() -> re.Pattern[str]:
    """Names of `tools_repo/real_names.yaml` as one pattern, at word boundaries."""
    lists = parse_yaml(asset("tools_repo/real_names.yaml").read_text(encoding="utf-8"))
    names = sorted({name for names in lists.values() for name in names}, key=len, reverse=True)
    return re.compile(r"(?<!\w)(?:" + "|".join(re.escape(name) for name in names) + r")(?!\w)")


def unsafe(texts: Iterable[str]) -> Iterator[str]:
    """One phrase for each real name, foreign address, key or card number in what an author wrote."""
    for text in texts:
        for match in _real_names().finditer(text):
            yield f"it names {match[0]}, which is real"
        for pattern, what in ((_MAIL, "an e-mail address"), (_LINK, "a web address")):
            for match in pattern.finditer(text):
                if not _RESERVED.search(match[1]):
                    yield f"{what} at {match[1]} may be real; use example.org"
        if _KEYS.search(text):
            yield "it holds something that looks like a key or a password"
        for match in _CARD.finditer(text):
            if _luhn(re.sub(r"\D", "", match[0])):
                yield "it holds a number that is valid for a payment card"


def _luhn(digits: str) -> bool:
    if len(set(digits)) == 1:
        return False
    total = 0
    for place, digit in enumerate(reversed(digits)):
        value = int(digit) * (1 + place % 2)
        total += value - 9 * (value > 9)
    return total % 10 == 0


def instructing(texts: Iterable[str]) -> Iterator[str]:
    """Signs that an authored text tries to steer whoever reads it."""
    for text in texts:
        yield from suspicions("", text, {}, ToolAnnotations())


def foreign(text: str, language: str) -> str:
    """The language a text is written in when it clearly is not `language`; empty when it is, or is too short to tell."""
    if sum(map(str.isalpha, text)) < _LETTERS and text.isascii():
        return ""
    ranked = dict(py3langid.rank(text[:3000]))
    best = max(ranked, key=lambda name: ranked[name], default=language)
    if language not in ranked or best == language or ranked[best] - ranked[language] < _MARGIN:
        return ""
    return str(best)


def texts_of(value: Json) -> Iterator[str]:
    """All texts in a JSON value, keys left out."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from texts_of(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from texts_of(item)


_DIALECTS: tuple[tuple[str, str], ...] = (
    (r"\b(?:big|small)?serial\b|\bauto_?increment\b|\bidentity\s*\(", "a key that counts itself"),
    (r"\benum\s*\(|\bcreate\s+type\b", "an enum type"),
    (r"::\s*\w+|\bilike\b|\breturning\s+\*|\binterval\s+'|\bnow\s*\(\s*\)|\bgetdate\s*\(|\bcurdate\s*\(", "a function or cast"),
    (r"\bengine\s*=|\bcharset\s*=|\bunsigned\b|`\w+`|\bnvarchar\b|\bvarchar2\b|\btop\s+\d+\b|\bnumber\s*\(", "a word"),
    (r"\bmodify\s+column\b|\bif\s+exists\s+drop\b|\bgo\s*$|\bdate_(?:add|sub)\s*\(|\bdateadd\s*\(|\bto_char\s*\(|\bunnest\s*\(", "a function"),
)  # fmt: skip


def other_dialect(sql: str) -> str:
    """What in a statement belongs to another database than SQLite; empty when nothing does."""
    plain = re.sub(r"'(?:[^']|'')*'", "''", sql)
    for pattern, what in _DIALECTS:
        match = re.search(pattern, plain, re.I)
        if match:
            return f"{match[0].strip()!r} is {what} of another database; write SQLite"
    return ""


def as_texts(record: Any) -> list[str]:
    """The texts of a record."""
    return list(texts_of(record.model_dump(mode="json")))
