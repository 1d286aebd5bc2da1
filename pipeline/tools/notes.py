"""What a conversion noticed: one phrase per kind, with the first place and a count."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Notes:
    """Phrases in order of appearance; the same phrase at many places is counted, not repeated."""

    subject: str = ""
    """`input` or `output`, put before each phrase."""
    _places: dict[str, list[str]] = field(default_factory=dict)

    def add(self, phrase: str, place: str = "") -> None:
        self._places.setdefault(phrase, []).append(place)

    def merge(self, other: Notes) -> None:
        for phrase, places in other._places.items():
            self._places.setdefault(phrase, []).extend(places)

    def flags(self) -> tuple[str, ...]:
        return tuple(self._flag(phrase, places) for phrase, places in self._places.items())

    def _flag(self, phrase: str, places: list[str]) -> str:
        where = f" at {places[0]}" if places[0] else ""
        more = f" and {len(places) - 1} more" if len(places) > 1 else ""
        return f"{self.subject + ': ' if self.subject else ''}{phrase}{where}{more}"
