"""Prompts: files with typed inputs and a named output, rendered strictly, known by their hash.

A file `prompts/user/turn.md` is the prompt `user/turn`:

    ---
    inputs:
      goal: str
      facts: list[str]
    output: text
    ---
    == system ==
    You are …
    == user ==
    {{ goal }}

Without markers the body is one user message. Markers are read in the template, never in what is filled in, and what
is filled in is never rendered again: braces in a user's text are text. What others wrote stands between two lines that
hold `{{ fence }}`, a mark that none of it can hold; a prompt that does not name it as an input is given one.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, cast

import yaml
from jinja2 import StrictUndefined, Template, TemplateError, meta
from jinja2.sandbox import ImmutableSandboxedEnvironment
from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from pipeline.assets import asset
from pipeline.records import ConfigError, Json, Message, content_id

InputType = Literal["str", "int", "float", "bool", "list[str]", "list[json]", "dict[str, str]", "json"]
_ADAPTERS: dict[str, TypeAdapter[Any]] = {
    "str": TypeAdapter(str),
    "int": TypeAdapter(int),
    "float": TypeAdapter(float),
    "bool": TypeAdapter(bool),
    "list[str]": TypeAdapter(list[str]),
    "list[json]": TypeAdapter(list[Json]),
    "dict[str, str]": TypeAdapter(dict[str, str]),
    "json": TypeAdapter(Json),
}
FENCE = "fence"
_FRONT = re.compile(r"\A---\n(.*?\n)---\n(.*)\Z", re.DOTALL)
_MARKER = re.compile(r"^== (system|user|assistant) ==[ \t]*\n", re.MULTILINE)


class _Front(BaseModel):
    """What stands above the body."""

    model_config = ConfigDict(extra="forbid")

    inputs: dict[str, InputType] = {}
    output: str
    """`text`, or the name of the record that the answer becomes."""
    note: str = ""


@dataclass(frozen=True)
class Prompt:
    """A prompt file, compiled."""

    name: str
    hash: str
    """12 hexadecimal digits of the file's content."""
    inputs: Mapping[str, InputType]
    output: str
    note: str
    source: str
    parts: tuple[tuple[str, Template], ...]
    """Role and template of each message."""

    @property
    def version(self) -> str:
        """`name@hash`, as it lands in every record this prompt has shaped."""
        return f"{self.name}@{self.hash}"

    def render(self, **inputs: Any) -> tuple[Message, ...]:
        """The messages. Raises ConfigError for a missing, unknown or ill-typed input."""
        if set(inputs) != set(self.inputs):
            wrong = ", ".join(sorted(set(inputs) ^ set(self.inputs)))
            raise ConfigError(f"The prompt {self.name} is given other inputs than it declares: {wrong}.")
        try:
            for name, kind in self.inputs.items():
                _ADAPTERS[kind].validate_python(inputs[name], strict=True)
            filled = {FENCE: fence(list(inputs.values())), **inputs}
            return tuple(
                Message(role=cast(Any, role), content=template.render(**filled).strip())
                for role, template in self.parts
            )
        except (ValidationError, TemplateError) as error:
            what = f"input {name}: " if isinstance(error, ValidationError) else ""
            raise ConfigError(f"The prompt {self.name} cannot be rendered: {what}{_short(error)}.") from error


def fence(shown: Json, beginning: Json = None) -> str:
    """A mark to stand around the shown data, which does not hold it. It follows from `beginning`, as long as it can."""
    text = json.dumps(shown, ensure_ascii=False, default=str)
    mark = content_id("data", [text if beginning is None else beginning])
    while mark in text:
        mark = content_id("data", [mark, text])
    return mark


def _short(error: Exception) -> str:
    if isinstance(error, ValidationError):
        return str(error.errors(include_input=False, include_url=False)[0]["msg"])
    return str(error).rstrip(".")


class Prompts:
    """A folder of prompts."""

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = asset("prompts") if folder is None else folder
        self._loaded: dict[str, Prompt] = {}

    def names(self) -> list[str]:
        """All prompts, sorted."""
        return sorted(
            path.relative_to(self.folder).with_suffix("").as_posix() for path in self.folder.rglob("*.md")
        )

    def get(self, name: str) -> Prompt:
        """The prompt `name`. Raises ConfigError when it is missing or broken."""
        if name not in self._loaded:
            path = self.folder / f"{name}.md"
            if not re.fullmatch(r"[a-z0-9_]+(/[a-z0-9_]+)*", name) or not path.is_file():
                raise ConfigError(
                    f"No prompt is called {name}.", way_out=f"Known: {', '.join(self.names())}."
                )
            self._loaded[name] = _compile(name, path.read_text(encoding="utf-8"))
        return self._loaded[name]


@lru_cache(maxsize=1)
def shipped() -> Prompts:
    """The prompts that travel with the program."""
    return Prompts()


def with_prompt(prompts: str, version: str) -> str:
    """The versions of the prompts that shaped a request, one more."""
    return f"{prompts}+{version}" if prompts else version


def _environment() -> ImmutableSandboxedEnvironment:
    return ImmutableSandboxedEnvironment(
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )


def _compile(name: str, text: str) -> Prompt:
    match = _FRONT.match(text)
    if match is None:
        raise ConfigError(
            f"The prompt {name} has no front matter.", way_out="Begin it with --- and inputs, output."
        )
    try:
        front = _Front.model_validate(yaml.safe_load(match[1]))
        environment = _environment()
        used = meta.find_undeclared_variables(environment.parse(match[2])) - set(environment.globals)
        parts = tuple((role, environment.from_string(source)) for role, source in _split(match[2]))
    except (yaml.YAMLError, ValidationError, TemplateError) as error:
        raise ConfigError(f"The prompt {name} is broken: {error}") from error
    if used | {FENCE} != set(front.inputs) | {FENCE}:
        wrong = ", ".join(sorted((used ^ set(front.inputs)) - {FENCE}))
        raise ConfigError(f"The prompt {name} declares other inputs than it uses: {wrong}.")
    digest = hashlib.blake2b(text.encode(), digest_size=6).hexdigest()
    return Prompt(name, digest, front.inputs, front.output, front.note, text, parts)


def _split(body: str) -> list[tuple[str, str]]:
    pieces = _MARKER.split(body)
    if len(pieces) == 1:
        return [("user", body)]
    if pieces[0].strip():
        raise TemplateError("text stands before the first == role == line")
    return list(zip(pieces[1::2], pieces[2::2], strict=True))
