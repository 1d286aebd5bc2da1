"""Commands on models: cache, prompts, a local endpoint."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pipeline.cli.options import ConfigOption, JsonOption, flag_config

cache_app = typer.Typer(help="The cache of answers that runs share.", no_args_is_help=True)
prompts_app = typer.Typer(help="The prompts that models get.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    app.add_typer(cache_app, name="cache")
    app.add_typer(prompts_app, name="prompts")
    app.command("local-model")(local_model)


@cache_app.command("stats")
def cache_stats(config: ConfigOption = None, json: JsonOption = False) -> None:
    """What the cache holds."""
    import json as json_module
    from dataclasses import asdict

    from pipeline.models import AnswerCache

    folder = Path(flag_config(config, {}).cache.dir)
    if not folder.exists():
        typer.echo("{}" if json else f"There is no cache in {folder} yet.")
        return
    cache = AnswerCache(folder)
    stats = asdict(cache.stats())
    cache.close()
    typer.echo(
        json_module.dumps(stats) if json else "\n".join(f"{key:<8} {value}" for key, value in stats.items())
    )


@cache_app.command("prune")
def cache_prune(
    max_bytes: Annotated[int | None, typer.Option(help="Keep so much. [default: cache.max_bytes]")] = None,
    older_than: Annotated[float | None, typer.Option(help="Remove what rested for so many days.")] = None,
    model: Annotated[str, typer.Option(help="Remove all answers of this model.")] = "",
    config: ConfigOption = None,
) -> None:
    """Removes answers, the longest-rested first."""
    from pipeline.models import AnswerCache
    from pipeline.records.errors import ConfigError

    settings = flag_config(config, {}).cache
    if not Path(settings.dir).exists():
        raise ConfigError(f"There is no cache in {settings.dir}.")
    cache = AnswerCache(Path(settings.dir))
    given = max_bytes is not None or older_than is not None or bool(model)
    gone = cache.prune(
        max_bytes=max_bytes if given else settings.max_bytes,
        older_than=older_than * 86_400 if older_than is not None else None,
        model=model,
    )
    cache.close()
    typer.echo(f"{gone} answers removed")


@prompts_app.command("list")
def prompts_list() -> None:
    """All prompts with hash, output and inputs."""
    from pipeline.models import shipped

    for name in shipped().names():
        prompt = shipped().get(name)
        typer.echo(f"{prompt.version:<44} → {prompt.output:<12} {', '.join(prompt.inputs)}")


@prompts_app.command("show")
def prompts_show(name: Annotated[str, typer.Argument(help="E.g. user/turn.")]) -> None:
    """The file of a prompt."""
    from pipeline.models import shipped

    typer.echo(shipped().get(name).source)


@prompts_app.command("render")
def prompts_render(
    name: Annotated[str, typer.Argument(help="E.g. user/turn.")],
    inputs: Annotated[str, typer.Argument(help="Inputs as a JSON object.")],
) -> None:
    """The messages a prompt becomes."""
    import json as json_module

    from pipeline.models import shipped
    from pipeline.records.errors import ConfigError

    try:
        values = json_module.loads(inputs)
    except ValueError as error:
        raise ConfigError(f"The inputs are no JSON: {error}.") from error
    for message in shipped().get(name).render(**values):
        typer.echo(f"--- {message.role}\n{message.content}")


def local_model(
    gguf: Annotated[Path, typer.Option("--gguf", help="The model file.")],
    port: Annotated[int, typer.Option(help="Port on loopback.")] = 8080,
    context: Annotated[int, typer.Option(help="Tokens of context per slot.")] = 4096,
    parallel: Annotated[int, typer.Option(help="Slots.")] = 2,
) -> None:
    """Serves a GGUF file as an OpenAI-compatible endpoint on loopback (extra `local`)."""
    from pipeline.models.local import serve

    serve(gguf, port, context=context, parallel=parallel, ready=lambda url: typer.echo(f"{gguf.stem}@{url}"))
