"""Finds leftovers by their label, and by nothing else, and removes those that nobody can still want."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Mapping

from pipeline.sandbox.container import process_start
from pipeline.sandbox.engine import LABEL, Engine


async def sweep(engine: Engine, wanted: Callable[[Mapping[str, str]], bool] | None = None) -> list[str]:
    """Removes those of our containers whose labels are `wanted`: by default the abandoned ones. Returns their names."""
    removed = []
    for container in await engine.labeled():
        labels = container.get("Labels") or {}
        if labels.get(LABEL) == "box" and (wanted or abandoned)(labels):
            await engine.remove(container["Id"])
            removed.append(str((container.get("Names") or [container["Id"]])[0]).lstrip("/"))
    return removed


def abandoned(labels: Mapping[str, str]) -> bool:
    """Whether a container has expired, or belongs to a process of this machine that is no more."""
    expires = labels.get(f"{LABEL}.expires", "")
    if not expires.isdigit() or int(expires) < time.time():
        return True
    host, _, process = labels.get(f"{LABEL}.owner", "").rpartition(":")[0].rpartition(":")
    if host != socket.gethostname() or not process.isdigit():
        return False
    return process_start(int(process)) != labels[f"{LABEL}.owner"].rpartition(":")[2]
