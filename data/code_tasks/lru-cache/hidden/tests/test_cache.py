import pytest

from cache import Cache


class Clock:
    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


def test_values_are_kept(clock):
    cache = Cache(2, clock)
    cache.put("a", 1, 10)
    assert cache.get("a") == 1
    assert cache.get("b") is None
    assert cache.get("b", 7) == 7


def test_values_expire(clock):
    cache = Cache(2, clock)
    cache.put("a", 1, 10)
    clock.now = 9.5
    assert cache.get("a") == 1
    clock.now = 10
    assert cache.get("a", "gone") == "gone"


def test_oldest_use_goes_first(clock):
    cache = Cache(2, clock)
    for key in "abc":
        cache.put(key, key.upper(), 10)
    assert [cache.get(key) for key in "abc"] == [None, "B", "C"]


def test_getting_counts_as_use(clock):
    cache = Cache(2, clock)
    cache.put("a", 1, 10)
    cache.put("b", 2, 10)
    cache.get("a")
    cache.put("c", 3, 10)
    assert [cache.get(key) for key in "abc"] == [1, None, 3]


def test_expired_values_go_before_used_ones(clock):
    cache = Cache(2, clock)
    cache.put("long", 1, 100)
    cache.put("short", 2, 5)
    clock.now = 6
    cache.put("new", 3, 100)
    assert cache.get("long") == 1
    assert cache.get("new") == 3


def test_length_counts_good_values(clock):
    cache = Cache(3, clock)
    cache.put("a", 1, 5)
    cache.put("b", 2, 50)
    assert len(cache) == 2
    clock.now = 5
    assert len(cache) == 1


def test_putting_again_replaces(clock):
    cache = Cache(2, clock)
    cache.put("a", 1, 5)
    cache.put("b", 2, 5)
    cache.put("a", 3, 50)
    clock.now = 6
    assert cache.get("a") == 3
    assert len(cache) == 1


def test_size_below_one(clock):
    with pytest.raises(ValueError):
        Cache(0, clock)
