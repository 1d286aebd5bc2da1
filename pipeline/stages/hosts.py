"""Which host executes a task's tools: the one place that looks at `Task.host`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from pipeline.assets import asset
from pipeline.config import Config
from pipeline.config.simulated import SimulatedConfig
from pipeline.records import ConfigError, Simulator, Task, TaskError, World
from pipeline.worlds import mixed
from pipeline.worlds.cassette import Recorder
from pipeline.worlds.host import ToolHost
from pipeline.worlds.live import LiveHost
from pipeline.worlds.server_pool import Servers
from pipeline.worlds.servers import ServerEntry, read_servers
from pipeline.worlds.simulated import Memory, ProgramSimulator, SimulatedHost, SliceLimits


@dataclass(frozen=True, slots=True)
class HostParts:
    """What the hosts of a unit of work share."""

    servers: Servers | None = None
    """Real MCP servers, where a task plays on them."""
    simulate: Callable[[World], Simulator] | None = None
    """Who plays the tools of a world that have no implementation."""
    simulated: SimulatedConfig = field(default_factory=SimulatedConfig)
    simulators: dict[str, Simulator] = field(default_factory=dict)
    memories: dict[str, Memory] = field(default_factory=dict)
    """What simulators have answered, by world: all episodes of a unit meet the same."""

    def played(self, world: World, initial: tuple[str, ...]) -> SimulatedHost:
        """A host whose tools are played."""
        if world.id not in self.simulators:
            assert self.simulate is not None
            self.simulators[world.id] = self.simulate(world)
        memory = self.memories.setdefault(world.id, Memory())
        limits = SliceLimits(self.simulated.rows, self.simulated.characters)
        return SimulatedHost(
            world,
            self.simulators[world.id],
            initial,
            repairs=self.simulated.repairs,
            memory=memory,
            limits=limits,
        )


@asynccontextmanager
async def host_parts(
    config: Config, tasks: Iterable[Task], simulate: Callable[[World], Simulator] | None = None
) -> AsyncIterator[HostParts]:
    """What the hosts of these tasks need; servers are ended when the block is left."""
    if not any(task.host == "live" for task in tasks):
        yield HostParts(simulate=simulate, simulated=config.simulated)
        return
    async with Servers(launch_entries(config), config.tools.ingest, config.trajectories.live) as servers:
        yield HostParts(servers, simulate, config.simulated)


def launch_entries(config: Config) -> dict[str, ServerEntry]:
    """The servers of `tools.ingest.servers`, or those that ship. Raises ConfigError."""
    return read_servers(config.tools.ingest.servers or asset("tools_repo/mcp_servers.json"))


async def open_host(task: Task, world: World | None, parts: HostParts) -> ToolHost:
    """A fresh host for one episode, in the task's initial state; whoever opens it closes it.

    Raises TaskError for a kind of host that is not opened here, WorldError when the initial state cannot be made,
    HostError when a live server has no launch entry.
    """
    if task.host == "live" and parts.servers is not None:
        if task.initial:
            raise TaskError(f"Task {task.id} has an initial state, which no live server can be given.")
        return Recorder(await LiveHost.open(task.agent.toolset.tools, parts.servers))
    if task.host == "simulated" and world is not None and parts.simulate is not None:
        played = parts.played(world, task.initial)
        computed = isinstance(parts.simulators[world.id], ProgramSimulator)
        return played if computed else Recorder(played)  # what a model said cannot be had again
    if task.host == "sql" and world is not None:
        return mixed.open_host(world, task.initial)
    raise TaskError(f"No host can be opened for task {task.id}: {task.host}, world {task.world or 'none'}.")


def needed_world(task: Task, world: World | None, role: str) -> World:
    """The world that a teacher needs to play a role. Raises ConfigError when the task has none."""
    if world is None:
        raise ConfigError(
            f"Task {task.id} has no world, so the teacher cannot play its {role}.",
            way_out=f"Give the role to a model: roles.{role}.",
        )
    return world
