"""The whole configuration: one YAML file, environment and flags over defaults; unknown keys are errors."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from pydantic import Field, ValidationError

from pipeline.config.judging import JudgingConfig
from pipeline.config.models import ModelsConfig
from pipeline.config.publish import PublishSection
from pipeline.config.rephrase import RephraseSection
from pipeline.config.run import CodeConfig, EvolveConfig, RunConfig, WorldsConfig
from pipeline.config.sandbox import SandboxSection
from pipeline.config.tasks import TasksConfig
from pipeline.config.tools import ToolsConfig
from pipeline.config.trajectories import TrajectoriesConfig
from pipeline.records.errors import ConfigError
from pipeline.yaml_files import parse_yaml

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
    tools: ToolsConfig = ToolsConfig()
    tasks: TasksConfig = TasksConfig()
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
    for name, text in sorted((os.environ if environment is None else environment).items()):
        if name.startswith(ENVIRONMENT) and name not in _NOT_SETTINGS:
            _set(values, name.removeprefix(ENVIRONMENT).lower().split("__"), yaml.safe_load(text))
    for key, value in (flags or {}).items():
        if value is not None:
            _set(values, key.split("."), value)
    return parse_config(values, where=str(path) if path else "the flags")


_NOT_SETTINGS = frozenset({"TRACEMILL_SHARED", "TRACEMILL_CACHE"})


def parse_config(values: Mapping[str, Any], *, where: str) -> Config:
    """A configuration from plain values. Raises ConfigError."""
    try:
        return Config.model_validate(values)
    except ValidationError as error:
        problems = []
        for one in error.errors()[:5]:
            key = ".".join(str(part) for part in one["loc"])
            if one["type"] == "extra_forbidden":
                problems.append(f"unknown key {key}{_did_you_mean(one['loc'])}")
            else:
                problems.append(f"{key}: {one['msg']}")
        raise ConfigError(
            f"{where}: {'; '.join(problems)}.",
            way_out="`tracemill init` writes a configuration with all keys.",
        ) from error


def _did_you_mean(location: tuple[Any, ...]) -> str:
    import difflib

    model: Any = Config
    for part in location[:-1]:
        field = getattr(model, "model_fields", {}).get(str(part))
        model = field.annotation if field else None
    known = list(getattr(model, "model_fields", {}))
    close = difflib.get_close_matches(str(location[-1]), known, n=1)
    return f" (did you mean {close[0]}?)" if close else ""


def _read(path: Path) -> dict[str, Any]:
    try:
        data = parse_yaml(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(
            f"{path} cannot be read: {error.strerror}.", way_out="`tracemill init` writes one."
        ) from error
    except (UnicodeDecodeError, yaml.YAMLError) as error:
        raise ConfigError(f"{path} is no YAML: {error}.") from error
    if data is None:
        return {}
    if not isinstance(data, dict):
        raise ConfigError(f"{path} holds no mapping.", way_out="`tracemill init` writes a configuration.")
    return data


def _set(values: dict[str, Any], keys: list[str], value: Any) -> None:
    for key in keys[:-1]:
        inner = values.get(key)
        values[key] = dict(inner) if isinstance(inner, dict) else {}
        values = values[key]
    values[keys[-1]] = value
