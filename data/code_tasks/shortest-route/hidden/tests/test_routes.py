from ferries.routes import fastest

LINES = [("Oslo", "Kiel", 1200), ("Kiel", "Gdynia", 900), ("Oslo", "Gdynia", 2400), ("Riga", "Visby", 400)]


def test_direct():
    assert fastest([("a", "b", 5)], "a", "b") == (5, ["a", "b"])


def test_more_stops_but_faster():
    assert fastest(LINES, "Oslo", "Gdynia") == (2100, ["Oslo", "Kiel", "Gdynia"])


def test_lines_go_both_ways():
    assert fastest(LINES, "Gdynia", "Oslo") == (2100, ["Gdynia", "Kiel", "Oslo"])


def test_no_way():
    assert fastest(LINES, "Oslo", "Riga") is None
    assert fastest(LINES, "Oslo", "Atlantis") is None


def test_staying():
    assert fastest(LINES, "Oslo", "Oslo") == (0, ["Oslo"])
    assert fastest([], "x", "x") == (0, ["x"])


def test_equally_fast_with_fewer_stops():
    lines = [("a", "b", 1), ("b", "c", 1), ("c", "z", 1), ("a", "z", 3)]
    assert fastest(lines, "a", "z") == (3, ["a", "z"])


def test_equally_fast_alphabetically():
    lines = [("a", "n", 1), ("n", "z", 1), ("a", "m", 1), ("m", "z", 1)]
    assert fastest(lines, "a", "z") == (2, ["a", "m", "z"])


def test_the_cheapest_of_two_lines_between_the_same_places():
    assert fastest([("a", "b", 9), ("b", "a", 2)], "a", "b") == (2, ["a", "b"])
