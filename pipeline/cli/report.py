"""The command that writes the HTML report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pipeline.cli.options import DataOption, data_dir


def register(app: typer.Typer) -> None:
    app.command()(report)


def report(
    run: Annotated[str, typer.Argument(help="Name of a run.")],
    out: Annotated[Path, typer.Option("--out", help="HTML file to write.")] = Path("report.html"),
    limit: Annotated[
        int, typer.Option(min=1, help="How many trajectories and rewritings can be browsed.")
    ] = 10_000,
    audit_share: Annotated[
        float, typer.Option(min=0, max=1, help="Share of the rewritings on the audit page.")
    ] = 0.05,
    seed: Annotated[int, typer.Option(help="Draw of the audit sample.")] = 0,
    data: DataOption = None,
) -> None:
    """Writes the HTML report: one file with figures, browser, rewritings and audit; no network needed."""
    from pipeline.report.page import write_report

    size = write_report(data_dir(data), run, out, limit=limit, share=audit_share, seed=seed)
    typer.echo(f"{out}: {size / 1e6:.1f} MB; open it in any browser")
