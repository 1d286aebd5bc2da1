"""The author, played by a model: forms to fill in, a pen that asks for them, and stages that settle."""

from pipeline.models.players.author.asking import Asker, Said, Talk, fence, lines
from pipeline.models.players.author.settling import Checked, Problem, Step, settle

__all__ = ["Asker", "Checked", "Problem", "Said", "Step", "Talk", "fence", "lines", "settle"]
