import pytest

from grid import spiral


def test_even_square():
    assert spiral([[1, 2], [4, 3]]) == [1, 2, 3, 4]


def test_odd_square():
    assert spiral([[1, 2, 3], [8, 9, 4], [7, 6, 5]]) == [1, 2, 3, 4, 5, 6, 7, 8, 9]


def test_one_row():
    assert spiral([[1, 2, 3]]) == [1, 2, 3]


def test_one_column():
    assert spiral([[1], [2], [3]]) == [1, 2, 3]


def test_a_row_in_the_middle():
    assert spiral([[1, 2, 3, 4], [10, 11, 12, 5], [9, 8, 7, 6]]) == list(range(1, 13))


def test_empty():
    assert spiral([]) == []
    assert spiral([[], []]) == []


def test_ragged():
    with pytest.raises(ValueError):
        spiral([[1, 2], [3]])


def test_the_grid_stays():
    rows = [[1, 2], [3, 4]]
    spiral(rows)
    assert rows == [[1, 2], [3, 4]]
