from datetime import timedelta


def add_days(day, count, holidays=()):
    """`day` plus `count` business days."""
    while count != 0:
        day += timedelta(days=1)
        if day.weekday() < 6 and day not in holidays:
            count -= 1
    return day
