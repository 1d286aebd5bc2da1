"""Options that several commands share, and the configuration they add up to."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

if TYPE_CHECKING:
    from pipeline.config import Config

ConfigOption = Annotated[Path | None, typer.Option("--config", "-c", help="Configuration file (YAML).")]
DataOption = Annotated[
    Path | None, typer.Option("--data", help="Folder of runs and catalog. [default: data]")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Machine-readable output.")]


class ManyValues(TyperCommand):
    """`--input A B` says the same as `--input A --input B`, after the command's own arguments."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        options = {name: one for one in self.params for name in one.opts if name.startswith("-")}
        spread: list[str] = []
        option, values, named = "", 0, False
        for arg in args:
            if arg.startswith("-") and len(arg) > 1:
                known = options.get(arg)
                option = arg if known is not None and not getattr(known, "is_flag", False) else ""
                values = 0
            elif option and values and named and getattr(options[option], "multiple", False):
                spread.append(option)
            elif option and not values:
                values = 1
            else:
                named = True
            spread.append(arg)
        return super().parse_args(ctx, spread)


def flag_config(config: Path | None, flags: dict[str, Any], models: list[str] | None = None) -> Config:
    """The configuration of a command: defaults < file < environment < flags.

    `models` are `ROLE=NAME` pairs; the role `all` stands for every role that a model can play.
    """
    from pipeline.config import load_config
    from pipeline.records.errors import ConfigError

    roles: dict[str, str] = {}
    for pair in models or []:
        role, separator, name = pair.partition("=")
        if not separator or not name:
            raise ConfigError(
                f"--model {pair} is not of the form ROLE=NAME.",
                way_out="E.g. --model policy=qwen3@http://127.0.0.1:8080/v1",
            )
        for one in ("user", "policy") if role == "all" else (role,):
            roles[one] = name
    return load_config(config, {**flags, **{f"roles.{role}": name for role, name in roles.items()}})


def data_dir(data: Path | None) -> Path:
    """The data folder of a command that reads runs."""
    from pipeline.config import load_config

    return data or load_config().data
