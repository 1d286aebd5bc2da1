"""Roman numerals."""


def to_roman(number):
    """The canonical Roman numeral of an int from 1 to 3999. Raises ValueError otherwise."""
    raise NotImplementedError


def from_roman(text):
    """The number of a canonical Roman numeral, in either case. Raises ValueError otherwise."""
    raise NotImplementedError
