"""Signs that a tool's texts try to instruct a model, or that its hints do not fit its words.

Only flagged: a description stays as it is, and is data wherever a prompt is built. The patterns are about what
tool-poisoning texts have in common: orders about other tools, secrecy towards the user, and hidden characters.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from pipeline.records import ToolAnnotations
from pipeline.tools.keywords import subschemas

_ORDERS = re.compile(
    r"""
      ignore\s+(?:all\s+|any\s+)?(?:the\s+)?(?:previous|prior|above|earlier|other)\s+(?:instructions|messages|rules|tools)
    | (?:before|after|instead\s+of|prior\s+to)\s+(?:using|calling|invoking)\s+(?:any|every|all|other|another)\b
    | (?:never|do\s+not|don't|must\s+not)\s+(?:mention|tell|reveal|inform|disclose|show|notify|let\s+the\s+user)\b
    | without\s+(?:telling|informing|notifying|asking)\s+the\s+user
    | (?:you\s+(?:must|should)\s+)?always\s+(?:call|use|invoke|run|send|forward|include|pass)\b
    | (?:full|entire|whole|complete)\s+(?:conversation|chat|context|history)
    | system\s+prompt
    | <\s*(?:important|system|secret|instructions?)\s*>
    | (?:id_rsa|\.ssh/|/etc/passwd|api[_\s-]?keys?\s+(?:from|in|of)\s+(?:the\s+)?(?:environment|user))
    | this\s+(?:tool|server)\s+(?:must|has\s+to|should)\s+be\s+(?:called|used|run)\s+(?:first|before|instead)
    | you\s+must\s+(?:first\s+)?(?:call|use|invoke)\b
    """,
    re.I | re.X,
)
_HIDDEN = re.compile("[\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff\U000e0000-\U000e007f]")
_JOINERS = re.compile("(?<=[^\x00-\x7f])[\u200c\u200d](?=[^\x00-\x7f])")
_DESTRUCTIVE = re.compile(
    r"\b(?:permanently|irreversibl[ey])\b|\b(?:delete|remove|drop|destroy|erase|purge|wipe|truncate|revoke|terminate)s?\b",
    re.I,
)


def suspicions(
    name: str, description: str, input_schema: dict[str, Any], annotations: ToolAnnotations
) -> Iterator[str]:
    """One phrase for each sign found."""
    texts = [description]
    for _, item in subschemas(input_schema):
        texts += [item[key] for key in ("description", "title") if isinstance(item.get(key), str)]
    found = next((match for text in texts if (match := _ORDERS.search(text))), None)
    if found:
        yield f"instruction-like text: {' '.join(found[0].split())[:60]!r}"
    if any(_HIDDEN.search(_JOINERS.sub("", text)) for text in texts):
        yield "hidden characters in a text"
    if annotations.read_only and (word := _destructive_word(name, description)):
        yield f"marked read-only, but sounds destructive: {word!r}"


def _destructive_word(name: str, description: str) -> str:
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).replace("_", " ").replace("-", " ")
    first = re.split(r"(?<=[.!?\n])\s", description.strip(), maxsplit=1)[0]
    opening = " ".join(first.split()[:4])
    match = _DESTRUCTIVE.search(spaced) or _DESTRUCTIVE.search(opening)
    return match[0] if match else ""
