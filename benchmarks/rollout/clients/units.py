"""Plays what is left of a run, unit after unit, in this process: `python units.py RUN`. Made to be killed."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from pipeline.stages.context import Context
from pipeline.stages.units import STAGES, stages_of, work

RUN = Path(sys.argv[1])


def main() -> None:
    context = Context.open(RUN)
    with context.folder.lock():
        for stage in stages_of("trajectories", context.config):
            for number in range(STAGES[stage].units(context)):
                asyncio.run(work(RUN, stage, number))


main()
