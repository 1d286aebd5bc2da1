"""YAML read with the C parser where it is there: ten times as fast, the same result."""

from __future__ import annotations

from typing import Any

import yaml

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def parse_yaml(text: str) -> Any:
    """The value of one YAML document. Raises yaml.YAMLError."""
    return yaml.load(text, Loader=_LOADER)
