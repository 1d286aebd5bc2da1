"""SQL functions that would reach the real clock, or take very long, replaced by ones that do not."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable
from functools import lru_cache

_Bindable = str | float | int | bytes | None
_LONGEST = 200
"""Characters of one argument of a date function."""
_LARGEST = 2**20
"""Characters that one `replace` may add; the limit on values is tighter by default."""


_WIDE = re.compile(r"%[^a-zA-Z%]*\d{7}")


def install_functions(connection: sqlite3.Connection, now: Callable[[], str]) -> None:
    """Dates for which `now` means the virtual clock and time zones do not exist; searches in linear time."""
    for name, position in (
        ("date", 0),
        ("time", 0),
        ("datetime", 0),
        ("julianday", 0),
        ("unixepoch", 0),
        ("strftime", 1),
    ):
        connection.create_function(name, -1, _dated(name, position, now), deterministic=True)
    for name, short in (
        ("current_timestamp", "datetime"),
        ("current_date", "date"),
        ("current_time", "time"),
    ):
        connection.create_function(name, 0, _dated(short, 0, now), deterministic=True)
    connection.create_function("instr", 2, _instr, deterministic=True)
    connection.create_function("replace", 3, _replace, deterministic=True)
    connection.create_function("printf", -1, _printf, deterministic=True)
    connection.create_function("format", -1, _printf, deterministic=True)


@lru_cache(maxsize=1)
def _pristine() -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:", check_same_thread=False)
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LARGEST)
    return connection


def _original(name: str, arguments: tuple[_Bindable, ...]) -> _Bindable:
    marks = ",".join("?" * len(arguments))
    value: _Bindable = _pristine().execute(f"select {name}({marks})", arguments).fetchone()[0]
    return value


_date = lru_cache(maxsize=20_000)(_original)


def _dated(name: str, position: int, now: Callable[[], str]) -> Callable[..., _Bindable]:
    def function(*arguments: _Bindable) -> _Bindable:
        values = list(arguments)
        if len(values) <= position:
            values.append("now")
        for index, value in enumerate(values):
            if isinstance(value, bytes):
                raise ValueError("a blob is no date")
            if isinstance(value, str):
                if len(value) > _LONGEST:
                    raise ValueError("too long for a date")
                word = value.strip().lower()
                if word == "now":
                    values[index] = now()
                elif word in ("localtime", "utc"):
                    raise ValueError("time zones do not exist in a world")
        return _date(name, tuple(values))

    return function


def _instr(text: _Bindable, part: _Bindable) -> _Bindable:
    """As SQLite's own, whose time is the product of both lengths."""
    if isinstance(text, str) and isinstance(part, str):
        return text.find(part) + 1
    return _original("instr", (text, part))


def _printf(*arguments: _Bindable) -> _Bindable:
    """As SQLite's own, which counts through widths of hundreds of millions."""
    form = arguments[0] if arguments else None
    if isinstance(form, str):
        starred = arguments[1:] if "*" in form else ()
        wide = _WIDE.search(form) or any(isinstance(one, int) and abs(one) > _LARGEST for one in starred)
        if wide:
            raise OverflowError
    return _original("printf", arguments)


def _replace(text: _Bindable, old: _Bindable, new: _Bindable) -> _Bindable:
    """As SQLite's own, whose time is the product of both lengths."""
    if isinstance(text, str) and isinstance(old, str) and isinstance(new, str):
        if len(new) > len(old) and old and text.count(old) * (len(new) - len(old)) > _LARGEST:
            raise OverflowError  # which the driver turns into "string or blob too big"
        return text.replace(old, new) if old else text
    return _original("replace", (text, old, new))
