"""Where prompts, worlds, lists, recipes and sample inputs lie: in the wheel or in the source tree."""

from __future__ import annotations

from pathlib import Path

from pipeline.records import ConfigError

_PACKAGE = Path(__file__).parent


def asset(name: str) -> Path:
    """The path of a shipped file or folder, e.g. `asset("tools_repo/worlds")`.

    Raises ConfigError when it is missing, which means that the installation is broken.
    """
    for root in (_PACKAGE / "_assets", _PACKAGE.parent):
        if (root / name).exists():
            return root / name
    raise ConfigError(f"The shipped file {name} is missing.", way_out="Reinstall tracemill.")
