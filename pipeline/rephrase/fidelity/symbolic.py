"""Formulas that the numeric probe cannot read, compared by math-verify (extra `rephrase`).

It runs in a process of its own with a time limit: its parser can hang, and works in no thread. Symbols keep their case.
"""

from __future__ import annotations

import atexit
import json
import logging
import select
import subprocess
import sys
from functools import cache, lru_cache
from importlib.util import find_spec

_FIRST, _LIMIT = 20.0, 2.0
"""Seconds that the first question may take, which loads the library, and any later one."""

log = logging.getLogger(__name__)


def available() -> bool:
    return find_spec("math_verify") is not None


@lru_cache(maxsize=4096)
def equal(a: str, b: str) -> bool | None:
    """Whether two LaTeX expressions are equal; None when the library is missing, cannot read one, or takes too long."""
    return _oracle().ask(a, b) if available() else None


@cache
def _oracle() -> _Oracle:
    return _Oracle()


class _Oracle:
    """One worker process, started when first asked and again after it was ended for being late."""

    def __init__(self) -> None:
        self._worker: subprocess.Popen[str] | None = None
        atexit.register(self.close)

    def ask(self, a: str, b: str) -> bool | None:
        limit = _LIMIT
        if self._worker is None or self._worker.poll() is not None:
            self.close()
            self._worker = _start()
            limit = _FIRST
        worker = self._worker
        assert worker.stdin is not None
        assert worker.stdout is not None
        try:
            worker.stdin.write(json.dumps([a, b]) + "\n")
            worker.stdin.flush()
            if select.select([worker.stdout], [], [], limit)[0] and (line := worker.stdout.readline()):
                answer: bool | None = json.loads(line)
                return answer
        except BrokenPipeError:
            pass  # the worker has ended: told below, and started again for the next question
        log.warning("formulas given up after %.0f s at most: %.80s and %.80s", limit, a, b)
        self.close()
        return None

    def close(self) -> None:
        if self._worker is not None:
            self._worker.kill()
            self._worker.communicate()
            self._worker = None


def _start() -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "pipeline.rephrase.fidelity.symbolic"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,  # Ctrl-C is for us; the worker ends when its input does
    )


def _answer() -> None:
    """Answers pairs of expressions, a JSON line each, until the input ends."""
    from latex2sympy2_extended import latex2sympy
    from latex2sympy2_extended.latex2sympy2 import ConversionConfig
    from math_verify.grader import verify

    config = ConversionConfig(lowercase_symbols=False)
    out, sys.stdout = sys.stdout, sys.stderr
    for line in sys.stdin:
        a, b = json.loads(line)
        answer: bool | None
        try:
            read = latex2sympy(a, conversion_config=config), latex2sympy(b, conversion_config=config)
            answer = bool(verify(*read, timeout_seconds=None, raise_on_error=True))
        except Exception:  # noqa: BLE001 - whatever the library throws at a formula means that it cannot tell
            answer = None
        print(json.dumps(answer), file=out, flush=True)


if __name__ == "__main__":
    _answer()
