"""Commands on worlds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pipeline.cli.options import DataOption, data_dir

if TYPE_CHECKING:
    from pipeline.records import World

world_app = typer.Typer(help="Admit, print or serve a world.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    app.add_typer(world_app, name="world")


@world_app.command()
def check(paths: Annotated[list[Path], typer.Argument(help="World files.")]) -> None:
    """Admits world files, or says what is wrong with them."""
    from pipeline.worlds.check import check_files

    if check_files(paths):
        raise typer.Exit(1)


@world_app.command("show")
def show_world(
    world: Annotated[str, typer.Argument(help="Path of a world file, or the id of a world in a run.")],
    data: DataOption = None,
) -> None:
    """Prints a world: policy, tables, tools, errors."""
    from pipeline.report.show import world_text

    typer.echo(world_text(find_world(world, data)))


def find_world(name: str, data: Path | None) -> World:
    """A world by file or by id (or name) in any run. Raises WorldError when there is none."""
    from pipeline.records import World, WorldError
    from pipeline.store import Catalog
    from pipeline.worlds.load import load_world

    if Path(name).exists():
        return load_world(Path(name))
    safe = name.replace("'", "''")
    rows = (
        Catalog(data_dir(data))
        .query(f"select record from worlds where id = '{safe}' or name = '{safe}' limit 1")
        .rows()
    )
    if not rows:
        raise WorldError(
            f"There is no world {name!r}, neither as a file nor in a run.",
            way_out='`tracemill sql "select id, name from worlds"` lists them.',
        )
    return World.model_validate_json(rows[0][0])
