"""The stage `mcp`: real servers are launched and listed, saved lists are read; their tools enter the repository."""

from __future__ import annotations

from pipeline.assets import asset
from pipeline.records import ToolSpec
from pipeline.stages.context import Context, Tally
from pipeline.store import gather, tool_row
from pipeline.tools.dumps import read_dump
from pipeline.tools.harvest import Harvest
from pipeline.tools.ingest import ingest
from pipeline.worlds.servers import read_servers

STAGE = "mcp"


def mcp_units(context: Context) -> int:
    """One unit, if servers or dumps are asked for."""
    return int(context.config.evolve.mcp or bool(context.config.tools.ingest.dumps))


async def mcp_unit(context: Context, number: int) -> None:
    """Lists every server and reads every dump; what fails is a row and costs nobody else anything."""
    config = context.config.tools.ingest
    parts = []
    if context.config.evolve.mcp:
        servers = read_servers(config.servers or asset("tools_repo/mcp_servers.json"))
        parts.append(await ingest(servers, config))
    if config.dumps:
        parts.append(read_dump(config.dumps))
    harvest = Harvest.joined(parts)
    tally = Tally(
        STAGE, kept=len(harvest.tools), rejected=len(harvest.rejections), failed=len(harvest.failures)
    )
    tally.entered = tally.kept + tally.rejected + tally.failed
    tally.failures = harvest.failure_rows(STAGE)
    unique: dict[str, ToolSpec] = {tool.id: tool for tool in harvest.tools}
    tools = [tool_row(tool) for tool in unique.values()]
    context.folder.write_shard(STAGE, number, gather([{"tools": tools}, tally.tables()]))
