"""Smoothing of sensor readings."""

from bisect import bisect_left, insort
from collections import deque


def rolling_median(values, width):
    """The median of the last `width` readings, for each place."""
    if width < 1:
        raise ValueError("the window holds at least one reading")
    return _medians(values, width)


def _medians(values, width):
    window, ordered = deque(), []
    for value in values:
        if len(window) == width:
            # One move of memory; the search is what costs, and it is logarithmic.
            del ordered[bisect_left(ordered, window.popleft())]
        window.append(value)
        insort(ordered, value)
        middle = len(ordered) // 2
        if len(ordered) % 2:
            yield ordered[middle]
        else:
            yield (ordered[middle - 1] + ordered[middle]) / 2
