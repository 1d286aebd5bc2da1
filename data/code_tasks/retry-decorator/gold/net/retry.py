import functools
import time


def retry(times=3, wait=0.5, errors=(Exception,), sleep=time.sleep):
    """Calls a function again, up to `times` attempts in all, when it raises one of `errors`."""

    def decorate(function):
        @functools.wraps(function)
        def call(*args, **kwargs):
            for attempt in range(times):
                try:
                    return function(*args, **kwargs)
                except errors:
                    if attempt == times - 1:
                        raise
                    sleep(wait * 2**attempt)

        return call

    return decorate
