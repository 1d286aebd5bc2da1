"""The stage `live_tasks`: tasks on real MCP servers, each proposed from the listing and proven on the server itself."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from pipeline.config.trajectories import LimitsConfig
from pipeline.judging.judge import judge
from pipeline.records import Json, Policy, Task, ToolSpec, World
from pipeline.records.errors import HostError
from pipeline.rollout.episode import Episode
from pipeline.stages.context import Context, Tally
from pipeline.stages.hosts import launch_entries
from pipeline.stages.tasks import Rows
from pipeline.store import domain_row, world_row
from pipeline.tasks.gate import Attempt, Outcome, gate
from pipeline.teacher.live import Proposed, live_task, live_world, propose
from pipeline.teacher.plainly import failing, lasting, sayable
from pipeline.teacher.policy import TeacherPolicy
from pipeline.teacher.user import TeacherUser
from pipeline.tools.repository import Repository
from pipeline.worlds.live import LiveHost
from pipeline.worlds.server_pool import Servers

STAGE = "live_tasks"
TRIES = 8
"""Proposals for one wanted task, at most."""
PATIENCE = 3
"""Refusals of one tool without any answer, after which it is not asked for again."""


def servers_of(context: Context) -> dict[str, list[ToolSpec]]:
    """The run's MCP tools by server, as far as tasks are wanted on it and it can be launched; the order is that of the
    listing."""
    live = context.config.trajectories.live
    if live.tasks == 0:
        return {}
    entries = launch_entries(context.config)
    found: dict[str, list[ToolSpec]] = {}
    for row in context.folder.rows("tools", columns=("source", "record")):
        if row["source"] != "mcp":
            continue
        tool = ToolSpec.model_validate_json(row["record"])
        name = tool.provenance.server
        if name in entries and (not live.servers or name in live.servers):
            found.setdefault(name, []).append(tool)
    return {name: tools[: live.tools] for name, tools in found.items()}


def live_tasks_units(context: Context) -> int:
    """One unit per server; one that says so where tasks are asked for and no server can be had."""
    if context.config.trajectories.live.tasks == 0:
        return 0
    return max(1, len(servers_of(context)))


async def live_tasks_unit(context: Context, number: int) -> None:
    """Proposes and gates the tasks on one server; what the server refuses, or cannot do alike twice, is a row."""
    everywhere = servers_of(context)
    tally, rows = Tally(STAGE), Rows()
    live = context.config.trajectories.live
    for name in sorted(set(live.servers) - set(everywhere)) if number == 0 else ():
        why = f"The server {name!r} has no tools in this run: it is not in the file of servers, or could not be listed."
        tally.reject("no such server", why, subject=name)
    if number == 0 and not everywhere and not live.servers:
        why = "trajectories.live.tasks asks for tasks on MCP servers, and none could be listed; give them with --mcp."
        tally.reject("no server", why)
    tables = {}
    if number < len(everywhere):
        server = list(everywhere)[number]
        share = live.tasks // len(everywhere) + (number < live.tasks % len(everywhere))
        world = live_world(server, everywhere[server])
        async with Servers(launch_entries(context.config), context.config.tools.ingest, live) as servers:
            lent = [tool for name, tools in everywhere.items() if name != server for tool in tools]
            await Proposals(context, world, servers, lent, tally, rows).make(share)
        if rows.tasks:
            tables = {"worlds": [world_row(world, author="teacher")], "domains": [domain_row(world.domain)]}
    context.folder.write_shard(STAGE, number, {**rows.tables(), **tables, **tally.tables()})


@dataclass
class Proposals:
    """The tasks on one server. `lent`: tools of the other servers, among which look-alikes are found."""

    context: Context
    world: World
    servers: Servers
    lent: Sequence[ToolSpec]
    tally: Tally
    rows: Rows
    _refused: Counter[str] = field(default_factory=Counter)
    _answered: set[str] = field(default_factory=set)
    _losses: int = 0

    def __post_init__(self) -> None:
        self._alike = Repository([*self.world.tools, *self.lent])

    async def make(self, count: int) -> None:
        """Asks for tasks until `count` are admitted, in a bounded number of tries."""
        config, seen = self.context.config, set[str]()
        for number in range(count * TRIES):
            if len(self.rows.tasks) == count:
                return
            rng = random.Random(f"live/{self.world.name}/{config.seed}/{number}")
            lost = [name for name, times in self._refused.items() if times >= PATIENCE]
            lost = [name for name in lost if name not in self._answered]
            proposed = propose(self.world.tools, rng, lost)
            if proposed is None:
                what = "none of its tools takes arguments that a person could say"
                self.tally.reject("nothing to ask for", f"{self.world.name}: {what}.", self.world.name)
                return
            key = str([(tool.name, arguments) for tool, arguments in proposed.calls])
            if key in seen:
                continue
            seen.add(key)
            await self._one(proposed, rng)
            if self._losses >= PATIENCE and not self._answered:
                return  # it does not even start

    async def _one(self, proposed: Proposed, rng: random.Random) -> None:
        answers = await self._proven(proposed)
        if answers is None:
            return
        task = live_task(self.world, proposed, answers, self._distractors(proposed, rng), rng)
        config = self.context.config
        report = await gate(
            task, self._attempt(), self._reference, config.seed, config.tasks.max_passing_mutations
        )
        if report.admitted:
            self.tally.keep()
            self.rows.add(task, self.world, report.evidence())
        else:
            kind = report.reason.split(":")[0]
            self.tally.reject(kind, report.reason, subject=task.id, detail=report.evidence())

    async def _proven(self, proposed: Proposed) -> list[Json] | None:
        """What the server answers in two fresh sessions alike, by call; None with the reason as a row.

        What differs (the time of day) is not asked for later. After a change nothing may differ: the answers to changes
        are all that is known of the state.
        """
        first = await self._session(proposed)
        second = await self._session(proposed) if first is not None else None
        if first is None or second is None:
            return None
        kept: list[Json] = []
        for (tool, _), one, other in zip(proposed.calls, first, second, strict=True):
            same = lasting(one, other, datetime.now(UTC))
            if not same or (one != other and not tool.annotations.read_only):
                what = "answers otherwise each time, so that nothing can be expected of it"
                self._reject("not the same twice", tool, what)
                return None
            if failing(one):
                self._reject("an error as answer", tool, f"answers {str(one)[:200]!r}")
                return None
            if not sayable(one):
                what = "gives an answer that is empty, too long or too nested to be told in a message"
                self._reject("no answer to tell", tool, what)
                return None
            kept.append(same)
        self._answered |= {tool.name for tool, _ in proposed.calls}
        return kept

    def _reject(self, kind: str, tool: ToolSpec, what: str) -> None:
        self.tally.reject(kind, f"{tool.name} {what}", self.world.name)
        self._refused[tool.name] += 1

    async def _session(self, proposed: Proposed) -> list[Json] | None:
        """The calls on servers of their own; None where one is refused, or its server does not start or is lost."""
        host = await LiveHost.open([tool for tool, _ in proposed.calls], self.servers)
        try:
            found: list[Json] = []
            for tool, arguments in proposed.calls:
                try:
                    result = await host.call(tool.name, arguments)
                except HostError as error:
                    self.tally.fail("host_error", error.what, self.world.name, owner="infra")
                    self._losses += 1
                    self._refused[tool.name] += PATIENCE
                    return None
                if not result.ok:
                    code, message = result.error or ("", "")
                    what = f"refuses {arguments}: {code}, {message[:300]}"
                    self._reject("refused by the server", tool, what)
                    return None
                found.append(result.value)
            return found
        finally:
            await host.close()

    def _distractors(self, proposed: Proposed, rng: random.Random) -> list[ToolSpec]:
        """Look-alikes of the needed tools from other servers, in the configured number as far as there are any."""
        sizes = self.context.config.tasks.distractors
        wanted = rng.choices(list(sizes), list(sizes.values()))[0]
        names = {tool.name for tool in self.world.tools}
        found: dict[str, ToolSpec] = {}
        for tool, _ in proposed.calls:
            for other in self._alike.similar(tool, wanted):
                if other.name not in names and len(found) < wanted:
                    found.setdefault(other.name, other)
        return list(found.values())

    def _reference(self, task: Task, number: int) -> Policy:
        return TeacherPolicy(task, self.world, f"gate/{number}")

    def _attempt(self) -> Attempt:
        limits = LimitsConfig(turns=40, calls=60)

        async def attempt(task: Task, policy: Policy, number: int) -> Outcome:
            host = await LiveHost.open(task.agent.toolset.tools, self.servers)
            try:
                user = TeacherUser(task, self.world, f"gate/{task.id}/{number}")
                trajectory = await Episode(task, number, 0, policy, user, host, limits).run()
                final = host.snapshot()
            finally:
                await host.close()
            return Outcome(await judge(task, trajectory, final, self.world), trajectory, final.state)

        return attempt
