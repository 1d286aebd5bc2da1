from datetime import timedelta


def add_days(day, count, holidays=()):
    """`day` plus `count` business days."""
    step = timedelta(days=-1 if count < 0 else 1)
    if count == 0:
        while not _is_business(day, holidays):
            day += step
        return day
    for _ in range(abs(count)):
        day += step
        while not _is_business(day, holidays):
            day += step
    return day


def between(first, last, holidays=()):
    """How many business days lie from `first` to `last`, both included."""
    if last < first:
        return -between(last, first, holidays)
    days = (first + timedelta(days=number) for number in range((last - first).days + 1))
    return sum(_is_business(day, holidays) for day in days)


def _is_business(day, holidays):
    return day.weekday() < 5 and day not in holidays
