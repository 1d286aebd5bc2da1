import pytest

from gateway.limiter import Limiter
from gateway.server import Server


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


def test_limit_within_a_window(clock):
    limiter = Limiter(2, 10, clock)
    assert [limiter.allow("a") for _ in range(3)] == [True, True, False]


def test_clients_are_apart(clock):
    limiter = Limiter(1, 10, clock)
    assert limiter.allow("a")
    assert limiter.allow("b")


def test_no_double_burst_at_a_border(clock):
    limiter = Limiter(2, 10, clock)
    clock.now = 9
    assert limiter.allow("a") and limiter.allow("a")
    clock.now = 11
    assert not limiter.allow("a")
    clock.now = 18.9
    assert not limiter.allow("a")
    clock.now = 19
    assert limiter.allow("a")


def test_refused_requests_do_not_count(clock):
    limiter = Limiter(1, 10, clock)
    assert limiter.allow("a")
    for second in range(1, 10):
        clock.now = second
        assert not limiter.allow("a")
    clock.now = 10
    assert limiter.allow("a")


def test_wait(clock):
    limiter = Limiter(2, 10, clock)
    assert limiter.wait("a") == 0
    limiter.allow("a")
    clock.now = 4
    limiter.allow("a")
    clock.now = 5
    assert limiter.wait("a") == 5
    clock.now = 10
    assert limiter.wait("a") == 0


def test_silent_clients_are_forgotten(clock):
    limiter = Limiter(2, 10, clock)
    for number in range(100):
        limiter.allow(f"client {number}")
    assert limiter.clients == 100
    clock.now = 6
    limiter.allow("client 7")
    clock.now = 10
    limiter.allow("new")
    assert limiter.clients == 2
    clock.now = 30
    assert limiter.clients == 0


def test_asking_remembers_nobody(clock):
    limiter = Limiter(2, 10, clock)
    limiter.wait("a")
    assert limiter.clients == 0


def test_server(clock):
    server = Server(clock, limit=1)
    assert server.handle("a", "/") == (200, {})
    assert server.handle("a", "/") == (429, {})
    assert server.handle("a", "/health") == (200, {})
    assert server.handle("b", "/nothing") == (404, {})
