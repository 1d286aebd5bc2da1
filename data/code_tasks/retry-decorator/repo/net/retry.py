import time


def retry(times=3, wait=0.5, errors=(Exception,), sleep=time.sleep):
    """Calls a function again, up to `times` attempts in all, when it raises one of `errors`."""

    def decorate(function):
        def call(*args, **kwargs):
            for _ in range(times):
                try:
                    return function(*args, **kwargs)
                except Exception:
                    sleep(wait)

        return call

    return decorate
