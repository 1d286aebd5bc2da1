"""What a unit of work is given: the run folder, the configuration, the door to the models."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from pipeline.config import Config, parse_config
from pipeline.config.models import CacheConfig
from pipeline.models import Budget, ModelCall, Models, Totals
from pipeline.models.ledger import sum_tokens
from pipeline.store import Journal, Row, RunFolder, failure_row, funnel_row, model_call_row
from pipeline.store.files import write_atomically

LIMITS = "limits.yaml"
"""In a run folder: the limits given when the run was resumed, over those of its configuration."""


def raise_limits(folder: RunFolder, limits: dict[str, float | int]) -> None:
    """Keeps new limits (`max_cost`, `max_tokens`, `max_errors`) for the rest of a run. Nothing given: as before."""
    if limits:
        write_atomically(folder.path / LIMITS, yaml.safe_dump(limits).encode())


@dataclass
class Context:
    """One run, as seen by one process."""

    folder: RunFolder
    config: Config

    @classmethod
    def open(cls, run: Path) -> Context:
        """From the path of a run folder; the configuration is the one written there."""
        folder = RunFolder.open(run.parent.parent, run.name)
        values = yaml.safe_load(folder.config_yaml)
        raised = run / LIMITS
        if raised.exists():
            values["run"] = {**values["run"], **yaml.safe_load(raised.read_text(encoding="utf-8"))}
        return cls(folder, parse_config(values, where=str(run / "config.yaml")))

    @asynccontextmanager
    async def models(self, journal: Journal) -> AsyncIterator[Models]:
        """The door to the models, with the run's budget; what earlier units spent counts."""
        budget = self._budget()
        config = (
            self.config
            if self.asks_models
            else self.config.model_copy(update={"cache": CacheConfig(enabled=False)})
        )
        async with Models(config, journal=journal, budget=budget) as models:
            models.restore(journal.paid())
            yield models

    def _budget(self) -> Budget:
        """This process's part of what the run may still use: workers share nothing, so each gets an equal part and
        together they never exceed the limit. What is left over is there for the next resume."""
        run, spent = self.config.run, self.spent()
        workers = (run.workers or os.cpu_count() or 1) if run.runner != "thread" else 1

        def part(limit: float | None, used: float) -> float | None:
            return None if limit is None else used + (limit - used) / workers

        tokens = part(run.max_tokens, sum_tokens(spent))
        errors = part(run.max_errors, spent.errors)
        return Budget(
            part(run.max_cost, spent.cost),
            None if tokens is None else int(tokens),
            None if errors is None else max(int(errors), int(bool(run.max_errors))),
            spent,
            stopping=lambda: self.folder.stopping,
        )

    @property
    def asks_models(self) -> bool:
        """Whether any role is played by a model."""
        names = (*self.config.roles.values(), *self.config.judging.judges)
        return any(name != "teacher" for name in names)

    def spent(self) -> Totals:
        """What the finished units of this run have used."""
        totals = Totals()
        if not self.asks_models:
            return totals
        for row in self.folder.rows(
            "model_calls", columns=("tokens_in", "tokens_out", "cost", "cached", "outcome")
        ):
            totals.errors += row["outcome"] in ("failed", "invalid")
            if not row["cached"]:
                totals.calls += 1
                totals.tokens_in += row["tokens_in"]
                totals.tokens_out += row["tokens_out"]
                totals.cost += row["cost"]
        return totals


@dataclass
class Tally:
    """What became of what entered a unit; turned into its funnel row and failure rows."""

    stage: str
    entered: int = 0
    kept: int = 0
    rejected: int = 0
    failed: int = 0
    pending: int = 0
    tokens: int = 0
    cost: float = 0.0
    failures: list[Row] = field(default_factory=list)

    def keep(self) -> None:
        self.entered += 1
        self.kept += 1

    def reject(self, kind: str, message: str, subject: str = "", **more: Any) -> None:
        self.entered += 1
        self.rejected += 1
        self.failures.append(failure_row(self.stage, kind, message, subject=subject, **more))

    def fail(self, kind: str, message: str, subject: str = "", **more: Any) -> None:
        self.entered += 1
        self.failed += 1
        self.failures.append(failure_row(self.stage, kind, message, subject=subject, **more))

    def tables(self) -> dict[str, list[Row]]:
        """The rows of `funnel` and `failures`."""
        funnel = funnel_row(
            self.stage,
            entered=self.entered,
            kept=self.kept,
            rejected=self.rejected,
            failed=self.failed,
            pending=self.pending,
            tokens=self.tokens,
            cost=self.cost,
        )
        return {"funnel": [funnel], "failures": self.failures}


def call_rows(calls: Iterable[ModelCall]) -> list[Row]:
    """Ledger rows as rows of the table `model_calls`."""
    return [model_call_row(call) for call in calls]
