"""What a unit of work is given: the run folder, the configuration, the door to the models."""

from __future__ import annotations

import os
import time
from collections.abc import AsyncIterator, Iterable, Mapping
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
"""In a run folder: what was given when the run was resumed, over the section `run` of its configuration."""
_DEADLINE = "deadline"
"""In a run folder: when the present execution has to pause, in seconds since the epoch."""


def raise_limits(folder: RunFolder, limits: Mapping[str, float | int]) -> None:
    """Keeps new limits (`max_cost`, `max_tokens`, `max_errors`) for the rest of a run. Nothing given: as before."""
    if limits:
        path = folder.path / LIMITS
        before = yaml.safe_load(path.read_text(encoding="utf-8")) if path.exists() else {}
        write_atomically(path, yaml.safe_dump({**before, **limits}).encode())


def start_clock(context: Context) -> None:
    """The execution that begins now has the whole of `run.deadline` before it."""
    path = context.folder.path / _DEADLINE
    if context.config.run.deadline is None:
        path.unlink(missing_ok=True)
    else:
        write_atomically(path, str(time.time() + context.config.run.deadline).encode())


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

    @property
    def deadline(self) -> float | None:
        """When the execution has to pause, by `time.monotonic()` of this process; None when it has all time."""
        path = self.folder.path / _DEADLINE
        if not path.exists():
            return None
        return time.monotonic() + float(path.read_text(encoding="ascii")) - time.time()

    @property
    def time_is_up(self) -> bool:
        return self.deadline is not None and time.monotonic() > self.deadline

    @asynccontextmanager
    async def models(self, journal: Journal) -> AsyncIterator[Models]:
        """The door to the models, with the run's budget; what earlier units spent counts."""
        budget = self._budget()
        config = (
            self.config
            if self.asks_models
            else self.config.model_copy(update={"cache": CacheConfig(enabled=False)})
        )
        async with Models(
            config, journal=journal, budget=budget, limits_dir=Path(config.cache.dir) / "limits"
        ) as models:
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
            f" (the part of one of {workers} workers)" if workers > 1 else "",
            spent,
            stopping=lambda: self.folder.stopping,
        )

    @property
    def asks_models(self) -> bool:
        """Whether any role is played by a model."""
        names = (*self.config.roles.values(), *self.config.further_names)
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
            totals.cached += row["cached"]
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
