"""Commands on judging: again, calibrated, compared, and held against people's labels."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from pipeline.cli.options import DataOption, JsonOption, data_dir


class RunByDefault(TyperGroup):
    """`judge RUN` is `judge again RUN`."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args and args[0] not in self.commands and not args[0].startswith("-"):
            args = ["again", *args]
        return super().resolve_command(ctx, args)


judge_app = typer.Typer(
    cls=RunByDefault, help="Judge a run again; measure, compare and check judges.", no_args_is_help=True
)
RunArgument = Annotated[str, typer.Argument(help="Name of a run.")]
WithOption = Annotated[
    Path | None, typer.Option("--with", help="Sections that replace those of the run (YAML).")
]


def register(app: typer.Typer) -> None:
    app.add_typer(judge_app, name="judge")


@judge_app.command()
def again(run: RunArgument, changes: WithOption = None, data: DataOption = None) -> None:
    """Judges all trajectories anew, without re-running them; the new verdicts lie beside the old ones. `tracemill judge
    RUN` says the same."""
    import asyncio

    from pipeline.stages.judging import judge_again, judge_diff
    from pipeline.stages.stored import open_run

    folder = data_dir(data)
    number = asyncio.run(judge_again(open_run(folder, run, changes)))
    found = judge_diff(folder, f"{run}@0", f"{run}@{number}").to_json()
    moves = ", ".join(f"{count} {move}" for move, count in found["moves"].items())
    since = f"since the run's own judging: {moves}" if moves else "as the run's own judging says"
    typer.echo(f"judged again as {run}@{number}: {found['common']} trajectories; {since}")


@judge_app.command()
def calibrate(
    run: RunArgument,
    per_kind: Annotated[int | None, typer.Option(help="Flawed trajectories of one kind, at most.")] = None,
    seed: Annotated[int | None, typer.Option(help="Draw of the flaws. [default: the run's]")] = None,
    changes: WithOption = None,
    json_output: JsonOption = False,
    data: DataOption = None,
) -> None:
    """Plants known flaws into good trajectories and measures what each judge misses and falsely reports."""
    import asyncio

    from pipeline.stages.calibration import calibrate_run
    from pipeline.stages.stored import open_run

    context = open_run(data_dir(data), run, changes)
    figures = asyncio.run(calibrate_run(context, seed=seed, per_kind=per_kind)).to_json()
    if json_output:
        typer.echo(json.dumps(figures))
        return
    typer.echo(
        f"{figures['n_flawed']} flawed, {figures['n_clean']} clean: misses {_percent(figures['misses'])}, "
        f"false alarms {_percent(figures['false_alarms'])}"
    )
    if figures["not_told_again"]:
        typer.echo(f"  {figures['not_told_again']} good ones could not be told again alike and were left out")
    for kind, one in figures["by_kind"].items():
        typer.echo(f"  {kind:<24} missed {one['misses']['count']} of {one['n']}")
    for name, one in figures["by_judge"].items():
        shares = [_percent(one[what]["share"]) for what in ("misses", "false_alarms", "abstentions")]
        typer.echo(f"  judge {name:<18} misses {shares[0]}, false alarms {shares[1]}, abstains {shares[2]}")


def _percent(share: float | None) -> str:
    return "not measured" if share is None else f"{share:.1%}"


@judge_app.command()
def diff(
    a: Annotated[str, typer.Argument(help="RUN or RUN@ROUND.")],
    b: Annotated[str, typer.Argument(help="RUN or RUN@ROUND.")],
    json_output: JsonOption = False,
    data: DataOption = None,
) -> None:
    """Where two judgings differ."""
    from pipeline.stages.judging import judge_diff

    figures = judge_diff(data_dir(data), a, b).to_json()
    if json_output:
        typer.echo(json.dumps(figures))
        return
    typer.echo(f"{figures['common']} in common, {_agreement(figures)}")
    for move, count in figures["moves"].items():
        typer.echo(f"  {count:>6}  {move}")
    for check, count in figures["checks"].items():
        typer.echo(f"  {count:>6}  {check}")


def _agreement(figures: dict[str, Any]) -> str:
    kappa = "-" if figures["kappa"] is None else f"{figures['kappa']:.3f}"
    return f"agreement {_percent(figures['agreement']['share'])}, kappa {kappa}"


@judge_app.command("export")
def export_sample(
    run: RunArgument,
    file: Annotated[
        Path, typer.Argument(help="File to write: a sheet (.csv), or a page to click through (.html).")
    ],
    count: Annotated[int, typer.Option(help="Verdicts to label.")] = 100,
    seed: Annotated[int, typer.Option(help="Draw of the sample.")] = 0,
    data: DataOption = None,
) -> None:
    """A stratified sample of verdicts for people to label."""
    from pipeline.records.errors import ConfigError
    from pipeline.stages.labels import export_labels
    from pipeline.stages.stored import open_run

    if file.exists():
        raise ConfigError(f"{file} exists.", way_out="Give a new file name; labels are never overwritten.")
    html = file.suffix.lower() == ".html"
    text = export_labels(open_run(data_dir(data), run), count, seed, html=html)
    file.write_text(text, encoding="utf-8")
    todo = "open it, label, save labels.csv" if html else "fill the column `label`"
    labels = "labels.csv" if html else str(file)
    typer.echo(f"{file}: {todo}, then: tracemill judge import {run} {labels}")


@judge_app.command("import")
def import_sample(
    run: RunArgument,
    file: Annotated[Path, typer.Argument(help="The labelled sheet.")],
    json_output: JsonOption = False,
    data: DataOption = None,
) -> None:
    """Agreement and kappa of people and judges, per kind of check."""
    from pipeline.records.errors import InputError
    from pipeline.stages.labels import import_labels
    from pipeline.stages.stored import open_run

    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{file} cannot be read as UTF-8 text: {error}.") from error
    figures = import_labels(open_run(data_dir(data), run), text)
    if json_output:
        typer.echo(json.dumps(figures))
        return
    typer.echo(f"{figures['n']} labels ({figures['unlabelled']} missing): {_agreement(figures)}")
    for kind, one in figures["by_kind"].items():
        typer.echo(f"  {kind:<10} {one['n']:>5} labels, {_agreement(one)}")
    for one in figures["disputed"]:
        typer.echo(f"  {one['trajectory']}  {one['check']}: people say {one['human']}, judges {one['judge']}")
