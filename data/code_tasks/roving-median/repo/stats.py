"""Smoothing of sensor readings."""


def rolling_median(values, width):
    """The median of the last `width` readings, for each place."""
    window = []
    for value in values:
        window.append(value)
        if len(window) > width:
            window.pop(0)
        ordered = sorted(window)
        middle = len(ordered) // 2
        if len(ordered) % 2:
            yield ordered[middle]
        else:
            yield (ordered[middle - 1] + ordered[middle]) / 2
