"""The reference of all commands, made from what `--help` knows: `python -m pipeline.cli.reference > docs/commands.md`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import typer

from pipeline.cli import app

_HEAD = """# Commands

Made from `--help` by `python -m pipeline.cli.reference`; a test compares both. Every command takes `--help`. Errors are
one message on the standard error with the way out, and exit code 1; a run that paused exits with 3.
"""


def reference() -> str:
    """All commands with their arguments and options, as Markdown."""
    parts = [_HEAD]
    for words, command in _commands(typer.main.get_command(app), ("tracemill",)):
        parts.append(_section(words, command))
    return "\n".join(parts)


def _commands(command: Any, words: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    inner = getattr(command, "commands", None)
    if inner is None:
        yield words, command
        return
    if getattr(command, "invoke_without_command", False) and len(words) > 1:
        yield words, command
    for name, one in inner.items():
        if not one.hidden:
            yield from _commands(one, (*words, name))


def _section(words: tuple[str, ...], command: Any) -> str:
    parameters = [one for one in command.params if not getattr(one, "hidden", False) and one.name != "help"]
    arguments = [one for one in parameters if one.param_type_name == "argument"]
    options = [one for one in parameters if one.param_type_name == "option"]
    usage = " ".join([*words, *(_argument(one) for one in arguments)])
    lines = [f"## {' '.join(words)}", "", f"`{usage}`", "", (command.help or "").strip(), ""]
    lines += [f"- `{_argument(one)}` {one.help or ''}".rstrip() for one in arguments]
    lines += [f"- `{_option(one)}` {one.help or ''}{_default(one)}".rstrip() for one in options]
    return "\n".join(lines).rstrip() + "\n"


def _argument(argument: Any) -> str:
    name = argument.name.upper() + ("…" if argument.nargs == -1 else "")
    return name if argument.required else f"[{name}]"


def _option(option: Any) -> str:
    names = ", ".join(sorted(option.opts, key=len, reverse=True))
    return names if option.is_flag else f"{names} {str(option.name).upper()}{'…' if option.multiple else ''}"


def _default(option: Any) -> str:
    value = option.default
    if (
        option.is_flag
        or value is None
        or callable(value)
        or option.multiple
        or "default:" in (option.help or "")
    ):
        return " Required." if option.required else ""
    return f" Default: {value}."


if __name__ == "__main__":
    print(reference(), end="")
