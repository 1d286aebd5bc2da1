from jsondiff import MISSING, diff


def test_equal_values():
    assert diff({"a": [1, {"b": None}]}, {"a": [1.0, {"b": None}]}) == []


def test_whole_value():
    assert diff(1, 2) == [("", 1, 2)]
    assert diff([], {}) == [("", [], {})]


def test_nested_path():
    old = {"user": {"tags": [1, 2, {"name": "x"}]}}
    new = {"user": {"tags": [1, 2, {"name": "y"}]}}
    assert diff(old, new) == [("user.tags[2].name", "x", "y")]


def test_missing_on_one_side():
    assert diff({"a": 1}, {"b": 2}) == [("a", 1, MISSING), ("b", MISSING, 2)]


def test_lists_of_different_length():
    assert diff([1, 2, 3], [1]) == [("[1]", 2, MISSING), ("[2]", 3, MISSING)]


def test_none_is_not_missing():
    assert diff({"a": None}, {}) == [("a", None, MISSING)]


def test_true_is_not_one():
    assert diff({"a": True, "b": 0}, {"a": 1, "b": False}) == [("a", True, 1), ("b", 0, False)]


def test_odd_keys():
    assert diff({"a b": {"c": 1}}, {"a b": {"c": 2}}) == [('["a b"].c', 1, 2)]
    assert diff({"x": {'say "hi"': 1, "2nd": 1}}, {"x": {}}) == [
        ('x["2nd"]', 1, MISSING),
        ('x["say \\"hi\\""]', 1, MISSING),
    ]
