"""The whole configuration: one YAML file, environment and flags over defaults; unknown keys are errors."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

import yaml
from pydantic import Field, ValidationError

from pipeline.config.author import AuthorSection
from pipeline.config.judging import JudgingConfig
from pipeline.config.models import ModelsConfig, Role
from pipeline.config.problems import Origins, told
from pipeline.config.publish import PublishSection
from pipeline.config.rephrase import RephraseSection
from pipeline.config.run import CodeConfig, EvolveConfig, RunConfig, WorldsConfig
from pipeline.config.sandbox import SandboxSection
from pipeline.config.simulated import SimulatedConfig
from pipeline.config.tasks import TasksConfig
from pipeline.config.tools import ToolsConfig
from pipeline.config.trajectories import TrajectoriesConfig
from pipeline.records.errors import ConfigError
from pipeline.yaml_files import parse_yaml, problem_of

ENVIRONMENT = "TRACEMILL_"
"""`TRACEMILL_TASKS__COUNT=50` sets `tasks.count`."""


class Config(ModelsConfig):
    """Everything a run needs. The keys of `ModelsConfig` stand at the top level."""

    seed: int = Field(default=7, ge=0)
    data: Path = Path("data")
    """Where runs, the catalog and exports lie."""
    run: RunConfig = RunConfig()
    worlds: WorldsConfig = WorldsConfig()
    evolve: EvolveConfig = EvolveConfig()
    author: AuthorSection = AuthorSection()
    tools: ToolsConfig = ToolsConfig()
    tasks: TasksConfig = TasksConfig()
    simulated: SimulatedConfig = SimulatedConfig()
    trajectories: TrajectoriesConfig = TrajectoriesConfig()
    judging: JudgingConfig = JudgingConfig()
    code: CodeConfig = CodeConfig()
    sandbox: SandboxSection = SandboxSection()
    rephrase: RephraseSection = RephraseSection()
    publish: PublishSection = PublishSection()

    @property
    def further_names(self) -> tuple[str, ...]:
        return self.judging.model_names

    def to_yaml(self) -> str:
        """The resolved configuration; it runs again as it stands."""
        return yaml.safe_dump(self.model_dump(mode="json"), sort_keys=False, allow_unicode=True)


def load_config(
    path: Path | None = None,
    flags: Mapping[str, Any] | None = None,
    environment: Mapping[str, str] | None = None,
) -> Config:
    """defaults < file < environment < flags. `flags` uses dotted keys: `{"tasks.count": 50}`; None is not given.

    Raises ConfigError naming the file and the key that is unknown or does not fit.
    """
    values = _read(path) if path else {}
    origins: dict[tuple[str, ...], str] = {}
    for name, text in sorted((os.environ if environment is None else environment).items()):
        if name.startswith(ENVIRONMENT) and name not in _NOT_SETTINGS:
            key = tuple(name.removeprefix(ENVIRONMENT).lower().split("__"))
            _set(values, key, _variable(name, text))
            origins[key] = name
    for dotted, value in (flags or {}).items():
        if value is not None:
            key = tuple(dotted.split("."))
            _set(values, key, value)
            origins[key] = FLAGS.get(dotted, f"the flag for {dotted}")
    return parse_config(values, where=str(path) if path else "the settings", origins=origins)


FLAGS = {
    **{
        f"run.{name}": f"--{name.replace('_', '-')}"
        for name in ("max_cost", "max_tokens", "max_errors", "deadline")
    },
    **{f"roles.{name}": "--model" for name in get_args(Role)},
    "seed": "--seed",
    "data": "--data",
    "tasks.count": "--count",
    "tools.ingest.servers": "--mcp",
    "tools.ingest.dumps": "--mcp-dump",
    "evolve.tools": "--evolve",
    "code.tasks": "--tasks",
    "rephrase.inputs": "--input",
    "simulated.tasks": "--played",
}
"""What each key is called on the command line."""


def _variable(name: str, text: str) -> Any:
    try:
        return parse_yaml(text)
    except yaml.YAMLError as error:
        raise ConfigError(
            f"The variable {name} is no YAML value: {problem_of(error)}.", way_out="Put texts in quotes."
        ) from error


_NOT_SETTINGS = frozenset({"TRACEMILL_SHARED", "TRACEMILL_CACHE", "TRACEMILL_OWNER"})


def parse_config(values: Mapping[str, Any], *, where: str, origins: Origins | None = None) -> Config:
    """A configuration from plain values; `origins` names the source of those that are not from `where`.

    Raises ConfigError.
    """
    try:
        return Config.model_validate(values)
    except ValidationError as error:
        raise ConfigError(
            told(error, Config, where, origins or {}),
            way_out="`tracemill init` writes a configuration with all keys.",
        ) from error


def _read(path: Path) -> dict[str, Any]:
    try:
        data = parse_yaml(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(
            f"{path} cannot be read: {error.strerror}.", way_out="`tracemill init` writes one."
        ) from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path} is no text in UTF-8.", way_out="`tracemill init` writes one.") from error
    except yaml.YAMLError as error:
        raise ConfigError(
            f"{path} is no YAML: {problem_of(error)}.", way_out="`tracemill init` writes one."
        ) from error
    if data is None:
        return {}
    if not isinstance(data, dict):
        raise ConfigError(f"{path} holds no mapping.", way_out="`tracemill init` writes a configuration.")
    return data


def _set(values: dict[str, Any], key: tuple[str, ...], value: Any) -> None:
    for part in key[:-1]:
        inner = values.get(part)
        values[part] = dict(inner) if isinstance(inner, dict) else {}
        values = values[part]
    values[key[-1]] = value
