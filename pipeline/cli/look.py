"""Commands that look: sql, show, replay, stats, catalog."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from pipeline.cli.options import DataOption, JsonOption, data_dir


def register(app: typer.Typer) -> None:
    for command in (sql, show, replay, stats, catalog):
        app.command()(command)


def sql(
    query: Annotated[str, typer.Argument(help="A query over the views (docs/queries.md).")],
    format: Annotated[str, typer.Option("--format", "-f", help="table, csv, json or parquet.")] = "table",
    data: DataOption = None,
) -> None:
    """Read-only SQL over all runs, also while runs write."""
    from pipeline.records.errors import ConfigError
    from pipeline.store import Catalog

    if format not in ("table", "csv", "json", "parquet"):
        raise ConfigError(f"--format {format} is none of table, csv, json, parquet.")
    if format == "parquet" and sys.stdout.isatty():
        raise ConfigError("Parquet is binary.", way_out="Redirect it: … --format parquet > file.parquet")
    catalog = Catalog(data_dir(data))
    catalog.query(query).write(format, sys.stdout.buffer)  # type: ignore[arg-type]
    sys.stdout.flush()
    if left_out := catalog.left_out():
        typer.echo(left_out, err=True)


def show(
    id: Annotated[
        str, typer.Argument(help="Id of a trajectory, task, world, tool or rewrite; a unique beginning does.")
    ],
    state: Annotated[bool, typer.Option("--state", help="Also what each call changed.")] = False,
    json: JsonOption = False,
    data: DataOption = None,
) -> None:
    """A record, readable."""
    from pipeline.report.show import show_record

    typer.echo(show_record(data_dir(data), id, state=state, as_json=json))


def replay(
    id: Annotated[str, typer.Argument(help="Id of a trajectory.")],
    live: Annotated[
        bool, typer.Option("--live", help="Ask real MCP servers again, not the recording of their answers.")
    ] = False,
    data: DataOption = None,
) -> None:
    """Re-executes a trajectory's calls and names the first difference."""
    import asyncio

    from pipeline.stages.replay import replay_trajectory

    outcome = asyncio.run(replay_trajectory(data_dir(data), id, live=live))
    typer.echo(outcome.text)
    if not outcome.same:
        raise typer.Exit(1)


def stats(
    run: Annotated[str | None, typer.Argument(help="Name of a run; without it all runs.")] = None,
    json: JsonOption = False,
    data: DataOption = None,
) -> None:
    """The funnel and the measures."""
    import json as json_module

    from pipeline.report.stats import collect, text
    from pipeline.store import Catalog

    figures = collect(data_dir(data), run)
    typer.echo(json_module.dumps(figures, indent=2) if json else text(figures))
    if run is None and (left_out := Catalog(data_dir(data)).left_out()):
        typer.echo(left_out, err=True)


def catalog(data: DataOption = None) -> None:
    """Rebuilds data/catalog.duckdb, the views for any DuckDB client."""
    from pipeline.store import Catalog

    typer.echo(Catalog(data_dir(data)).rebuild())
