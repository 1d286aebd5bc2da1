"""A number, date, time or ordinal as it stands in a text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pipeline.rephrase.fidelity.units import Unit

Kind = Literal["number", "date", "time", "ordinal"]


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number or date as it stands in a text.

    `value` is in the unit's own size; `weak` marks words such as `one`, `twice` or `half` that may be said otherwise.
    For dates `value` is the day of the month and `date` (year, month, day) with 0 for what is not said.
    """

    kind: Kind
    value: float
    start: int
    end: int
    sentence: int
    unit: Unit | None = None
    per: Unit | None = None
    about: bool = False
    weak: bool = False
    date: tuple[int, int, int] = (0, 0, 0)
    year_like: bool = False
    """A bare figure of four digits, as years are written."""
    scale: float = 1.0
    """What words such as `million` multiply the number by."""
    elliptic: bool = False
    """The unit and the scale are those of the number that follows: `from 2 to 3.8 billion euros`."""
    every: Unit | None = None
    """The time of `three times an hour`."""
    parts: tuple[float, ...] = ()
    """The two numbers of `60 of 100`."""
    implied: bool = False
    """An article before a unit (`an hour`), or a word that may be a month: stands for others, is never missed itself."""
