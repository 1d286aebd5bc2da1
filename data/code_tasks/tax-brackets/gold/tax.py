from decimal import ROUND_HALF_UP, Decimal


def tax(income, brackets):
    """The tax on `income` by `brackets`, pairs of lower bound and rate."""
    if income < 0:
        raise ValueError("an income is not negative")
    total, upper = Decimal(0), income
    for start, rate in sorted(brackets, reverse=True):
        if upper > start:
            total += (upper - start) * rate
            upper = start
    return total.quantize(Decimal("0.01"), ROUND_HALF_UP)
