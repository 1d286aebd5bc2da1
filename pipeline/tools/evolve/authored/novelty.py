"""Whether a place or a world has been there before: shared words, shared tables, equal shapes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pipeline.records import World
from pipeline.tools.evolve.authored.tables import tables_of

_WORD = re.compile(r"[^\W_]+")
_COMMON = frozenset(
    """a an and the of for in on to with by or at from as is are be it its their that which who where what when how they people
    service services management system platform small local online customers customer users user staff business id name""".split()
)


def stems(text: str) -> frozenset[str]:
    """The telling words of a text, without case and plural."""
    found = (word.lower() for word in _WORD.findall(text))
    return frozenset(re.sub(r"(?<=\w{3})(?:ies|es|s)$", "", word) for word in found if word not in _COMMON)


def overlap(left: frozenset[str], right: frozenset[str]) -> float:
    """Jaccard similarity; 0 where one has no word."""
    return len(left & right) / len(left | right) if left and right else 0.0


@dataclass(frozen=True)
class Known:
    """A world that exists: what the author of the next one is shown, and what the next one is compared with."""

    name: str
    summary: str
    parts: frozenset[str]
    """`table.column` of all tables."""

    @classmethod
    def of(cls, world: World) -> Known:
        parts = {
            f"{table}.{one.name}" for table, columns in tables_of(world).columns.items() for one in columns
        }
        return cls(world.name, world.summary, frozenset(parts))

    def line(self) -> str:
        tables = sorted({part.partition(".")[0] for part in self.parts})
        return f"{self.name}: {self.summary} Keeps {', '.join(tables)}."


SAME = 0.7
"""Share of common `table.column` names from which two worlds are one."""


def same_as(parts: frozenset[str], known: Iterable[Known]) -> str:
    """The name of a known world with nearly the same tables; empty when there is none."""
    return next((one.name for one in known if overlap(parts, one.parts) >= SAME), "")


def nearest(text: str, known: Sequence[Known], most: int = 4) -> list[Known]:
    """The known worlds that share most words with a text, the first made where none does."""
    wanted = stems(text)
    scored = sorted(
        ((overlap(wanted, stems(one.line())), -place, one) for place, one in enumerate(known)),
        reverse=True,
        key=lambda item: item[:2],
    )
    return [one for _, _, one in scored[:most]]
