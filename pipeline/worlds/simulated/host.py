"""The host of played tools: the simulator proposes a result and a patch, the engine decides and keeps the state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pipeline.records import (
    Failure,
    Json,
    Scene,
    SimulatedCall,
    Simulator,
    Snapshot,
    ToolSpec,
    World,
    canonical_json,
)
from pipeline.worlds.host import Ability, CallResult
from pipeline.worlds.simulated.patches import Patch, Problem, read_patch
from pipeline.worlds.simulated.results import complaints, error_problem, named, result_problem, state_problem
from pipeline.worlds.simulated.slices import SliceLimits, slice_of
from pipeline.worlds.sql import SqlHost


@dataclass(frozen=True, slots=True)
class Defect:
    """A call to which no answer was good enough: the last problem, and how many answers there were."""

    tool: str
    arguments: dict[str, Json]
    kind: str
    message: str
    answers: int


@dataclass(frozen=True, slots=True)
class _Kept:
    """An answer that was taken: what the caller saw and what it changed."""

    value: Json
    error: tuple[str, str] | None
    patch: Patch


@dataclass
class Memory:
    """Answers that were taken, by state and call: equal calls in equal states answer alike, whoever asks.

    One memory may serve all hosts of a world. Reads go by the state's hash, writes also by clock and id counter.
    """

    kept: dict[tuple[str, str, str], _Kept] = field(default_factory=dict)
    asked: int = 0
    """Answers that a simulator gave."""
    repaired: int = 0
    """Answers that were taken only after a complaint."""
    recalled: int = 0


class SimulatedHost:
    """One episode's copy of a simulated world. Deterministic for equal answers of its simulator."""

    ability: Ability = "exact"

    def __init__(
        self,
        world: World,
        simulator: Simulator,
        initial: Sequence[str] = (),
        *,
        repairs: int = 2,
        memory: Memory | None = None,
        limits: SliceLimits | None = None,
    ) -> None:
        """`initial` turns the seed into the task's state; `repairs`: how often a simulator is told what is wrong with its answer to one call."""
        self.tools: Mapping[str, ToolSpec] = world.tool_by_name
        self.defects: list[Defect] = []
        self._simulator = simulator
        self._repairs = repairs
        self._memory = memory if memory is not None else Memory()
        self._limits = limits
        self._sql = SqlHost(world, initial)
        self.live = self._sql.live

    async def call(self, name: str, arguments: dict[str, Json]) -> CallResult:
        """One call. Raises ModelError when the simulator cannot be reached."""
        tool = self.tools.get(name)
        if tool is None:
            return self._refusal(Failure.UNKNOWN_TOOL, f"There is no tool named {name!r}.")
        wrong = complaints(tool.input_schema, arguments)
        if wrong:
            return self._refusal(Failure.INVALID_ARGUMENTS, wrong)
        key = canonical_json(arguments)
        for place in ((self.live.state, name, key), (self.live.ref, name, key)):
            if place in self._memory.kept:
                self._memory.recalled += 1
                return self._take(self._memory.kept[place])
        return await self._ask(tool, arguments, key)

    async def _ask(self, tool: ToolSpec, arguments: dict[str, Json], key: str) -> CallResult:
        """The dialogue with the simulator: an answer that does not fit is sent back with the reason."""
        scene = Scene(
            slice_of(self.live, tool, arguments, self._limits),
            self.live.snapshot(),
            self.live.clock,
            self.live.new_id,
        )
        state, ref = self.live.state, self.live.ref
        tried: list[tuple[SimulatedCall, str]] = []
        problem = Problem("unreadable", "no answer")
        for _ in range(1 + self._repairs):
            answer = await self._simulator.answer(tool, arguments, scene, tried)
            self._memory.asked += 1
            taken = self._judge(tool, arguments, answer)
            if isinstance(taken, tuple):
                kept, result = taken
                self._memory.repaired += bool(tried)
                self._memory.kept[(ref if kept.patch.edits else state, tool.name, key)] = kept
                return result
            problem = taken
            tried.append((answer, problem.message))
            if problem.kind == "unreadable":
                break  # whoever asks models has shown them the error already
        self.defects.append(Defect(tool.name, arguments, problem.kind, problem.message, len(tried)))
        return self._refusal(
            Failure.SIMULATOR_DEFECT, f"The tool failed internally ({problem.kind}); nothing was changed."
        )

    def _judge(
        self, tool: ToolSpec, arguments: dict[str, Json], answer: SimulatedCall
    ) -> tuple[_Kept, CallResult] | Problem:
        """Takes an answer, with its changes, or says why not."""
        if answer.problem:
            return Problem("unreadable", answer.problem)
        if answer.error is not None:
            if answer.patch:
                return Problem("patch", "A call that is refused changes nothing: leave the patch empty.")
            refused = error_problem(tool, answer.error[0])
            if refused is not None:
                return refused
            kept = _Kept(None, answer.error, Patch())
            return kept, self._take(kept)
        if answer.patch and tool.annotations.read_only:
            return Problem("read_only", f"{tool.name} is read-only: leave the patch empty.")
        patch = read_patch(self.live, answer.patch)
        if isinstance(patch, Problem):
            return patch
        wrong = result_problem(tool, answer.result, arguments, self.live)
        if wrong is not None:
            return wrong
        kept = _Kept(answer.result, None, patch)
        before, problems = named(self.live, answer.result), list[Problem]()

        def prove() -> str:
            found = state_problem(self.live, kept.value, before)
            broken = self.live.broken_invariant() if patch.edits and found is None else None
            if broken is not None:
                found = Problem("state", f"The patch breaks a rule that always holds: {broken}.")
            problems.extend([found] if found else [])
            return found.message if found else ""

        if not patch.edits:
            return Problem("state", why) if (why := prove()) else (kept, self._take(kept))
        ref = self.live.ref
        refusal = self.live.change(patch.edits, prove, patch.inserts)
        if refusal:
            kind = problems[0].kind if problems else "reference"
            return Problem(kind, refusal if problems else f"The tables refuse the patch: {refusal}.")
        return kept, CallResult(True, kept.value, None, ref, self.live.ref)

    def _take(self, kept: _Kept) -> CallResult:
        """An answer that has been taken before, or needs no proof."""
        ref = self.live.ref
        if kept.error is not None:
            return CallResult(False, None, kept.error, ref, ref)
        if kept.patch.edits:
            refusal = self.live.change(kept.patch.edits, ids=kept.patch.inserts)
            assert not refusal, refusal  # the same edits in the same state
        return CallResult(True, kept.value, None, ref, self.live.ref)

    def _refusal(self, code: Failure, message: str) -> CallResult:
        return CallResult(False, None, (str(code), message), self.live.ref, self.live.ref)

    def snapshot(self) -> Snapshot:
        return self._sql.snapshot()

    async def restore(self, snapshot: Snapshot) -> None:
        await self._sql.restore(snapshot)

    def advance(self, seconds: float) -> None:
        self._sql.advance(seconds)

    async def close(self) -> None:
        await self._sql.close()
