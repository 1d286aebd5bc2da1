"""Busy times as (start, end) pairs of minutes since midnight."""


def merge(intervals):
    """Joins intervals that overlap or touch; the result is sorted."""
    merged = []
    while intervals:
        start, end = intervals.pop(0)
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], end)
        else:
            merged.append((start, end))
    return merged
