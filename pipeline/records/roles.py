"""The roles: small protocols, each played by a model or by the teacher. Nothing else knows which."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from pipeline.records.base import Json
from pipeline.records.chat import Message
from pipeline.records.documents import Chunk, Document, FidelityReport
from pipeline.records.rubrics import PolicyCheck, ReplyCheck
from pipeline.records.tasks import Fact, Goal, Persona, Task
from pipeline.records.tools import ToolSpec
from pipeline.records.trajectories import Snapshot, ToolCall, Trajectory, Usage, UserLookup
from pipeline.records.verdicts import Verdict
from pipeline.records.worlds import World


@dataclass(frozen=True, slots=True)
class AgentTurn:
    """What a policy does next: words, calls, or both. Neither is an empty turn."""

    content: str = ""
    calls: tuple[ToolCall, ...] = ()
    reasoning: str = ""
    usage: Usage = field(default_factory=Usage)
    logprobs: tuple[float, ...] = ()
    note: str = ""
    """For the record only, e.g. the label of a planted flaw."""
    cut_off: bool = False
    """It reached the model's token limit in mid-answer; that ends the episode."""


class Policy(Protocol):
    """The agent. One object per episode, opened for (task, attempt, seed)."""

    async def act(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> AgentTurn:
        """The next turn after `messages`. Raises ModelError when no answer can be had."""
        ...


UserAct = Literal[
    "open", "answer", "correct", "change", "confirm", "decline", "next", "nudge", "close", "give_up"
]


@dataclass(frozen=True, slots=True)
class UserMove:
    """What the user machine has decided; a player only finds the words."""

    act: UserAct
    persona: Persona
    goal: Goal | None
    facts: tuple[Fact, ...] = ()
    """Facts to state in this turn, all of them."""
    wrong: tuple[str, ...] = ()
    """Names of facts to be stated wrongly, as `Fact.wrong`."""
    turn: int = 0
    lookups: tuple[UserLookup, ...] = ()
    """What the user looks up on their own side before they speak."""


@dataclass(frozen=True, slots=True)
class UserWords:
    text: str
    usage: Usage = field(default_factory=Usage)
    problem: str = ""
    """Why the words are of no use, when the player knows it: `a turn that was cut off`."""


class User(Protocol):
    """The words of the user. One object per episode."""

    async def speak(self, move: UserMove, messages: Sequence[Message]) -> UserWords:
        """The text for `move`. Raises ModelError when no answer can be had."""
        ...


class Author(Protocol):
    """Makes worlds and tasks."""

    async def worlds(self, count: int, seed: int) -> list[World]:
        """Up to `count` new worlds, not yet admitted."""
        ...

    async def tasks(self, world: World, count: int, seed: int) -> list[Task]:
        """Up to `count` tasks in `world`, not yet gated."""
        ...


@dataclass(frozen=True, slots=True)
class Scene:
    """What a simulator is given of the state.

    `shown` is the slice that matters, fit for a model: tables with columns, keys and some rows. `snapshot` is the whole,
    for players that are programs. `now` is the virtual time, `new_id` the number that the next new row may use.
    """

    shown: Json
    snapshot: Snapshot
    now: str
    new_id: int


@dataclass(frozen=True, slots=True)
class SimulatedCall:
    """What a simulator answers: a result and the state patch it wants."""

    result: Json = None
    error: tuple[str, str] | None = None
    patch: tuple[dict[str, Any], ...] = ()
    """`{"op": "insert|update|delete", "table": …, "key": {…}, "values": {…}}`; the engine validates it."""
    problem: str = ""
    """Why there is no usable answer: prose, a refusal, an answer cut off."""
    usage: Usage = field(default_factory=Usage)


class Simulator(Protocol):
    """Plays a tool that has no implementation."""

    name: str

    async def answer(
        self,
        tool: ToolSpec,
        arguments: dict[str, Json],
        scene: Scene,
        tried: Sequence[tuple[SimulatedCall, str]] = (),
    ) -> SimulatedCall:
        """The answer to one call. `tried`: earlier answers to it with what the engine found wrong.

        Raises ModelError when no answer can be had (owned by infra).
        """
        ...


class Judge(Protocol):
    """Decides criteria that no rule can decide."""

    name: str

    async def judge(
        self,
        task: Task,
        trajectory: Trajectory,
        criteria: Sequence[ReplyCheck | PolicyCheck],
        changes: str = "",
    ) -> list[Verdict]:
        """One verdict per criterion; `unscored` where it cannot say. `changes` tells what differs in the state."""
        ...


@dataclass(frozen=True, slots=True)
class RewriteRequest:
    document: Document
    chunk: Chunk
    style: str
    written: str
    """What has been rewritten so far (the tail of it may suffice)."""
    attempt: int
    seed: int


@dataclass(frozen=True, slots=True)
class RewriteAnswer:
    text: str
    truncated: bool = False
    prompt: str = ""
    usage: Usage = field(default_factory=Usage)


class Rewriter(Protocol):
    """Says a chunk again in another style, with the same facts."""

    name: str

    def offers(self, document: Document) -> frozenset[str] | None:
        """Names of the styles it can write of this document; None for whatever has a prompt."""
        ...

    async def rewrite(self, request: RewriteRequest) -> RewriteAnswer: ...


class Checker(Protocol):
    """Compares a source with its rewriting."""

    name: str

    async def check(self, source: str, rewrite: str, *, style: str, kind: str) -> FidelityReport: ...
