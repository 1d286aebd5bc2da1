"""Differences between JSON values."""

import json

MISSING = object()


def diff(old, new, path=""):
    """The changes from `old` to `new` as (path, old, new)."""
    if isinstance(old, dict) and isinstance(new, dict):
        changes = []
        for key in sorted(old.keys() | new.keys()):
            changes += diff(old.get(key, MISSING), new.get(key, MISSING), path + _step(key, path))
        return changes
    if isinstance(old, list) and isinstance(new, list):
        changes = []
        for place in range(max(len(old), len(new))):
            left = old[place] if place < len(old) else MISSING
            right = new[place] if place < len(new) else MISSING
            changes += diff(left, right, f"{path}[{place}]")
        return changes
    return [] if _same(old, new) else [(path, old, new)]


def _same(old, new):
    return isinstance(old, bool) == isinstance(new, bool) and old == new


def _step(key, path):
    if key.isascii() and key.isidentifier():
        return f".{key}" if path else key
    return f"[{json.dumps(key)}]"
