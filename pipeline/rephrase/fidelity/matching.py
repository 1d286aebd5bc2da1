"""When two content stems are forms of one word."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache


def has(stem: str, others: Iterable[str]) -> bool:
    """Whether `others` hold `stem` or a kindred one."""
    if stem in (pool := others if isinstance(others, set | frozenset) else set(others)):
        return True
    for other in pool:  # noqa: SIM110 -- the inmost loop of the rules, where a generator costs a third more
        if kindred(stem, other):
            return True
    return False


@lru_cache(maxsize=200_000)
def kindred(a: str, b: str) -> bool:
    """Equal, with a common head (`inspec` and `inspect`), or one within the other (`verbrauc` in a compound)."""
    if a == b:
        return True
    shorter, longer = (a, b) if len(a) <= len(b) else (b, a)
    if len(shorter) < 4:
        return False
    if len(shorter) >= 5 and shorter in longer:
        return True
    head = max(4, min(6, len(shorter) - 1))
    return longer[:head] == shorter[:head]
