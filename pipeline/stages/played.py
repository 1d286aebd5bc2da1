"""The stage `played`: tasks on real MCP tools. Their state is simulated, their calls are played, the gate is the same."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field, replace
from typing import Literal

from pipeline.config.trajectories import LimitsConfig
from pipeline.judging.judge import judge
from pipeline.models.players.entities import EntityAsker
from pipeline.models.structured import Unreadable
from pipeline.records import Policy, Task, ToolSpec, World, WorldError
from pipeline.rollout.episode import Episode
from pipeline.stages.authored_tasks import authored_tasks
from pipeline.stages.authoring import authored
from pipeline.stages.context import Context, Tally, call_rows
from pipeline.stages.players import TEACHER, Players
from pipeline.stages.tasks import Rows
from pipeline.store import Row, domain_row, failure_row, world_row
from pipeline.tasks.gate import SECOND, Attempt, Outcome, gate
from pipeline.teacher.author import TeacherAuthor
from pipeline.teacher.played import played_world
from pipeline.teacher.policy import TeacherPolicy
from pipeline.teacher.toolsets import Played, entities_of, toolsets, unread
from pipeline.teacher.user import TeacherUser
from pipeline.worlds.simulated import Memory, SimulatedHost, SliceLimits

STAGE = "played"
UNIT = 6
"""Toolsets of one unit."""
BATCHES = 3
"""How often the author is asked for more, where the gate has refused some."""


@dataclass(frozen=True)
class Plan:
    """The run's toolsets with the worlds behind them, in order, and why there is none behind the others. None: the
    rules know of no world, but models may: one says what the server keeps, one plays it."""

    played: tuple[tuple[Played, World | None], ...] = ()
    refused: tuple[tuple[str, str], ...] = ()


def plan(context: Context) -> Plan:
    """What the MCP tools of the run can be played as. The same in every process."""
    settings = context.config.simulated
    if settings.tasks == 0:
        return Plan()
    found: list[tuple[Played, World | None]] = []
    refused: list[tuple[str, str]] = []
    tools = _mcp_tools(context)
    for toolset in toolsets(tools, settings.tools):
        try:
            found.append((toolset, played_world(toolset, context.config.seed)))
        except WorldError as error:
            if by_models(context):
                found.append((toolset, None))
            else:
                refused.append((toolset.name, error.what))
    if by_models(context):
        found += [(toolset, None) for toolset in unread(tools, settings.tools)]
    return Plan(tuple(found[: settings.toolsets]), tuple(refused))


def by_models(context: Context) -> bool:
    """Whether models write the tasks and play the tools, so that no rule has to know what a tool does."""
    return authored(context) and context.config.roles.get("simulator", TEACHER) != TEACHER


def _mcp_tools(context: Context) -> list[ToolSpec]:
    rows = context.folder.rows("tools", columns=("source", "record"))
    return [ToolSpec.model_validate_json(row["record"]) for row in rows if row["source"] == "mcp"]


def played_units(context: Context) -> int:
    """Units of a few toolsets each; none when no tasks on MCP tools are asked for, one when none can be had."""
    if context.config.simulated.tasks == 0:
        return 0
    return max(1, math.ceil(len(plan(context).played) / UNIT))


async def played_unit(context: Context, number: int) -> None:
    """Proposes and gates the tasks of a few played worlds; what cannot be played is a row."""
    planned = plan(context)
    tally, rows, more = Tally(STAGE), Rows(), Found()
    if number == 0:
        for name, reason in planned.refused:
            tally.reject("no world behind the tools", reason, subject=name)
    with context.folder.journal(STAGE, number) as journal:
        async with context.models(journal) as models:
            players = Players(context.config, models, STAGE)
            everywhere = len(planned.played)
            for position in range(number * UNIT, min(everywhere, (number + 1) * UNIT)):
                toolset, world = planned.played[position]
                if authored(context):
                    world = await refined(players, toolset, world, tally)
                if world is None:
                    continue
                share = context.config.simulated.tasks // everywhere + (
                    position < context.config.simulated.tasks % everywhere
                )
                more.add(world)
                await Proposals(context, players, world, tally, rows, more).propose(share)
            rows.calls = call_rows(models.ledger.drain())
    tally.tokens = sum(row["tokens_in"] + row["tokens_out"] for row in rows.calls)
    tally.cost = sum(row["cost"] for row in rows.calls)
    context.folder.write_shard(STAGE, number, {**rows.tables(), **more.tables(), **tally.tables()})


async def refined(players: Players, toolset: Played, world: World | None, tally: Tally) -> World | None:
    """The world with the entities as the author sees them, each proposal built at once and sent back with what is
    wrong; what the rules made (a world or none) where none of them will do, with the reason as a row."""
    asker = EntityAsker(players.seat("author", f"entities {toolset.name}"))
    proposed = [
        {"noun": one.noun, "columns": [asdict(column) for column in one.columns]} for one in toolset.entities
    ]
    problem, kind = "", ""
    for _ in range(players.config.author.repairs + 1):
        try:
            answer = await asker.ask(toolset.tools, proposed, problem)
            entities = entities_of([one.model_dump() for one in answer.entities], toolset)
            seen = replace(toolset, entities=entities)
            better = played_world(seen, players.config.seed, bare=world is None)
        except Unreadable as error:
            kind, problem = "entities: unreadable", str(error)
            break  # whoever asks models has shown them the error already
        except WorldError as error:
            kind, problem = "entities: broken", str(error)
            continue
        lost = _programs(world) - _programs(better)
        if not lost:
            return better
        kind, problem = (
            "entities: tools lost",
            f"With these, nothing can be kept for {', '.join(sorted(lost))}.",
        )
    if world is None:
        tally.reject("no world behind the tools", problem, subject=toolset.name)
    else:
        tally.failures.append(failure_row(STAGE, kind, problem, subject=toolset.name, owner="tool"))
    return world


def _programs(world: World | None) -> set[str]:
    return {tool.name for tool in world.tools if tool.program is not None} if world else set()


@dataclass
class Found:
    """Further rows of a unit: worlds, and how their simulator did in the gate."""

    worlds: list[Row] = field(default_factory=list)
    domains: list[Row] = field(default_factory=list)
    measures: list[Row] = field(default_factory=list)

    def add(self, world: World) -> None:
        self.worlds.append(world_row(world, author="teacher"))
        self.domains.append(domain_row(world.domain))

    def measure(self, world: World, simulator: str, memory: Memory, defects: int) -> None:
        answers = {
            "asked": memory.asked,
            "repaired": memory.repaired,
            "recalled": memory.recalled,
            "defect": defects,
        }
        for name, count in answers.items():
            part = f"{world.name}: {simulator}"
            value = count / memory.asked if name in ("repaired", "defect") and memory.asked else float(count)
            self.measures.append(
                {"stage": STAGE, "name": f"simulator_{name}", "part": part, "value": value, "n": count}
            )

    def tables(self) -> dict[str, list[Row]]:
        return {"worlds": self.worlds, "domains": self.domains, "measures": self.measures}


@dataclass
class Proposals:
    """The tasks of one played world."""

    context: Context
    players: Players
    world: World
    tally: Tally
    rows: Rows
    found: Found

    def __post_init__(self) -> None:
        self.simulator = self.players.simulator(self.world)
        self.proof: Literal["exact", "recorded"] = (
            "exact" if self.players.plays("simulator") == TEACHER else "recorded"
        )
        """Programs compute their answers; what a model says is kept and said again."""
        self.memory = Memory()
        self.defects = 0

    async def propose(self, count: int) -> None:
        """Asks for tasks until `count` are admitted, in a few batches."""
        if authored(self.context):
            self.found.measures += await authored_tasks(
                self.context,
                self.players,
                self.world,
                count,
                self._attempt(),
                self.tally,
                self._add,
                self._host,
            )
        else:
            await self._taught(count)
        self.found.measure(self.world, self.simulator.name, self.memory, self.defects)

    def _add(self, task: Task, world: World, evidence: object) -> None:
        self.rows.add(self._leveled(task), world, evidence)

    def _leveled(self, task: Task) -> Task:
        """The task with the level of its proof."""
        return task.replace(host="simulated", proof=self.proof)

    async def _taught(self, count: int) -> None:
        kept, seen = 0, set[str]()
        config = self.context.config
        for batch in range(BATCHES):
            if kept >= count:
                break
            author = TeacherAuthor(config.tasks)
            for task in await author.tasks(self.world, count, config.seed + 1_000_003 * batch):
                task = self._leveled(task)
                if kept == count or task.id in seen:
                    continue
                seen.add(task.id)
                kept += await self._admit(task)

    async def _admit(self, task: Task) -> bool:
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
        return report.admitted

    def _reference(self, task: Task, number: int) -> Policy:
        return TeacherPolicy(task, self.world, f"gate/{number}")

    def _host(self, initial: tuple[str, ...] = (), *, anew: bool = False) -> SimulatedHost:
        """A fresh host. `anew`: the simulator is asked once more what it has answered already, as another sample."""
        settings = self.context.config.simulated
        limits = SliceLimits(settings.rows, settings.characters)
        simulator = self.players.simulator(self.world, 1) if anew else self.simulator
        memory = Memory() if anew else self.memory
        return SimulatedHost(
            self.world, simulator, initial, repairs=settings.repairs, memory=memory, limits=limits
        )

    def _attempt(self) -> Attempt:
        limits = LimitsConfig(turns=40, calls=60)

        async def attempt(task: Task, policy: Policy, number: int) -> Outcome:
            host = self._host(task.initial, anew=number == SECOND and self.proof == "recorded")
            try:
                user = TeacherUser(task, self.world, f"gate/{task.id}/{number}")
                trajectory = await Episode(task, number, 0, policy, user, host, limits).run()
                state, final = host.live.state, host.snapshot()
            finally:
                await host.close()
            self._note(task, host)
            return Outcome(await judge(task, trajectory, final, self.world), trajectory, state)

        return attempt

    def _note(self, task: Task, host: SimulatedHost) -> None:
        """A row for each call to which the simulator had no good answer."""
        self.defects += len(host.defects)
        for defect in host.defects:
            about = {"tool": defect.tool, "arguments": defect.arguments, "answers": defect.answers}
            self.tally.failures.append(
                failure_row(
                    STAGE,
                    f"simulator: {defect.kind}",
                    defect.message,
                    subject=task.id,
                    owner="tool",
                    detail=about,
                )
            )
