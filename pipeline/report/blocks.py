"""Data inside a page: gzip in base64, in script elements that no browser executes, unpacked when they are looked at.

Base64 knows no `<`, so that nothing in the data can end its element or become markup.
"""

from __future__ import annotations

import base64
import gzip
import json
from typing import Any


def block(name: str, value: Any) -> str:
    """One script element with `value` as JSON; equal values give equal text."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
    packed = gzip.compress(text.encode("utf-8", "surrogatepass"), compresslevel=6, mtime=0)
    return f'<script type="application/x-block" id="{name}">{base64.b64encode(packed).decode()}</script>\n'


def columns(rows: list[dict[str, Any]], names: tuple[str, ...]) -> dict[str, Any]:
    """Rows as columns. A column of texts is a list of its different values, and for each row the place in it."""
    made: dict[str, Any] = {}
    for name in names:
        values = [row[name] for row in rows]
        if all(isinstance(value, str) for value in values):
            places: dict[str, int] = {}
            indexes = [places.setdefault(value, len(places)) for value in values]
            made[name] = {"of": list(places), "at": indexes}
        else:
            made[name] = values
    return made
