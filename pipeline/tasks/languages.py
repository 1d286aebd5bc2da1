"""Dates in the languages that users of some worlds speak."""

from __future__ import annotations

from datetime import datetime

MONTHS: dict[str, tuple[str, ...]] = {
    "de": (
        "Januar", "Februar", "März", "April", "Mai", "Juni", "Juli", "August", "September", "Oktober", "November",
        "Dezember",
    ),
    "es": (
        "enero", "febrero", "marzo", "abril", "mayo", "junio", "julio", "agosto", "septiembre", "octubre", "noviembre",
        "diciembre",
    ),
    "fr": (
        "janvier", "février", "mars", "avril", "mai", "juin", "juillet", "août", "septembre", "octobre", "novembre",
        "décembre",
    ),
}  # fmt: skip
"""Names of the months, English aside."""


def foreign_date(when: datetime, language: str, *, year: bool) -> str:
    """A date as it is written in a language: `3. März`, `3 de marzo de 2027`, `3 mars 2027`."""
    month = MONTHS[language][when.month - 1]
    if language == "de":
        return f"{when.day}. {month}" + (f" {when.year}" if year else "")
    if language == "es":
        return f"{when.day} de {month}" + (f" de {when.year}" if year else "")
    return f"{when.day} {month}" + (f" {when.year}" if year else "")


def month_names(month: int) -> tuple[str, ...]:
    """The names of a month (from 1) in these languages, in lower case."""
    return tuple(names[month - 1].lower() for names in MONTHS.values())
