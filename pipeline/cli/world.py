"""Commands on worlds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pipeline.cli.options import DataOption, data_dir

if TYPE_CHECKING:
    from pipeline.records import World

world_app = typer.Typer(help="Admit, print or serve a world.", no_args_is_help=True)
mcp_app = typer.Typer(help="Real MCP servers.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    app.add_typer(world_app, name="world")
    app.add_typer(mcp_app, name="mcp")


@world_app.command()
def check(paths: Annotated[list[Path], typer.Argument(help="World files or folders of them.")]) -> None:
    """Admits world files, or says what is wrong with them."""
    from pipeline.worlds.check import check_files

    if check_files([file for path in paths for file in _world_files(path)]):
        raise typer.Exit(1)


def _world_files(path: Path) -> list[Path]:
    from pipeline.records.errors import InputError

    if not path.exists():
        raise InputError(f"There is no world file {path}.", way_out="Give a file or a folder of .yaml files.")
    found = sorted(path.glob("*.yaml")) if path.is_dir() else [path]
    if not found:
        raise InputError(f"The folder {path} holds no world file (*.yaml).")
    return found


@world_app.command("show")
def show_world(
    world: Annotated[str, typer.Argument(help="Path of a world file, or the id of a world in a run.")],
    data: DataOption = None,
) -> None:
    """Prints a world: policy, tables, tools, errors."""
    from pipeline.report.show import world_text

    typer.echo(world_text(find_world(world, data)))


@world_app.command()
def serve(
    world: Annotated[str, typer.Argument(help="Path of a world file, or the id of a world in a run.")],
    http: Annotated[str | None, typer.Option(help="HOST:PORT for streamable HTTP. [default: stdio]")] = None,
    data: DataOption = None,
) -> None:
    """Serves a world as a real MCP server, so that any agent can be tried in it."""
    import asyncio

    from pipeline.records.errors import ConfigError
    from pipeline.worlds.serve import serve_world

    address = None
    if http is not None:
        host, _, port = http.rpartition(":")
        if not port.isdigit():
            raise ConfigError(f"--http {http} is not HOST:PORT.", way_out="E.g. --http 127.0.0.1:8808")
        address = (host or "127.0.0.1", int(port))
    asyncio.run(
        serve_world(find_world(world, data), http=address, on_ready=lambda url: typer.echo(url, err=True))
    )


@mcp_app.command("list")
def mcp_list(
    file: Annotated[Path, typer.Argument(help="One package name a line.")],
    source: Annotated[str, typer.Option("--from", help="pypi or npm.")],
) -> None:
    """Turns a list of package names into launch entries with pinned versions, in the mcpServers form."""
    import asyncio
    import json

    from pipeline.records.errors import ConfigError
    from pipeline.tools.package_lists import list_packages

    if source not in ("pypi", "npm"):
        raise ConfigError(f"--from {source} is neither pypi nor npm.")
    found = asyncio.run(list_packages(file, source))  # type: ignore[arg-type]
    typer.echo(json.dumps(found.document(), indent=2))
    for failure in found.failures:
        typer.echo(f"{failure.server}: {failure.message}", err=True)


def find_world(name: str, data: Path | None) -> World:
    """A world by file or by id (or name) in any run. Raises WorldError when there is none."""
    from pipeline.records import World, WorldError
    from pipeline.store import Catalog
    from pipeline.worlds.load import load_world

    if Path(name).is_file():
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
            way_out='`tracemill sql "select id, name from worlds"` lists those of runs; a file is given by its path.',
        )
    return World.model_validate_json(rows[0][0])
