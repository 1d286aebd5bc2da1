"""`make bench`: all benchmarks one after the other, or those named: `python -m benchmarks worlds language`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
ALL = sorted(
    path.stem if path.parent == HERE else path.parent.name
    for path in [*HERE.glob("*.py"), *HERE.glob("*/__main__.py")]
    if path.parent != HERE or not path.stem.startswith("_")
)


def main() -> int:
    """Runs each in its own process; the number that failed is the exit code."""
    failed = 0
    for name in sys.argv[1:] or ALL:
        print(f"\n== {name}", flush=True)
        failed += subprocess.run([sys.executable, "-m", f"benchmarks.{name}"], check=False).returncode != 0
    return failed


if __name__ == "__main__":
    sys.exit(main())
