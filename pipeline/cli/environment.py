"""Commands on the fidelity of played tools: against SQL worlds, and against the real servers."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from pipeline.cli.options import DataOption, JsonOption, data_dir
from pipeline.cli.rephrase import fidelity_app

RunArgument = Annotated[str, typer.Argument(help="Name of a run.")]


def register(app: typer.Typer) -> None:
    fidelity_app.command("environment")(environment)
    fidelity_app.command("replay")(replay)


def environment(
    run: RunArgument,
    calls: Annotated[
        int,
        typer.Option(
            min=1, help="Calls to compare, spread over the run's SQL worlds; and as many of live servers."
        ),
    ] = 200,
    model: Annotated[
        str | None, typer.Option(help="Who plays the tools: NAME or NAME@BASE_URL. [default: the run's]")
    ] = None,
    json_output: JsonOption = False,
    data: DataOption = None,
) -> None:
    """The same calls through a simulator and through the truth: SQL worlds by changed rows, recorded calls of live servers."""
    import asyncio

    from pipeline.stages.environment import compare_run, summary
    from pipeline.stages.stored import open_run

    context = open_run(data_dir(data), run)
    if model is not None:
        roles = {**context.config.roles, "simulator": model}
        context.config = type(context.config).model_validate({**context.config.model_dump(), "roles": roles})
    _print(summary(asyncio.run(compare_run(context, calls))), json_output)


def replay(
    run: RunArgument,
    most: Annotated[int, typer.Option(min=1, help="Recorded calls to make again.")] = 200,
    mcp: Annotated[
        str | None, typer.Option(help="Servers in the mcpServers form. [default: the run's]")
    ] = None,
    json_output: JsonOption = False,
    data: DataOption = None,
) -> None:
    """Recorded calls of live and simulated trajectories on the real servers now: the share answered alike, by tool."""
    import asyncio

    from pipeline.stages.environment import replay_run, summary
    from pipeline.stages.stored import open_run

    context = open_run(data_dir(data), run)
    if mcp is not None:
        values = context.config.model_dump()
        values["tools"]["ingest"]["servers"] = mcp
        context.config = type(context.config).model_validate(values)
    _print(summary(asyncio.run(replay_run(context, most))), json_output)


def _print(figures: dict[str, Any], as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(figures))
        return
    for name, one in figures.items():
        share = "-" if one["share"] is None else f"{one['share']:.4f}"
        low, high = one["ci95"] or (0.0, 1.0)
        parts = ", ".join(
            f"{part.removeprefix('same_').removeprefix('fits_')} {one[part]:.3f}"
            for part in ("same_outcome", "fits_schema", "same_values", "same_state")
            if one[part] is not None
        )
        typer.echo(f"{name:<40} {share}  95 % [{low:.3f}, {high:.3f}]  of {one['n']}  ({parts})")
