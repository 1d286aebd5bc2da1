"""Commands on containers: build images, run one file, admit code tasks, clean up."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pipeline.cli.options import ConfigOption, flag_config

if TYPE_CHECKING:
    from pipeline.config.sandbox import SandboxSection
    from pipeline.sandbox import ExecResult

sandbox_app = typer.Typer(
    help="Images, one file in a container, code tasks, leftovers.", no_args_is_help=True
)


def register(app: typer.Typer) -> None:
    app.add_typer(sandbox_app, name="sandbox")


def _limits(config: Path | None) -> SandboxSection:
    return flag_config(config, {}).sandbox


@sandbox_app.command()
def build(
    name: Annotated[str, typer.Argument(help="A recipe of sandboxes/, or the folder of one.")] = "python",
    config: ConfigOption = None,
) -> None:
    """Makes an image on every engine: pulled where a registry answers, else bootstrapped; kept for the next time."""
    from pipeline.sandbox import Engine, build_image

    limits = _limits(config)

    async def everywhere() -> None:
        for host in limits.hosts or ("",):
            async with Engine(host) as engine:
                image = await build_image(engine, name, cache=limits.cache)
                typer.echo(f"{image.name} {image.digest} ({image.how})")

    asyncio.run(everywhere())


@sandbox_app.command("run")
def run_file(
    file: Annotated[Path, typer.Argument(help="A Python file, a shell script or anything executable.")],
    arguments: Annotated[list[str] | None, typer.Argument(help="Its arguments.")] = None,
    timeout: Annotated[float, typer.Option(help="Seconds.", min=0.1, max=86_400)] = 60.0,
    image: Annotated[str, typer.Option(help="Recipe of the image.")] = "python",
    config: ConfigOption = None,
) -> None:
    """Runs one file in a fresh container; its output and exit code are the command's."""
    from pipeline.records.errors import InputError
    from pipeline.sandbox import File, GuestError, Pool

    if not file.is_file():
        raise InputError(f"There is no file {file}.")
    interpreter = {".py": ["python3"], ".sh": ["bash"]}.get(file.suffix, [])

    async def once() -> ExecResult:
        limits = _limits(config).model_copy(update={"ahead": 0})
        async with Pool(limits, run="sandbox-run", build=True) as pool, pool.box(image) as box:
            try:
                await box.write({file.name: File(file.read_bytes(), executable=True)})
            except GuestError as error:
                raise InputError(
                    f"{file} cannot be laid into the container: {error}.",
                    way_out="sandbox.file_mb and sandbox.work_mb say how large a file and all files may be.",
                ) from error
            return await box.run([*interpreter, f"./{file.name}", *(arguments or [])], timeout=timeout)

    result = asyncio.run(once())
    typer.echo(result.stdout.text, nl=False)
    typer.echo(result.stderr.text, nl=False, err=True)
    if result.ended and not result.timed_out:
        typer.echo("\nthe file ended its own container, and what it had printed went with it", err=True)
    if result.timed_out:
        typer.echo(f"stopped after {timeout:g} seconds", err=True)
        raise typer.Exit(124)
    if result.oom:
        typer.echo("a process was killed because the memory of the container was used up", err=True)
    code = result.exit_code if result.exit_code is not None else 128 + (result.signal or 9)
    raise typer.Exit(code)


@sandbox_app.command()
def admit(
    path: Annotated[Path, typer.Argument(help="A folder of tasks or a file of rows.")],
    config: ConfigOption = None,
) -> None:
    """Says of each code task whether it proves itself: fails without a solution, passes with the reference."""
    from pipeline.records import Admission, CodeTask
    from pipeline.sandbox import BadTask, Pool, load_tasks
    from pipeline.sandbox import admit as admit_task

    found = list(load_tasks(path))

    async def everything() -> list[Admission | BadTask]:
        async with Pool(_limits(config), run="sandbox-admit", build=True) as pool:

            async def one(task: CodeTask | BadTask) -> Admission | BadTask:
                return task if isinstance(task, BadTask) else await admit_task(pool, task)

            return list(await asyncio.gather(*map(one, found)))

    refused = 0
    for one in asyncio.run(everything()):
        if isinstance(one, BadTask):
            typer.echo(f"{'unusable':<12} {one.where}: {one.message}")
        else:
            typer.echo(f"{one.verdict:<12} {one.task.name}{': ' if one.reason else ''}{one.reason}")
        refused += isinstance(one, BadTask) or not one.admitted
    if refused:
        raise typer.Exit(1)


@sandbox_app.command()
def clean(
    everything: Annotated[
        bool, typer.Option("--all", help="Also containers of runs that are still going on.")
    ] = False,
    config: ConfigOption = None,
) -> None:
    """Removes leftover containers, found by label and by nothing else."""
    from pipeline.sandbox import Engine, sweep

    async def everywhere() -> list[str]:
        removed = []
        for host in _limits(config).hosts or ("",):
            async with Engine(host) as engine:
                removed += await sweep(engine, (lambda labels: True) if everything else None)
        return removed

    names = asyncio.run(everywhere())
    typer.echo("\n".join(names) if names else "nothing left over")
