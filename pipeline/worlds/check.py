"""`python -m pipeline.worlds.check FILE…`: admits world files or says what is wrong."""

from __future__ import annotations

import sys
from pathlib import Path

from pipeline.records import WorldError
from pipeline.worlds.admission import admit
from pipeline.worlds.load import load_world


def check_files(paths: list[Path]) -> int:
    """Prints one verdict per file; the number of worlds that are not admitted."""
    rejected = 0
    for path in paths:
        try:
            world = load_world(path)
        except WorldError as error:
            print(f"rejected  {path}\n  {error}")
            rejected += 1
            continue
        report = admit(world)
        verdict = "admitted" if report.admitted else "rejected"
        print(f"{verdict}  {path}  {len(world.tools)} tools, {report.calls} witness calls, {world.id}")
        for problem in report.problems:
            print(f"  {problem}")
        rejected += not report.admitted
    return rejected


if __name__ == "__main__":
    sys.exit(1 if check_files([Path(one) for one in sys.argv[1:]]) else 0)
