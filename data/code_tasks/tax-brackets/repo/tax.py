from decimal import Decimal


def tax(income, brackets):
    """The tax on `income` by `brackets`, pairs of lower bound and rate."""
    rate = Decimal(0)
    for start, bracket_rate in brackets:
        if income >= start:
            rate = bracket_rate
    return round(income * rate, 2)
