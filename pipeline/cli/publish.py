"""Commands that publish and tidy: export, diff, merge, gc."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from pipeline.cli.options import ConfigOption, DataOption, ManyValues, flag_config


def register(app: typer.Typer) -> None:
    for command in (export, diff, merge, gc):
        app.command(cls=ManyValues if command is export else None)(command)


def export(
    runs: Annotated[list[str], typer.Argument(help="Names of runs.")],
    out: Annotated[Path, typer.Option("--out", help="Folder to write; must not exist.")],
    format: Annotated[
        str, typer.Option("--format", "-f", help="chat, sharegpt, preference, text or adp.")
    ] = "chat",
    against: Annotated[
        list[Path] | None,
        typer.Option(help="Benchmark files or folders to keep out (jsonl, json, parquet, text); several."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Order of rows.")] = 0,
    push: Annotated[
        str | None, typer.Option(help="Also upload the folder to this hub repository, OWNER/NAME.")
    ] = None,
    config: ConfigOption = None,
    data: DataOption = None,
) -> None:
    """Writes a dataset folder with card and splits, verified row by row."""
    from pipeline.records.errors import ConfigError
    from pipeline.stages.calibration import refuse_unsure
    from pipeline.stages.context import Context
    from pipeline.store import RunFolder
    from pipeline.store.export import export as write

    if push is not None and not re.fullmatch(r"[\w.-]+/[\w.-]+", push):
        raise ConfigError(f"--push {push} is not of the form OWNER/NAME.")
    loaded = flag_config(config, {"data": str(data) if data else None})
    folders = [RunFolder.open(loaded.data, name) for name in runs]
    for folder in folders:
        refuse_unsure(folder, Context.open(folder.path).config.judging)
        refuse_unsure(folder, loaded.judging)
    report = write(folders, format, out, settings=loaded.publish, seed=seed, against=against or ())  # type: ignore[arg-type]
    typer.echo(f"{out}: {', '.join(f'{count} {split}' for split, count in report.rows.items())}")
    for reason, count in sorted(report.dropped.items()):
        typer.echo(f"  {count} dropped: {reason}")
    if push is not None:
        from pipeline.store.export.push import push as upload

        typer.echo(upload(out, push))


def diff(
    before: Annotated[str, typer.Argument(help="A run.")],
    after: Annotated[str, typer.Argument(help="Another run.")],
    data: DataOption = None,
) -> None:
    """What changed between two runs: settings, prompts, pass rates, distributions."""
    from pipeline.cli.options import data_dir
    from pipeline.store import RunFolder
    from pipeline.store.diff import diff as compare

    folder = data_dir(data)
    typer.echo(compare(RunFolder.open(folder, before), RunFolder.open(folder, after)).text())


def merge(
    runs: Annotated[list[str], typer.Argument(help="Names of runs, the first has precedence.")],
    run: Annotated[str | None, typer.Option("--run", help="Name of the merged run.")] = None,
    near_duplicate: Annotated[
        float, typer.Option(help="Similarity from which an attempt counts as a copy.")
    ] = 0.9,
    data: DataOption = None,
) -> None:
    """A new run from several, without near-duplicates."""
    from pipeline import __version__
    from pipeline.cli.options import data_dir
    from pipeline.store import RunFolder
    from pipeline.store.merge import merge as join

    folder = data_dir(data)
    merged = join(
        [RunFolder.open(folder, one) for one in runs],
        folder,
        run,
        near_duplicate=near_duplicate,
        version=__version__,
    )
    typer.echo(f"{merged.run.name}: {sum(merged.kept.values())} attempts")
    for name, count in merged.kept.items():
        typer.echo(f"  {count} of {name}")
        for reason, lost in merged.dropped.get(name, {}).items():
            typer.echo(f"    {lost} dropped: {reason}")


def gc(
    yes: Annotated[bool, typer.Option("--yes", help="Remove what was listed.")] = False,
    data: DataOption = None,
) -> None:
    """Lists what nothing refers to; removes it only with --yes."""
    from pipeline.cli.options import data_dir
    from pipeline.store.garbage import garbage, remove

    found = garbage(data_dir(data))
    for one in found:
        typer.echo(f"{one.bytes:>12}  {one.path}  ({one.why})")
    if not found:
        typer.echo("Nothing to remove.")
    elif yes:
        typer.echo(f"{remove(found)} bytes removed")
    else:
        typer.echo("Nothing was removed; --yes removes these.")
