"""Commands on rephrasing: the fidelity benchmark and the human audit."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from pipeline.cli.options import DataOption, JsonOption, data_dir

fidelity_app = typer.Typer(help="How good the fidelity checker is.", no_args_is_help=True)
audit_app = typer.Typer(help="Rewritings for people to judge.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    app.add_typer(fidelity_app, name="fidelity")
    app.add_typer(audit_app, name="audit")


@fidelity_app.command("bench")
def bench(
    file: Annotated[
        Path, typer.Argument(help='JSON Lines: {"id", "document", "claim", "faithful"}; .gz is fine.')
    ],
    threshold_from: Annotated[
        Path | None, typer.Option(help="Labelled file to take the fixed threshold from.")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Balanced accuracy, AUC and the floors, for a fixed threshold and one calibrated on the unlabelled batch."""
    import json as json_module

    from pipeline.rephrase.fidelity.bench import bench as measure

    figures = measure(file, threshold_from=threshold_from)
    if json:
        typer.echo(json_module.dumps(figures))
        return
    for name in ("fixed", "calibrated"):
        low, high = figures[name]["ci95"]
        typer.echo(
            f"{name:<11} balanced accuracy {figures[name]['balanced_accuracy']:.4f}  95 % [{low:.4f}, {high:.4f}]"
        )
    typer.echo(f"auc         {figures['auc']:.4f}")
    typer.echo(f"floors      {', '.join(f'{name} {value:.4f}' for name, value in figures['floors'].items())}")
    typer.echo(f"{figures['n']} rows in {figures['seconds']} s")


@audit_app.command("export")
def audit_export(
    run: Annotated[str, typer.Argument(help="A run with rewritings.")],
    file: Annotated[Path, typer.Argument(help="JSON Lines file to write.")],
    share: Annotated[
        float | None,
        typer.Option(
            min=0, max=1, help="Share of the rewritings; without it rephrase.audit_share of the run."
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Draw of the sample.")] = 0,
    data: DataOption = None,
) -> None:
    """Draws a seeded, stratified sample; fill in `answer` (accept or reject) and `error`."""
    import yaml

    from pipeline.config import parse_config
    from pipeline.rephrase.audit import export_audit
    from pipeline.store import RunFolder

    folder = RunFolder.open(data_dir(data), run)
    if share is None:
        values = yaml.safe_load(folder.config_yaml)
        share = parse_config(values, where=f"{run}/config.yaml").rephrase.audit_share
    count = export_audit(list(folder.rows("rewrites")), folder.rows("findings"), file, share=share, seed=seed)
    typer.echo(f"{file}: {count} rewritings")


@audit_app.command("import")
def audit_import(
    file: Annotated[Path, typer.Argument(help="The answered file.")],
    json: JsonOption = False,
) -> None:
    """What the answers say of the checker: misses and false alarms with intervals, per style."""
    import json as json_module

    from pipeline.rephrase.audit import import_audit, measure

    rows = import_audit(file)
    figures = measure(rows)
    if json:
        typer.echo(json_module.dumps(figures, indent=2))
        return
    typer.echo(f"{len(rows)} answers")
    for style, one in {"all": figures, **figures["by_style"]}.items():
        shares = _told(one["misses"]), _told(one["false_alarms"])
        typer.echo(f"{style:<20} misses {shares[0]:<26} false alarms {shares[1]}")


def _told(share: dict[str, Any] | None) -> str:
    """`27 % of 11 (10–57 %)`, or that there is nothing to tell."""
    if share is None:
        return "none seen"
    low, high = share["ci95"]
    return f"{share['share']:.0%} of {share['n']} ({low:.0%} … {high:.0%})"
