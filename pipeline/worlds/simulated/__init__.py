"""Tools without an implementation: a simulator speaks, the engine owns the state and believes only what fits it."""

from pipeline.worlds.simulated.host import Defect, Memory, SimulatedHost
from pipeline.worlds.simulated.programs import ErringSimulator, ProgramSimulator, hidden
from pipeline.worlds.simulated.recorded import RecordedSimulator
from pipeline.worlds.simulated.slices import SliceLimits, slice_of

__all__ = [
    "Defect",
    "ErringSimulator",
    "Memory",
    "ProgramSimulator",
    "RecordedSimulator",
    "SimulatedHost",
    "SliceLimits",
    "hidden",
    "slice_of",
]
