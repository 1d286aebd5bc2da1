"""Registers the products as Prefect deployments and serves them from this process."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import flows.settings  # noqa: F401  # isort: skip  (before Prefect)
from prefect import serve
from prefect.client.schemas.objects import ConcurrencyLimitConfig, ConcurrencyLimitStrategy
from prefect.deployments.runner import RunnerDeployment
from prefect.schedules import Cron
from prefect.settings import get_current_settings
from prefect.types.entrypoint import EntrypointType

from flows.scheduled import scheduled
from pipeline.records import ConfigError
from pipeline.stages.units import FLOWS

ONE_AT_A_TIME = ConcurrencyLimitConfig(limit=1, collision_strategy=ConcurrencyLimitStrategy.ENQUEUE)
"""A run that is due while another of its product works waits; two never write at once."""


def deployments(
    crons: Mapping[str, str], parameters: Mapping[str, Any], *, timezone: str = "UTC", paused: bool = False
) -> list[RunnerDeployment]:
    """One deployment a product; those without a cron expression start when somebody asks for them.

    Raises ConfigError for an unknown product and a cron expression that does not parse.
    """
    if unknown := crons.keys() - FLOWS.keys():
        raise ConfigError(f"There is no flow {min(unknown)!r}.", way_out=f"Flows: {', '.join(FLOWS)}.")
    made = []
    for product in FLOWS:
        try:
            schedule = (
                Cron(crons[product], timezone=timezone, active=not paused) if product in crons else None
            )
            deployment = scheduled.to_deployment(
                product,
                schedules=[schedule] if schedule else None,
                parameters={**parameters, "product": product},
                concurrency_limit=ONE_AT_A_TIME,
                paused=paused,
                tags=["tracemill"],
                entrypoint_type=EntrypointType.MODULE_PATH,
            )
            made.append(cast(RunnerDeployment, deployment))  # a coroutine only where an event loop runs
        except ValueError as error:
            raise ConfigError(
                f"{crons.get(product)!r} is no schedule for {product}: {error}",
                way_out='A cron expression has five fields: "0 3 * * *" is every night at three.',
            ) from error
    return made


def serve_all(made: list[RunnerDeployment]) -> None:
    """Registers and serves until it is interrupted. Raises ConfigError when no Prefect server is named.

    The temporary server that single runs use knows no schedules, and its records end with it.
    """
    if not get_current_settings().api.url:
        raise ConfigError(
            "Schedules need a Prefect server that stays, and PREFECT_API_URL names none.",
            way_out="Start one: prefect server start; then: PREFECT_API_URL=http://127.0.0.1:4200/api tracemill serve",
        )
    serve(*made, pause_on_shutdown=False)
