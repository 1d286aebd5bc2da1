"""What a flow is going to read, looked at before anything is made: missing and unusable files, names that name nothing."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable
from pathlib import Path

from pipeline.config import Config
from pipeline.records import ConfigError, InputError, WorldError
from pipeline.rephrase.inputs import input_files
from pipeline.rephrase.styles import STYLES
from pipeline.sandbox import load_tasks
from pipeline.stages.units import stages_of
from pipeline.stages.worlds import world_files
from pipeline.store.export.rendering import TEMPLATES
from pipeline.teacher.rewriter import WRITES
from pipeline.tools.dumps import read_dump
from pipeline.worlds.load import load_world
from pipeline.worlds.servers import read_servers

_WHOLE = 5_000_000
"""Bytes up to which a saved list of tools is read whole; of a larger one only that it is there."""


def check_inputs(flow: str, config: Config) -> None:
    """Looks at all that the stages of `flow` read. Raises ConfigError, InputError or WorldError, saying what to mend."""
    stages = stages_of(flow, config)
    for stage, check in _CHECKS.items():
        if stage in stages:
            check(config)
    _known("publish.verify", config.publish.verify, TEMPLATES)


def _worlds(config: Config) -> None:
    files = world_files(config)
    if not config.worlds.only:
        return
    found, broken = [], []
    for path in files:
        try:
            found.append(load_world(path).name)
        except WorldError as error:
            broken.append(error)
    if broken and not set(config.worlds.only) <= set(found):
        raise broken[0]
    _known("worlds.only", config.worlds.only, found)


def _mcp(config: Config) -> None:
    ingest = config.tools.ingest
    if config.evolve.mcp and ingest.servers is not None:
        read_servers(ingest.servers)
    for path in ingest.dumps:
        if not path.is_file():
            raise InputError(
                f"There is no saved list of tools at {path}.", way_out="Give a .json or .jsonl file."
            )
        if path.stat().st_size <= _WHOLE and not (read := read_dump([path])).tools:
            why = [f"{one.server}: {one.message}" for one in read.failures] or [
                "nothing in it has the form of a tool"
            ]
            raise InputError(
                f"{path} holds no tool: {why[0]}.",
                way_out="It has to be what a server answers to tools/list.",
            )


def _code_tasks(config: Config) -> None:
    if config.code.authored and config.roles.get("author", "teacher") == "teacher":
        raise ConfigError(
            f"code.authored asks a model for {config.code.authored} code tasks, but the teacher is the author.",
            way_out="Name a model in roles.author (--model author=NAME), or set code.authored to 0.",
        )
    for path in config.code.tasks:
        next(load_tasks(path))


def _documents(config: Config) -> None:
    settings = config.rephrase
    for given in settings.inputs:
        next(input_files([given]))
    _known("rephrase.styles", settings.styles, STYLES)
    taught = config.roles.get("rewriter", "teacher") == "teacher"
    if taught and settings.styles and not WRITES.intersection(settings.styles):
        raise ConfigError(
            f"rephrase.styles names {', '.join(settings.styles)}, and the teacher writes none of these.",
            way_out="Name a model in roles.rewriter (--model rewriter=NAME), or styles of: "
            + ", ".join(sorted(WRITES)),
        )
    if settings.tokenizer and not Path(settings.tokenizer).is_file():
        raise ConfigError(
            f"rephrase.tokenizer names {settings.tokenizer}, which is no file.",
            way_out="Give a tokenizer.json, or nothing for an estimate.",
        )


_CHECKS: dict[str, Callable[[Config], None]] = {
    "worlds": _worlds,
    "mcp": _mcp,
    "code_tasks": _code_tasks,
    "documents": _documents,
}


def _known(key: str, given: Iterable[str], known: Iterable[str]) -> None:
    names = sorted(known)
    for name in given:
        if name not in names:
            close = difflib.get_close_matches(name, names, n=1)
            hint = f"Did you mean {close[0]}? " if close else ""
            raise ConfigError(
                f"{key} names {name!r}, which is not there.", way_out=f"{hint}Known: {', '.join(names)}."
            )
