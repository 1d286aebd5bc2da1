"""When two names mean one thing: acronyms, adjectives and peoples of countries, endings."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

_PEOPLES: dict[str, frozenset[str]] = {}
for _line in (
    "denmark danish dane danes|france french frenchman|netherlands dutch holland|switzerland swiss|spain spanish spaniard spaniards"
    "|britain british briton britons uk england|england english|wales welsh|ireland irish|scotland scottish scot scots|greece greek greeks"
    "|sweden swedish swede swedes|finland finnish finn finns|poland polish pole poles|turkey turkish turk turks|china chinese"
    "|portugal portuguese|norway norwegian norse|america american americans us usa u.s|czechia czech czechs|thailand thai thais|peru peruvian"
    "|chile chilean|ussr soviet russia russian|germany german germans gdr frg|iceland icelandic icelander icelanders|belgium belgian"
    "|frankreich französisch französische französischen franzosen franzose|schweden schwedisch schwedische schwedischen|dänemark dänisch dänen"
    "|polen polnisch polnische|spanien spanisch spanier|england englisch englische engländer briten britisch|russland russisch russen"
    "|türkei türkisch türken|niederlande niederländisch holland holländisch|griechenland griechisch griechen|usa amerika amerikanisch us"
    "|danemark danois danoise|france français française françaises|espagne espagnol espagnole|allemagne allemand allemande allemands"
    "|angleterre anglais anglaise|grande-bretagne britannique|suisse helvétique|pays-bas néerlandais hollandais|grèce grec grecque|suède suédois"
    "|francia francés francesa|alemania alemán alemana|españa español española|inglaterra inglés inglesa|suecia sueco sueca"
).split("|"):
    for _word in _line.split():
        _PEOPLES[_word] = _PEOPLES.get(_word, frozenset()) | frozenset(_line.split())
_ACRONYMS: dict[str, frozenset[str]] = {
    "us": frozenset({"united", "states"}),
    "usa": frozenset({"united", "states", "vereinigten", "staaten"}),
    "ussr": frozenset({"soviet", "union"}),
    "udssr": frozenset({"sowjetunion"}),
    "uk": frozenset({"united", "kingdom"}),
    "ddr": frozenset({"deutsche", "demokratische", "republik"}),
    "eeuu": frozenset({"estados", "unidos"}),
}
"""Acronyms whose letters are not the initials of the name."""
_TAIL = re.compile(
    r"(?:n|an|ian|ean|ish|ese|s|es|en|er|e|i|is|ic|a|ia|y|ns|ans|ern|ers|es|ois|oise|ais|aise|ien|ienne|in|sch|isch|sche|schen)?$"
)


def alias(name: Sequence[str], absent: Sequence[str], words: set[str], initials: set[str]) -> bool:
    """Whether a text with these words, and names of these initials, knows a name of which `absent` words are missing."""
    key = " ".join(name)
    if key in initials or (
        len(name) == 1 and any(len(short) > 1 and key.startswith(short) for short in initials)
    ):
        return True
    if len(name) == 1 and (long := _ACRONYMS.get(key.replace(".", ""))) is not None and long & words:
        return True
    if len(name) > 1 and any(set(name) <= long and short in words for short, long in _ACRONYMS.items()):
        return True
    short = "".join(word[0] for word in name)
    if len(name) > 1 and (
        short in words
        or any(
            word.startswith(short) and len(word) == len(short) + 1
            for word in words
            if len(name) > 1 and len(short) > 2
        )
    ):
        return True
    return all(kin(word, words) for word in absent)


def kin(word: str, words: set[str]) -> bool:
    """`Germany` and `German`, `Rome` and `Roman`, `Brahms` and `Brahms'`: a common head and a short rest."""
    if not _PEOPLES.get(word, frozenset()).isdisjoint(words):
        return True
    if len(word) == 1:
        return any(other.startswith(word) for other in words)
    if "-" in word:
        return all(part in words or kin(part, words) for part in word.split("-") if part)
    if len(word) >= 5 and any(
        len(other) >= 5 and (other.endswith(word) or word.endswith(other)) for other in words
    ):
        return True
    head = word[: max(4, len(word) - 3)] if len(word) > 4 else word[:3]
    return any(
        other.startswith(head) and len(other) <= len(head) + 4 and _ends_alike(word, other) for other in words
    )


@lru_cache(maxsize=100_000)
def _ends_alike(word: str, other: str) -> bool:
    common = 0
    for x, y in zip(word, other, strict=False):
        if x != y:
            break
        common += 1
    return bool(_TAIL.match(word[common:])) and bool(_TAIL.match(other[common:]))
