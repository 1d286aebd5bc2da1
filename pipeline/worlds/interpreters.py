"""The Pythons of this machine, for packages that ask for another one than ours."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

_NEWEST, _OLDEST = 15, 9


@cache
def find_interpreter(asked: str) -> str | None:
    """The path of an interpreter by version (`3.12`), command (`python3.12`) or path, if it really starts."""
    if Path(asked).is_file():
        return asked if _starts(asked) else None
    version = asked.removeprefix("python")
    candidates = [found for found in (shutil.which(f"python{version}"),) if found]
    # pyenv's shims are on PATH for versions that are installed but not switched on.
    candidates += [
        str(path) for path in sorted(Path.home().glob(f".pyenv/versions/{version}*/bin/python{version}"))
    ]
    return next((path for path in candidates if _starts(path)), None)


def other_interpreters() -> list[str]:
    """All minor versions but ours, newest first."""
    minors = [minor for minor in range(_NEWEST, _OLDEST, -1) if minor != sys.version_info.minor]
    return [found for minor in minors if (found := find_interpreter(f"3.{minor}"))]


def _starts(path: str) -> bool:
    try:
        done = subprocess.run(
            [path, "-I", "-c", "import venv; print(1)"], capture_output=True, timeout=20, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0 and bool(re.match(rb"1\b", done.stdout))
