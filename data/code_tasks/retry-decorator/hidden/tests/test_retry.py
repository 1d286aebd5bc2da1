import pytest

from net.retry import retry


class Flaky:
    def __init__(self, failures, error=ConnectionError):
        self.failures, self.error, self.calls = failures, error, 0

    def __call__(self, *args, **kwargs):
        self.calls += 1
        if self.calls <= self.failures:
            raise self.error(f"attempt {self.calls}")
        return args, kwargs


def run(flaky, **options):
    slept = []

    @retry(sleep=slept.append, **options)
    def function(*args, **kwargs):
        """Does something."""
        return flaky(*args, **kwargs)

    return function, slept


def test_success_at_once():
    function, slept = run(Flaky(0))
    assert function(1, a=2) == ((1,), {"a": 2})
    assert slept == []


def test_success_after_failures():
    function, _ = run(Flaky(2))
    assert function() == ((), {})


def test_waits_double():
    function, slept = run(Flaky(3), times=4, wait=0.5)
    function()
    assert slept == [0.5, 1.0, 2.0]


def test_last_error_is_raised_without_a_wait():
    flaky = Flaky(9)
    function, slept = run(flaky, times=3, wait=1)
    with pytest.raises(ConnectionError, match="attempt 3"):
        function()
    assert (flaky.calls, len(slept)) == (3, 2)


def test_other_errors_are_not_retried():
    flaky = Flaky(9, KeyError)
    function, slept = run(flaky, errors=(ConnectionError,))
    with pytest.raises(KeyError):
        function()
    assert (flaky.calls, slept) == (1, [])


def test_name_and_docstring_stay():
    function, _ = run(Flaky(0))
    assert (function.__name__, function.__doc__) == ("function", "Does something.")
