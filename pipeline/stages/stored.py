"""Trajectories of a run that stands, with all that judging needs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from pipeline.config import Config, parse_config
from pipeline.records import InputError, RunError, Snapshot, Task, Trajectory, World
from pipeline.stages.context import Context
from pipeline.stages.worlds import read_worlds
from pipeline.store import Row, RunFolder, snapshot_of, trajectory_of
from pipeline.store.shards import read_rows
from pipeline.worlds.mixed import parts_of, task_world, world_ids
from pipeline.worlds.sql import SqlWorld


@dataclass(frozen=True, slots=True)
class Stored:
    """A trajectory of a run. `states`: reference to snapshot, as far as they were recorded."""

    task: Task
    trajectory: Trajectory
    world: World | None
    final: Snapshot | None
    states: Mapping[str, Snapshot]
    row: Row


def open_run(data: Path, name: str, changes: Path | None = None) -> Context:
    """A run with its configuration; the file of `--with` may replace any of its sections.

    Raises RunError for a run that is not there, ConfigError for a file that does not fit.
    """
    context = Context.open(RunFolder.open(data, name).path)
    if changes is None:
        return context
    try:
        given = yaml.safe_load(changes.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise InputError(f"{changes} cannot be read as YAML: {error}.") from error
    base = yaml.safe_load(context.folder.config_yaml)
    if isinstance(given, dict) and not set(given) <= set(Config.model_fields):
        given = {"judging": given}
    if not isinstance(given, dict):
        raise InputError(f"{changes} holds no mapping.", way_out="Give keys of the section `judging`.")
    return Context(context.folder, parse_config({**base, **given}, where=str(changes)))


def stored(context: Context, world_tasks_only: bool = True) -> Iterator[Stored]:
    """The trajectories of a run, unit by unit. Those of containers are graded by their tests and left out, unless
    `world_tasks_only` is False; then worlds and states are not read."""
    records = {row["id"]: row["record"] for row in context.folder.rows("tasks", columns=("id", "record"))}
    worlds: dict[str, World] = {}
    for stage, number in context.folder.units():
        unit = context.folder.unit(stage, number)
        if not (unit / "trajectories.parquet").exists():
            continue
        tasks: dict[str, Task] = {}
        events: dict[str, list[Row]] = defaultdict(list)
        for event in read_rows(unit / "events.parquet", None):
            events[event["trajectory"]].append(event)
        rows = [
            row
            for row in read_rows(unit / "trajectories.parquet", None)
            if row["host"] == "sql" or not world_tasks_only
        ]
        for row in rows:
            if row["task"] not in records:
                raise RunError(f"The task {row['task']} of trajectory {row['id']} is not in the run.")
            if row["task"] not in tasks:
                tasks[row["task"]] = Task.model_validate_json(records[row["task"]])
        states: dict[str, Snapshot] = {}
        if world_tasks_only:
            wanted = world_ids(tasks[row["task"]] for row in rows) - set(worlds)
            worlds |= read_worlds(context, wanted) if wanted else {}
            if (unit / "snapshots.parquet").exists():
                states = {row["ref"]: snapshot_of(row) for row in read_rows(unit / "snapshots.parquet", None)}
        for row in rows:
            task = tasks[row["task"]]
            trajectory = trajectory_of(row, events[row["id"]])
            world = task_world(task, worlds) if world_tasks_only else None
            final = _final(task, trajectory, world, states) if world else None
            yield Stored(task, trajectory, world, final, states, row)


def _final(
    task: Task, trajectory: Trajectory, world: World, states: Mapping[str, Snapshot]
) -> Snapshot | None:
    """The state after the last call, or the one it began in where there was none."""
    last = next((e.after for e in reversed(trajectory.events) if e.after), "")
    return states.get(last) if last else _beginning(world, task.initial)


def _beginning(world: World, initial: Sequence[str]) -> Snapshot:
    """The state of an episode without calls."""
    live = SqlWorld(parts_of(world)[0])
    try:
        live.apply(initial)
        return live.snapshot().replace(clock=world.clock)
    finally:
        live.close()


def latest_judgements(folder: RunFolder) -> dict[str, Row]:
    """The row of each trajectory in the latest judging again."""
    found: dict[str, Row] = {}
    for row in folder.rows("judgements"):
        if row["round"] >= found.get(row["trajectory"], {"round": 0})["round"]:
            found[row["trajectory"]] = row
    return found
