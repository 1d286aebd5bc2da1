"""The command that serves schedules."""

from __future__ import annotations

from typing import Annotated

import typer

from pipeline.cli.options import ConfigOption, DataOption


def register(app: typer.Typer) -> None:
    app.command()(serve)


def serve(
    cron: Annotated[
        list[str] | None, typer.Option(help='FLOW=CRON, e.g. "trajectories=0 3 * * *"; several times.')
    ] = None,
    config: ConfigOption = None,
    count: Annotated[int | None, typer.Option(help="How many tasks each run makes.")] = None,
    timezone: Annotated[str, typer.Option(help="Of the cron expressions.")] = "UTC",
    paused: Annotated[
        bool, typer.Option("--paused", help="Register the schedules, but let them rest.")
    ] = False,
    on_failure: Annotated[
        str | None,
        typer.Option(help="Command that gets a JSON object on its input when a run fails or pauses."),
    ] = None,
    keep_days: Annotated[int, typer.Option(min=0, help="Remove older records of Prefect; 0 keeps all.")] = 30,
    data: DataOption = None,
) -> None:
    """Registers the flows as Prefect deployments and starts their runs when they are due."""
    from flows.deploy import deployments, serve_all
    from pipeline.config import load_config
    from pipeline.records.errors import ConfigError
    from pipeline.stages.inputs import check_inputs

    crons = {}
    for pair in cron or []:
        flow, separator, expression = pair.partition("=")
        if not separator or not expression.strip():
            raise ConfigError(
                f"--cron {pair} is not of the form FLOW=CRON.", way_out='E.g. --cron "trajectories=0 3 * * *"'
            )
        crons[flow.strip()] = expression.strip()
    loaded = load_config(config, {"data": str(data) if data else None})
    for product in crons:
        check_inputs(product, loaded)
    parameters = {
        "config": str(config.resolve()) if config else None,
        "count": count,
        "data": str(loaded.data.resolve()),
        "on_failure": on_failure,
        "keep_days": keep_days,
    }
    made = deployments(crons, parameters, timezone=timezone, paused=paused)
    for one in made:
        typer.echo(f"{one.name:<14} {crons.get(one.name, 'when asked for')}", err=True)
    serve_all(made)
