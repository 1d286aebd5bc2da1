"""Every call is a row; the totals and the limits on them follow from the rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from pipeline.config.models import Resolved
from pipeline.models.wire import Completion
from pipeline.records import BudgetExceeded, ChatRequest, Interrupted, Outcome, Record


class ModelCall(Record):
    """A row of the table `model_calls`: one request to an endpoint, or one answer found in cache or journal."""

    role: str
    stage: str
    purpose: str = ""
    model: str
    """As configured."""
    prompt: str = ""
    tokens_in: int = 0
    tokens_out: int = 0
    tokens_cached: int = 0
    """Of `tokens_in`, those the endpoint had in its own cache."""
    cost: float = 0.0
    """What was paid; 0 when `cached`."""
    latency: float = 0.0
    """Seconds of the last try, from sending to the whole answer."""
    waited: float = 0.0
    """Seconds before the last try: for a free slot, and between tries."""
    attempts: int = 1
    cached: bool = False
    outcome: Outcome
    error: str = ""


@dataclass
class Totals:
    """Sums over the rows, and what is going on now."""

    calls: int = 0
    cached: int = 0
    errors: int = 0
    """Requests that ended failed or invalid."""
    rate_limited: int = 0
    """Tries that met a rate limit or an overload."""
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float = 0.0
    in_flight: int = 0


@dataclass
class Budget:
    """Limits on what one run may use; None is no limit. What earlier parts of the run used stands in `spent`."""

    max_cost: float | None = None
    max_tokens: int | None = None
    max_errors: int | None = None
    shared: str = ""
    """Says that each worker of a run has a part of its limits, where there are several."""
    spent: Totals = field(default_factory=Totals)
    stopping: Callable[[], bool] = bool
    """Whether the run was asked to stop, and nothing more may be asked."""


class Ledger:
    """The rows of one run, or of one worker of it."""

    def __init__(
        self, budget: Budget | None = None, on_row: Callable[[ModelCall], None] | None = None
    ) -> None:
        self.rows: list[ModelCall] = []
        self.totals = Totals()
        self.budget = budget or Budget()
        self._on_row = on_row

    def add(self, row: ModelCall) -> None:
        """Write a row. Paid rows count for the budget, also those that a resumed run finds in its journal."""
        self.rows.append(row)
        totals = self.totals
        totals.calls += not row.cached
        totals.cached += row.cached
        totals.errors += row.outcome in (Outcome.FAILED, Outcome.INVALID)
        if not row.cached:
            totals.tokens_in += row.tokens_in
            totals.tokens_out += row.tokens_out
            totals.cost += row.cost
        if self._on_row is not None:
            self._on_row(row)

    def drain(self) -> list[ModelCall]:
        """The rows since the last drain; the totals stay."""
        rows, self.rows = self.rows, []
        return rows

    def check(self) -> None:
        """Raises BudgetExceeded when a limit has been reached, Interrupted when the run was asked to stop; called before
        each request that would cost."""
        budget, now, before = self.budget, self.totals, self.budget.spent
        if budget.stopping():
            raise Interrupted("The run was asked to stop.", way_out="Resume it.")
        for what, used, most in (
            ("cost", now.cost + before.cost, budget.max_cost),
            ("tokens", sum_tokens(now) + sum_tokens(before), budget.max_tokens),
            ("errors", now.errors + before.errors, budget.max_errors),
        ):
            if most is not None and used >= most and (used > 0 or most <= 0):
                raise BudgetExceeded(
                    f"The limit on {what} is reached: {used:g} of {most:g}{budget.shared}.",
                    way_out=f"Resume the run with a higher --max-{what}.",
                )


def sum_tokens(totals: Totals) -> int:
    """Tokens in and out together."""
    return totals.tokens_in + totals.tokens_out


def blank_row(request: ChatRequest) -> ModelCall:
    return ModelCall(
        role=request.role,
        stage=request.stage,
        purpose=request.purpose,
        model=request.model,
        prompt=request.prompt,
        outcome=Outcome.FAILED,
    )


def paid_row(request: ChatRequest, heard: Completion, resolved: Resolved | None = None) -> ModelCall:
    cost = 0.0
    if resolved is not None:
        cost = resolved.price.cost(heard.tokens_in, heard.tokens_out, heard.tokens_cached)
    return ModelCall(
        role=request.role,
        stage=request.stage,
        purpose=request.purpose,
        model=request.model,
        prompt=request.prompt,
        tokens_in=heard.tokens_in,
        tokens_out=heard.tokens_out,
        tokens_cached=heard.tokens_cached,
        cost=cost,
        outcome=heard.outcome,
    )


def found_row(request: ChatRequest, row: ModelCall) -> ModelCall:
    """The row of an answer that was not paid for this time."""
    mine = {"role": request.role, "stage": request.stage, "purpose": request.purpose, "model": request.model}
    free = {"cost": 0.0, "latency": 0.0, "waited": 0.0, "attempts": 0, "cached": True}
    return row.model_copy(update=mine | free)
