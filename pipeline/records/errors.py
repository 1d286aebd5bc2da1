"""The error vocabulary: the one place that says what can go wrong and who owns it.

    TracemillError                 something the user can act on: what, where, the way out
    ├── ConfigError                a configuration, flag or input file that cannot be used
    ├── RunError                   a run folder that is missing, taken, or of another version
    ├── WorldError                 a world or tool program that is broken
    ├── TaskError                  a task or rubric that is broken
    ├── ModelError                 an endpoint or an answer that cannot be used
    │   └── EndpointDown           the endpoint stays down: the run pauses, resumably
    ├── BudgetExceeded             --max-cost, --max-tokens, --max-errors or a deadline was reached
    │   └── Interrupted            somebody asked the run to stop: nothing more may be spent
    ├── SandboxError               the container engine failed (never the solution's fault)
    ├── HostError                  what executes tools was lost: a server that did not start, died or hung
    └── InputError                 a document, row or archive that cannot be read

A tool's own refusal is no exception of this tree: it is a `ToolFailure`, data that the agent sees.
"""

from __future__ import annotations

from enum import StrEnum


class TracemillError(Exception):
    """An error with a way out. `str(error)` is the message for the user; the cause is kept by `from`."""

    def __init__(self, what: str, *, way_out: str = "") -> None:
        super().__init__(f"{what} {way_out}".strip())
        self.what = what
        self.way_out = way_out


class ConfigError(TracemillError):
    """A configuration, flag or file named by one that cannot be used."""


class RunError(TracemillError):
    """A run folder that is missing, already taken, locked, or written by another version."""


class WorldError(TracemillError):
    """A world, tool program, seed or invariant that is broken."""


class TaskError(TracemillError):
    """A task or a rubric that is broken."""


class ModelError(TracemillError):
    """An endpoint or an answer that cannot be used."""


class EndpointDown(ModelError):
    """The endpoint stays down after all retries: stop cleanly, resume later."""


class BudgetExceeded(TracemillError):
    """A limit on cost, tokens, errors or time was reached: stop cleanly, resume later."""


class Interrupted(BudgetExceeded):
    """The run was asked to stop: what is under way is finished, nothing is begun."""


class SandboxError(TracemillError):
    """The container engine failed. Owned by infra, never scored."""


class HostError(TracemillError):
    """What executes tools was lost. Owned by infra, never scored."""


class InputError(TracemillError):
    """A document, row or archive that cannot be read."""


class Owner(StrEnum):
    """Who a verdict or a failure is attributed to."""

    AGENT = "agent"
    USER = "user"
    TOOL = "tool"
    JUDGE = "judge"
    INFRA = "infra"


class Failure(StrEnum):
    """Codes that an engine, not a tool's author, gives to a failed call (seen by the agent)."""

    UNKNOWN_TOOL = "UNKNOWN_TOOL"
    INVALID_JSON = "INVALID_JSON"
    INVALID_ARGUMENTS = "INVALID_ARGUMENTS"
    TOOL_DEFECT = "TOOL_DEFECT"
    SIMULATOR_DEFECT = "SIMULATOR_DEFECT"
    """Whoever plays the tool gave no answer that fits its schema and the state."""
    LIMIT_EXCEEDED = "LIMIT_EXCEEDED"
    CONSTRAINT = "CONSTRAINT"
    TIMEOUT = "TIMEOUT"
    RATE_LIMITED = "RATE_LIMITED"
    UNAVAILABLE = "UNAVAILABLE"
    PERMISSION_DENIED = "PERMISSION_DENIED"
    TOOL_ERROR = "TOOL_ERROR"
    """A tool's refusal in words, without a code of its own."""
