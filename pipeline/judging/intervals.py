"""Shares with their uncertainty, and agreement beyond chance."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

Z95 = 1.959964


@dataclass(frozen=True, slots=True)
class Share:
    """`count` of `of`; NaN-free: the share of nothing is None."""

    count: int
    of: int

    @property
    def value(self) -> float | None:
        return self.count / self.of if self.of else None

    @property
    def ci95(self) -> tuple[float, float] | None:
        """The Wilson score interval (Wilson 1927), sound also for shares near 0 and 1."""
        if not self.of:
            return None
        n, share = self.of, self.count / self.of
        center = share + Z95**2 / (2 * n)
        spread = Z95 * sqrt(share * (1 - share) / n + Z95**2 / (4 * n * n))
        low, high = (center - spread) / (1 + Z95**2 / n), (center + spread) / (1 + Z95**2 / n)
        return max(0.0, low), min(1.0, high)

    def to_json(self) -> dict[str, object]:
        ci = self.ci95
        return {"share": self.value, "ci95": list(ci) if ci else None, "count": self.count, "n": self.of}


def kappa(pairs: Sequence[tuple[str, str]]) -> float | None:
    """Cohen's kappa (Cohen 1960) of two raters; None where nothing is left to agree on beyond chance."""
    if not pairs:
        return None
    n = len(pairs)
    agreed = sum(left == right for left, right in pairs) / n
    lefts, rights = Counter(left for left, _ in pairs), Counter(right for _, right in pairs)
    chance = sum(lefts[label] * rights[label] for label in lefts) / n**2
    return None if chance >= 1 else (agreed - chance) / (1 - chance)
