"""Commands that publish: export."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pipeline.cli.options import ConfigOption, DataOption, flag_config


def register(app: typer.Typer) -> None:
    app.command()(export)


def export(
    runs: Annotated[list[str], typer.Argument(help="Names of runs.")],
    out: Annotated[Path, typer.Option("--out", help="Folder to write; must not exist.")],
    format: Annotated[
        str, typer.Option("--format", "-f", help="chat, sharegpt, preference, text or adp.")
    ] = "chat",
    against: Annotated[
        list[Path] | None, typer.Option(help="Benchmark files to keep out (jsonl, parquet, text).")
    ] = None,
    seed: Annotated[int, typer.Option(help="Order of rows.")] = 0,
    config: ConfigOption = None,
    data: DataOption = None,
) -> None:
    """Writes a dataset folder with card and splits, verified row by row."""
    from pipeline.store import RunFolder
    from pipeline.store.export import export as write

    loaded = flag_config(config, {"data": str(data) if data else None})
    folders = [RunFolder.open(loaded.data, name) for name in runs]
    report = write(folders, format, out, settings=loaded.publish, seed=seed, against=against or ())  # type: ignore[arg-type]
    typer.echo(f"{out}: {report}")
