"""Known flaws, and harmless variations, planted into good trajectories by telling them again in their world."""

from pipeline.judging.planting.flaws import FLAWS
from pipeline.judging.planting.harmless import HARMLESS
from pipeline.judging.planting.story import Story, Told

__all__ = ["FLAWS", "HARMLESS", "Story", "Told"]
