import unicodedata

from words import top_words


def test_counts():
    assert top_words("the cat and the dog and the bird", 2) == [("the", 3), ("and", 2)]


def test_equal_counts_are_alphabetical():
    assert top_words("pear apple fig", 3) == [("apple", 1), ("fig", 1), ("pear", 1)]


def test_nothing():
    assert top_words("... 42 --", 3) == []


def test_other_letters():
    assert top_words("Привет, мир! привет", 1) == [("привет", 2)]


def test_case_folding():
    assert top_words("Straße STRASSE strasse", 1) == [("strasse", 3)]


def test_composed_form():
    assert top_words("café " + unicodedata.normalize("NFD", "café"), 2) == [("café", 2)]


def test_apostrophes_and_hyphens():
    assert top_words("don't 'quoted' well-known - don't", 3) == [("don't", 2), ("quoted", 1), ("well-known", 1)]


def test_numbers_are_no_words():
    assert top_words("4 apples and 4x4 2nd", 9) == [("and", 1), ("apples", 1)]
