"""Busy times as (start, end) pairs of minutes since midnight."""


def merge(intervals):
    """Joins intervals that overlap or touch; the result is sorted."""
    merged = []
    for start, end in sorted(intervals):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged
