"""The configuration as `tracemill init` writes it: all keys with their defaults, explained by the sections' own words."""

from __future__ import annotations

import ast
import inspect
import itertools
import textwrap
from typing import Any

import yaml
from pydantic import BaseModel

from pipeline.config.config import Config

HEAD = """\
# tracemill: one file per run. Every key may be left out; the values here are the defaults.
# Precedence: defaults < this file < environment (TRACEMILL_TASKS__COUNT=50) < flags.
#
# The teacher plays every role, free and offline. To let a model play, name it here:
#
#   roles: {policy: "qwen3@http://127.0.0.1:8080/v1", user: "qwen3@http://127.0.0.1:8080/v1"}
#
# Keys are read from the environment only (OPENAI_API_KEY, or what an endpoint's api_key_env names).
"""


def commented() -> str:
    """YAML with a comment above each key."""
    return HEAD + "\n" + "\n".join(_lines(Config(), 0)) + "\n"


def _lines(section: BaseModel, depth: int) -> list[str]:
    pad = "  " * depth
    texts = _docs(type(section))
    lines: list[str] = []
    for name in type(section).model_fields:
        value = getattr(section, name)
        if texts.get(name):
            lines.extend(f"{pad}# {line}" for line in textwrap.wrap(texts[name], 100))
        if isinstance(value, BaseModel):
            lines.append(f"{pad}{name}:")
            lines.extend(_lines(value, depth + 1))
        else:
            plain = section.model_dump(mode="json", include={name})[name]
            text = (
                yaml.safe_dump(plain, default_flow_style=True, sort_keys=False, width=10_000)
                .removesuffix("\n...\n")
                .strip()
            )
            lines.append(f"{pad}{name}: {text}")
        if depth == 0:
            lines.append("")
    return lines


def _docs(model: type[BaseModel]) -> dict[str, str]:
    """The string below each field, which is its documentation; those of base classes first."""
    texts: dict[str, str] = {}
    for one in reversed(model.__mro__):
        if not issubclass(one, BaseModel) or one is BaseModel:
            continue
        body: list[Any] = ast.parse(textwrap.dedent(inspect.getsource(one))).body[0].body  # type: ignore[attr-defined]
        for statement, after in itertools.pairwise(body):
            if (
                isinstance(statement, ast.AnnAssign)
                and isinstance(statement.target, ast.Name)
                and isinstance(after, ast.Expr)
                and isinstance(after.value, ast.Constant)
                and isinstance(after.value.value, str)
            ):
                texts[statement.target.id] = " ".join(after.value.value.split())
    return texts
