"""Roman numerals."""

SIGNS = [
    (1000, "M"),
    (900, "CM"),
    (500, "D"),
    (400, "CD"),
    (100, "C"),
    (90, "XC"),
    (50, "L"),
    (40, "XL"),
    (10, "X"),
    (9, "IX"),
    (5, "V"),
    (4, "IV"),
    (1, "I"),
]


def to_roman(number):
    """The canonical Roman numeral of an int from 1 to 3999. Raises ValueError otherwise."""
    if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= 3999:
        raise ValueError(f"not an int from 1 to 3999: {number!r}")
    text = ""
    for value, sign in SIGNS:
        text += sign * (number // value)
        number %= value
    return text


def from_roman(text):
    """The number of a canonical Roman numeral, in either case. Raises ValueError otherwise."""
    rest, number = text.upper(), 0
    for value, sign in SIGNS:
        while rest.startswith(sign):
            number += value
            rest = rest[len(sign) :]
    if rest or to_roman(number) != text.upper():
        raise ValueError(f"not a Roman numeral: {text!r}")
    return number
