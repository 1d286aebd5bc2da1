"""Commands that make data: init, validate, run, resume, status, preview, demo, doctor."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pipeline.cli.options import ConfigOption, DataOption, JsonOption, ManyValues, data_dir, flag_config

if TYPE_CHECKING:
    from pipeline.config import Config
    from pipeline.store import RunFolder


AcceptOption = Annotated[
    bool,
    typer.Option(
        "--accept-changes", help="Go on although the code, a prompt or a model has changed since it began."
    ),
]


def register(app: typer.Typer) -> None:
    for command in (init, validate, run, resume, status, preview, demo, doctor):
        app.command(cls=ManyValues if command is run else None)(command)


def init(folder: Annotated[Path, typer.Argument(help="Where to write it.")] = Path(".")) -> None:
    """Writes a commented configuration, tracemill.yaml."""
    from pipeline.config.template import commented
    from pipeline.records.errors import ConfigError

    target = folder / "tracemill.yaml"
    if target.exists():
        raise ConfigError(f"{target} exists already.", way_out="Remove it or name another folder.")
    folder.mkdir(parents=True, exist_ok=True)
    target.write_text(commented(), encoding="utf-8")
    typer.echo(
        f"{target}\nCheck it: tracemill validate {target}\nRun it:   tracemill run all --config {target}"
    )


def validate(config: Annotated[Path, typer.Argument(help="Configuration file.")]) -> None:
    """Checks a configuration without the network."""
    from pipeline.config import load_config
    from pipeline.stages.inputs import check_inputs
    from pipeline.stages.worlds import world_files

    loaded = load_config(config)
    check_inputs("all", loaded)
    files = world_files(loaded)
    typer.echo(f"{config} is fine: {len(files)} world files, roles {_roles(loaded)}.")


def _roles(config: Config) -> str:
    played = {role: name for role, name in config.roles.items() if name != "teacher"}
    return ", ".join(f"{role}={name}" for role, name in played.items()) or "all played by the teacher"


def run(
    flow: Annotated[str, typer.Argument(help="tools, tasks, trajectories, code, rephrase or all.")],
    config: ConfigOption = None,
    run: Annotated[
        str | None, typer.Option("--run", help="Name of the run. [default: a readable unique one]")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Equal seeds give equal data.")] = None,
    count: Annotated[int | None, typer.Option(help="How many tasks to make.")] = None,
    model: Annotated[
        list[str] | None, typer.Option(help="ROLE=NAME or ROLE=NAME@BASE_URL; several times.")
    ] = None,
    max_cost: Annotated[float | None, typer.Option(help="Stop cleanly at this cost.")] = None,
    max_tokens: Annotated[int | None, typer.Option(help="Stop cleanly at so many tokens.")] = None,
    max_errors: Annotated[
        int | None, typer.Option(help="Stop cleanly at so many failed model calls.")
    ] = None,
    deadline: Annotated[
        float | None, typer.Option(help="Pause after so many seconds, between two turns.")
    ] = None,
    resume_paused: Annotated[
        bool, typer.Option(help="Go on with the paused episodes of --run, or of all runs.")
    ] = False,
    accept_changes: AcceptOption = False,
    mcp: Annotated[Path | None, typer.Option(help="tools: servers in the mcpServers form.")] = None,
    mcp_dump: Annotated[
        list[Path] | None, typer.Option(help="tools: saved tools/list answers; several.")
    ] = None,
    evolve: Annotated[int | None, typer.Option(help="tools: how many evolved tools to make.")] = None,
    played: Annotated[
        int | None,
        typer.Option(help="tasks: how many tasks to make on the run's MCP tools, whose calls are played."),
    ] = None,
    tasks: Annotated[list[Path] | None, typer.Option(help="code: task files or folders; several.")] = None,
    input: Annotated[
        list[Path] | None, typer.Option("--input", help="rephrase: files, folders or globs; several.")
    ] = None,
    data: DataOption = None,
) -> None:
    """Runs a flow and everything it needs, as one run."""
    from pipeline.records.errors import SandboxError
    from pipeline.stages.inputs import check_inputs
    from pipeline.store import RunFolder

    if resume_paused:
        limits = {
            "max_cost": max_cost,
            "max_tokens": max_tokens,
            "max_errors": max_errors,
            "deadline": deadline,
        }
        for folder in [RunFolder.open(data_dir(data), run)] if run else _with_paused(data_dir(data)):
            _go_on(folder, limits, accept_changes)
        return
    flags: dict[str, Any] = {
        "seed": seed,
        "tasks.count": count,
        "run.max_cost": max_cost,
        "run.max_tokens": max_tokens,
        "run.max_errors": max_errors,
        "run.deadline": deadline,
        "tools.ingest.servers": str(mcp.resolve()) if mcp else None,
        "tools.ingest.dumps": [str(path.resolve()) for path in mcp_dump] if mcp_dump else None,
        "evolve.tools": evolve,
        "simulated.tasks": played,
        "evolve.mcp": True if mcp or (flow == "tools" and not mcp_dump and evolve is None) else None,
        "code.tasks": [str(path.resolve()) for path in tasks] if tasks else None,
        "rephrase.inputs": [str(path.resolve()) for path in input] if input else None,
        "data": str(data) if data else None,
    }
    loaded = flag_config(config, flags, model)
    if flow == "all" and loaded.code.enabled and (problem := _without_engine()):
        typer.echo(f"code is left out: {problem}", err=True)
        loaded = flag_config(config, {**flags, "code.enabled": False}, model)
    check_inputs(flow, loaded)
    if flow == "code" and (problem := _without_engine()):
        raise SandboxError(f"The flow code needs a Docker engine: {problem}")
    folder = RunFolder.create(loaded.data, run, flow, loaded.seed, loaded.to_yaml(), version=_version())
    _finish(folder)


def _with_paused(data: Path) -> list[RunFolder]:
    """The runs that have paused episodes and that nobody is working on."""
    from pipeline.stages.paused import paused_count
    from pipeline.store import readable

    found = [folder for folder in readable(data) if paused_count(folder) and not folder.holder()]
    if not found:
        typer.echo("no run has paused episodes", err=True)
    return found


def _go_on(
    folder: RunFolder, limits: dict[str, float | int | None], accept_changes: bool, as_json: bool = False
) -> None:
    """What was begun is finished, paused episodes too."""
    from pipeline.stages.context import raise_limits

    given: dict[str, float | int] = {name: value for name, value in limits.items() if value is not None}
    raise_limits(folder, {**given, "resume_paused": True, "accept_changes": accept_changes})
    _finish(folder, as_json)


def _without_engine() -> str | None:
    from pipeline.sandbox import engine_problem

    return engine_problem()


def _version() -> str:
    from pipeline import __version__

    return __version__


def _finish(folder: RunFolder, as_json: bool = False) -> None:
    """Executes what is left, says where it stands and what to do next. A paused run exits with 3, one in which all
    work of a stage failed with 1."""
    import json

    from flows.execute import execute
    from pipeline.cli.after import in_vain, what_next
    from pipeline.cli.progress import progress_line, watching

    typer.echo(f"run {folder.name} in {folder.path}", err=True)
    reason = execute(folder, watching)
    if as_json:
        typer.echo(json.dumps(_standing(folder) | {"reason": reason}, indent=2))
    if reason:
        way_out = "" if "esume" in reason else f" Go on with: tracemill resume {folder.name}"
        typer.echo(f"paused: {reason}{way_out}", err=True)
        raise typer.Exit(3)
    if not as_json:
        typer.echo(progress_line(folder))
    typer.echo(what_next(folder), err=True)
    lost = in_vain(folder)
    for stage, reason in lost.items():
        typer.echo(f"tracemill: nothing of the stage {stage} worked: {reason}", err=True)
    if lost:
        raise typer.Exit(1)


def resume(
    run: Annotated[str, typer.Argument(help="Name of the run.")],
    max_cost: Annotated[float | None, typer.Option(help="A new limit on the whole run's cost.")] = None,
    max_tokens: Annotated[int | None, typer.Option(help="A new limit on its tokens.")] = None,
    max_errors: Annotated[int | None, typer.Option(help="A new limit on its failed model calls.")] = None,
    deadline: Annotated[float | None, typer.Option(help="Pause after so many seconds.")] = None,
    accept_changes: AcceptOption = False,
    json: JsonOption = False,
    data: DataOption = None,
) -> None:
    """Finishes a run that was killed, interrupted, paused or failed: nothing lost, nothing done twice."""
    from pipeline.store import RunFolder

    limits = {"max_cost": max_cost, "max_tokens": max_tokens, "max_errors": max_errors, "deadline": deadline}
    _go_on(RunFolder.open(data_dir(data), run), limits, accept_changes, json)


def status(
    run: Annotated[str | None, typer.Argument(help="Name of a run; without it all runs.")] = None,
    json: JsonOption = False,
    data: DataOption = None,
) -> None:
    """Where runs stand."""
    import json as json_module

    from pipeline.records.errors import RunError
    from pipeline.store import RunFolder, names

    folder = data_dir(data)
    rows: list[dict[str, Any]] = []
    for name in [run] if run else names(folder):
        try:
            opened = RunFolder.open(folder, name)
        except RunError as error:
            if run:
                raise
            rows.append(
                {
                    "run": name,
                    "flow": "",
                    "seed": None,
                    "status": "unreadable",
                    "stages": {},
                    "progress": f"{name}: {error}",
                }
            )
            continue
        rows.append(_standing(opened))
    if json:
        typer.echo(json_module.dumps(rows, indent=2))
    else:
        for row in rows:
            typer.echo(f"{row['status']:<12} {row['progress']}")


def _standing(folder: RunFolder) -> dict[str, Any]:
    """What status says of a run."""
    from pipeline.cli.progress import open_line, progress_line, stages

    state = folder.status
    if state == "running" and not folder.holder():
        state = "killed"
    return {
        "run": folder.name,
        "flow": folder.flow,
        "seed": folder.seed,
        "status": state,
        "stages": stages(folder),
        "progress": progress_line(folder) + open_line(folder),
    }


def preview(
    flow: Annotated[str, typer.Argument(help="tools, tasks or trajectories.")],
    n: Annotated[int, typer.Option("-n", help="How many records.")] = 3,
    config: ConfigOption = None,
    model: Annotated[list[str] | None, typer.Option(help="ROLE=NAME.")] = None,
) -> None:
    """A few full records, nothing stored."""
    import asyncio

    from pipeline.report.preview import preview_records

    loaded = flag_config(config, {}, model)
    for text in asyncio.run(preview_records(loaded, flow, n)):
        typer.echo(text)
        typer.echo("")


def demo(
    count: Annotated[int, typer.Option(help="Tasks.")] = 240,
    data: DataOption = None,
) -> None:
    """Tools, tasks, trajectories, judging and a dataset, with the teacher playing every role."""
    from flows.execute import execute
    from pipeline.cli.demo import summary
    from pipeline.cli.progress import watching
    from pipeline.store import RunFolder
    from pipeline.store.export import export

    loaded = flag_config(None, {"tasks.count": count, "data": str(data) if data else None})
    folder = RunFolder.create(
        loaded.data, None, "trajectories", loaded.seed, loaded.to_yaml(), version=_version()
    )
    execute(folder, watching)
    out = loaded.data / "exports" / folder.name
    report = export([folder], "chat", out, settings=loaded.publish, seed=loaded.seed)
    typer.echo(summary(folder, out, report))


def doctor(json: JsonOption = False) -> None:
    """Says what works, what is missing, and the command that mends it."""
    import json as json_module

    from pipeline.cli.health import examine

    findings = examine()
    if json:
        typer.echo(json_module.dumps([finding.as_json() for finding in findings], indent=2))
    else:
        for finding in findings:
            typer.echo(finding.line())
    if any(finding.needed and not finding.ok for finding in findings):
        raise typer.Exit(1)
