"""Equality by value does not take codes for amounts."""

from __future__ import annotations

import pytest

from pipeline.tasks.values import equal_values


@pytest.mark.parametrize(
    ("left", "right", "equal"),
    [
        (25, 25.0, True),
        ("25", 25.0, True),
        ("25.00", "25", True),
        ("1,250.00", 1250, True),
        ("123", "0123", False),
        ("0123", "123", False),
        ("1E2", "100", False),
        ("1_000", "1000", False),
        ("Nan", "nan", True),
        ("12345678901234567", "12345678901234568", False),
        (" Mara  Lind", "mara lind", True),
    ],
)
def test_equal_values(left: object, right: object, equal: bool) -> None:
    assert equal_values(left, right) is equal
    assert equal_values(right, left) is equal
