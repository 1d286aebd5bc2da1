"""Docker: images, hardened containers, execution and grading. docs/sandbox.md has the threat model."""

from pipeline.sandbox.admission import admit
from pipeline.sandbox.box import BoxEnded, ExecResult, File, GuestError, Link, Output, Sandbox
from pipeline.sandbox.carry import Changes, carry_over, gold_changes, suspicions, task_files, test_files
from pipeline.sandbox.engine import Engine, engine_problem
from pipeline.sandbox.grading import grade
from pipeline.sandbox.images import Image, Recipe, build_image, find_image
from pipeline.sandbox.pool import Pool
from pipeline.sandbox.sources import BadTask, load_tasks, task_problem
from pipeline.sandbox.sweep import sweep

__all__ = [
    "BadTask",
    "BoxEnded",
    "Changes",
    "Engine",
    "ExecResult",
    "File",
    "GuestError",
    "Image",
    "Link",
    "Output",
    "Pool",
    "Recipe",
    "Sandbox",
    "admit",
    "build_image",
    "carry_over",
    "engine_problem",
    "find_image",
    "gold_changes",
    "grade",
    "load_tasks",
    "suspicions",
    "sweep",
    "task_files",
    "task_problem",
    "test_files",
]
