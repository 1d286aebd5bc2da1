"""What happens: events, snapshots and trajectories (the trajectory contract)."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from pipeline.records.base import Json, Record, content_id
from pipeline.records.errors import Owner


class EndReason(StrEnum):
    """Why an episode ended or stopped."""

    USER_DONE = "user_done"
    USER_GAVE_UP = "user_gave_up"
    TURN_LIMIT = "turn_limit"
    CALL_LIMIT = "call_limit"
    TOKEN_LIMIT = "token_limit"
    COST_LIMIT = "cost_limit"
    TIME_LIMIT = "time_limit"
    AGENT_EMPTY = "agent_empty"
    AGENT_LOOP = "agent_loop"
    AGENT_STALLED = "agent_stalled"
    """The user agreed to a change, and the agent has talked ever since instead of making it."""
    AGENT_FORGED = "agent_forged"
    """The agent wrote a user's message or a tool's result itself."""
    USER_FAULT = "user_fault"
    MODEL_ERROR = "model_error"
    HOST_ERROR = "host_error"
    PAUSED = "paused"

    @property
    def owner(self) -> Owner | None:
        """Who is responsible when an episode did not end by itself; None for a regular end."""
        return _OWNERS.get(self)


_OWNERS = {
    EndReason.USER_GAVE_UP: Owner.AGENT,
    EndReason.TURN_LIMIT: Owner.AGENT,
    EndReason.CALL_LIMIT: Owner.AGENT,
    EndReason.TOKEN_LIMIT: Owner.AGENT,
    EndReason.COST_LIMIT: Owner.INFRA,
    EndReason.TIME_LIMIT: Owner.INFRA,
    EndReason.AGENT_EMPTY: Owner.AGENT,
    EndReason.AGENT_LOOP: Owner.AGENT,
    EndReason.AGENT_STALLED: Owner.AGENT,
    EndReason.AGENT_FORGED: Owner.AGENT,
    EndReason.USER_FAULT: Owner.USER,
    EndReason.MODEL_ERROR: Owner.INFRA,
    EndReason.HOST_ERROR: Owner.INFRA,
}


class ToolCall(Record):
    """A call as the agent wrote it. `raw` is the argument text, `arguments` None when it is no JSON object."""

    id: str
    name: str
    raw: str
    arguments: dict[str, Json] | None = None


class Usage(Record):
    """Tokens and cost of one model answer; the teacher counts estimated tokens and no cost."""

    tokens_in: int = 0
    tokens_out: int = 0
    cost: float = 0.0
    """In the currency of the price table."""


class InjectedFault(Record):
    """A fault that was really injected, as the engine saw it."""

    tool: str
    nth: int
    kind: str
    committed: bool = False
    """Whether the call's effect took place all the same."""
    permanent: bool = False
    """Whether every later call of the tool meets it as well."""


class UserLookup(Record):
    """What the user looked up, or did (`result` is `{"done": true}`), with a tool of their own (a device, their mail). The
    agent only hears the words."""

    tool: str
    arguments: dict[str, Json] = {}
    result: Json = None


class Event(Record):
    """One committed step. Index 0 is the system prompt; then user, assistant and tool events in order."""

    index: int
    turn: int
    role: Literal["system", "user", "assistant", "tool"]
    content: str = ""
    reasoning: str = ""
    calls: tuple[ToolCall, ...] = ()
    call_id: str = ""
    name: str = ""
    ok: bool | None = None
    error_code: str = ""
    fault: InjectedFault | None = None
    before: str = ""
    """Snapshot reference before the call (tool events)."""
    after: str = ""
    loss: bool = False
    """Whether a trainer learns from this message."""
    usage: Usage = Usage()
    logprobs: tuple[float, ...] = ()
    lookups: tuple[UserLookup, ...] = ()
    """User events: what the user looked up on their own side for this message."""
    note: str = ""
    """What the engine knows about the step and the agent does not see (a planted flaw, a user act)."""


class Snapshot(Record):
    """A state of an environment, content-addressed by `ref`.

    For SQL worlds: the rows that differ from the world's seed, the virtual clock and the id counter.
    """

    ref: str
    state: str
    """Canonical hash of the rows alone."""
    world: str = ""
    clock: str = ""
    counter: int = 0
    rows: tuple[Json, ...] = ()
    """`[table, key, row or null]` for each row that differs from the seed."""
    parts: tuple[Snapshot, ...] = ()
    """The states of further worlds in the same episode, those that have changed."""


class Versions(Record):
    """Everything that shaped a trajectory. A changed version refuses to resume, naming the field."""

    code: str = ""
    tools: str = ""
    world: str = ""
    prompts: dict[str, str] = {}
    policy: str = ""
    user: str = ""
    simulator: str = ""
    judge: str = ""
    seed: int = 0


class Trajectory(Record):
    """One attempt at one task variant, complete: what a trainer, a judge and a replay need."""

    id: str
    task: str
    world: str
    world_name: str = ""
    attempt: int
    seed: int
    events: tuple[Event, ...]
    end_reason: EndReason
    versions: Versions = Versions()
    usage: Usage = Usage()
    planted: tuple[str, ...] = ()
    """Labels of the flaws that a teacher planted; empty for an honest attempt."""

    @property
    def content_hash(self) -> str:
        return content_id("th", self.model_dump(mode="json"), size=16)


def trajectory_id(task: str, attempt: int, seed: int) -> str:
    """Identity before content: the task variant, the attempt and the configured seed."""
    return content_id("traj", [task, attempt, seed])
