"""The command line. Commands import what they need when they run, so that `--help` is quick."""

from __future__ import annotations

import sys

import typer

from pipeline.cli import (
    environment,
    judge,
    look,
    models,
    publish,
    rephrase,
    report,
    run,
    sandbox,
    serve,
    world,
)

app = typer.Typer(
    name="tracemill",
    help="Verified agentic training data: tools, worlds, tasks, trajectories, code and rephrased corpora.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
for group in (run, look, report, publish, serve, world, models, judge, sandbox, rephrase, environment):
    group.register(app)


def main() -> None:
    """The console script. Errors with a way out are one message on stderr and exit code 1."""
    from pipeline.records.errors import TracemillError

    try:
        app()
    except TracemillError as error:
        print(f"tracemill: {error}", file=sys.stderr)
        sys.exit(1)
    except BrokenPipeError:
        sys.exit(0)
    except OSError as error:
        print(f"tracemill: {error.strerror or error}: {error.filename or ''}".rstrip(": "), file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        print("tracemill: interrupted; `tracemill resume` goes on where it stopped.", file=sys.stderr)
        sys.exit(130)
