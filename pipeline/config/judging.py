"""Judging: who judges, how sure it has to be, what is selected."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from pipeline.config.section import Section


class QualityConfig(Section):
    """When a task is set aside because of its attempts."""

    min_pass_rate: float = Field(default=0.0, ge=0, le=1)
    """A task that is passed less often is hopeless."""
    max_pass_rate: float = Field(default=1.0, ge=0, le=1)
    """A task that is passed more often is trivial; 1 keeps those that always pass."""
    drop_never_passed: bool = True
    min_attempts: int = Field(default=1, ge=1)
    """With fewer scored attempts nothing is said about a task."""
    max_foreign_share: float = Field(default=0.5, ge=0, le=1)
    """A task is faulty when more of its failures are owned by user, tool or judge."""


class SelectionConfig(Section):
    """Which passed attempts are kept."""

    rule: Literal["all", "best", "shortest", "diverse"] = "all"
    """all of a task's passed attempts; or up to `per_task` of them: by reward (then shorter), shortest, or least
    alike."""
    per_task: int = Field(default=1, ge=1)
    """For every rule but `all`."""
    max_similarity: float = Field(default=0.95, gt=0, le=1)
    """An attempt that is more alike to a kept one of its task (same calls, same words) is a near-duplicate."""
    pairs_per_task: int = Field(default=2, ge=0)
    """Preference pairs of a passed and a failed attempt, those with the longest common prefix first."""


class JudgingConfig(Section):
    """Judging of trajectories."""

    judges: tuple[str, ...] = ()
    """Models that decide what no rule can; empty: the role `judge`. A name may be given several times: each is a vote."""
    escalation: str | None = None
    """The model that decides where the judges are divided."""
    max_error: float | None = Field(default=None, ge=0, le=1)
    """Publishing is refused when a measured share of misses or of false alarms is larger, or none was measured."""
    calibration_per_kind: int = Field(default=300, ge=1)
    """Flawed trajectories of each kind that `judge calibrate` plants at most."""
    calibration_per_judge: int = Field(default=8, ge=1)
    """How many of each kind a model judge sees in a calibration."""
    quality: QualityConfig = QualityConfig()
    selection: SelectionConfig = SelectionConfig()

    @property
    def model_names(self) -> tuple[str, ...]:
        """The models that are named here."""
        return (*self.judges, *((self.escalation,) if self.escalation else ()))

    @model_validator(mode="after")
    def _models_only(self) -> Self:
        if "teacher" in self.model_names:
            raise ValueError(
                "the teacher judges by the rules alone, which always take part: name models in judges and escalation"
            )
        return self
