"""The stage `worlds`: hand-written worlds are read and admitted; their tools enter the repository."""

from __future__ import annotations

from pathlib import Path

from pipeline.assets import asset
from pipeline.config import Config
from pipeline.records import ConfigError, World, WorldError
from pipeline.records.worlds import LIVE, SIMULATED
from pipeline.stages.context import Context, Tally
from pipeline.store import domain_row, gather, tool_row, world_row
from pipeline.worlds.admission import admit
from pipeline.worlds.load import load_world

STAGE = "worlds"


def world_files(config: Config) -> list[Path]:
    """The world files of the configuration. Raises ConfigError for a path that is not there."""
    paths = config.worlds.paths or (asset("tools_repo/worlds"),)
    found: list[Path] = []
    for path in paths:
        if not path.exists():
            raise ConfigError(f"worlds.paths names {path}, which does not exist.")
        found.extend(sorted(path.glob("*.yaml")) if path.is_dir() else [path])
    if not found:
        raise ConfigError(f"There is no world file (*.yaml) in {', '.join(map(str, paths))}.")
    return found


async def worlds_unit(context: Context, number: int) -> None:
    """Unit 0: all hand-written worlds. Broken ones become failures, the rest goes on."""
    tally = Tally(STAGE)
    parts = []
    only = set(context.config.worlds.only)
    for path in world_files(context.config):
        try:
            world = load_world(path)
        except WorldError as error:
            tally.reject("broken", error.what.replace(str(path), path.name), subject=path.name)
            continue
        if only and world.name not in only:
            continue
        report = admit(world)
        if not report.admitted:
            tally.reject("not admitted", "; ".join(map(str, report.problems[:5])), subject=world.name)
            continue
        tally.keep()
        parts.append(
            {
                "worlds": [world_row(world)],
                "domains": [domain_row(world.domain)],
                "tools": [tool_row(tool, world) for tool in world.tools],
            }
        )
    if only and tally.kept == 0:
        raise ConfigError(f"worlds.only names {', '.join(sorted(only))}, and no such world was admitted.")
    context.folder.write_shard(STAGE, number, gather([*parts, tally.tables()]))


def admitted_worlds(context: Context) -> list[str]:
    """Ids of the admitted worlds whose tools are programs, in the order of the shards."""
    rows = context.folder.rows("worlds", columns=("id", "admitted", "archetype"))
    return [row["id"] for row in rows if row["admitted"] and row["archetype"] not in (SIMULATED, LIVE)]


def read_worlds(context: Context, ids: set[str]) -> dict[str, World]:
    """World records by id. Raises KeyError when one is missing."""
    found = {}
    for row in context.folder.rows("worlds", columns=("id", "record")):
        if row["id"] in ids and row["id"] not in found:
            found[row["id"]] = World.model_validate_json(row["record"])
    missing = ids - set(found)
    if missing:
        raise KeyError(f"worlds {sorted(missing)} are not in {context.folder.path}")
    return found
