"""What an engine is asked for: a hardened container, and the labels by which it is found again."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pipeline.config.sandbox import SandboxSection
from pipeline.sandbox.engine import LABEL

WORK = "/work"
"""The work area: where the repository lies and commands run."""
BOOT = (
    "import sys;n=int(sys.stdin.buffer.readline());"
    "exec(compile(sys.stdin.buffer.read(n),'guest','exec'),{'__name__':'__main__'})"
)


def container_config(image: str, limits: SandboxSection, labels: Mapping[str, str]) -> dict[str, Any]:
    """What the engine is asked for. Everything is closed here and nothing is opened elsewhere."""
    tmpfs = "rw,nosuid,nodev,exec,uid=1000,gid=1000,mode=0755"
    memory = limits.memory_mb << 20
    host: dict[str, Any] = {
        "AutoRemove": True,
        "NetworkMode": "none",
        "ReadonlyRootfs": True,
        "CapDrop": ["ALL"],
        "SecurityOpt": ["no-new-privileges"],
        "Memory": memory,
        "MemorySwap": memory,
        "NanoCpus": int(limits.cpus * 1e9),
        "PidsLimit": limits.pids,
        "Ulimits": [
            {"Name": "nofile", "Soft": limits.open_files, "Hard": limits.open_files},
            {"Name": "fsize", "Soft": limits.file_mb << 20, "Hard": limits.file_mb << 20},
            {"Name": "core", "Soft": 0, "Hard": 0},
        ],
        "Tmpfs": {
            WORK: f"{tmpfs},size={limits.work_mb}m",
            "/tmp": f"{tmpfs},size={limits.tmp_mb}m",
            "/grade": f"{tmpfs},size=16m",
        },
        "Init": True,
        "LogConfig": {"Type": "none"},
        "IpcMode": "private",
        "ShmSize": 8 << 20,
        "OomScoreAdj": 0,
    }
    if limits.runtime:
        host["Runtime"] = limits.runtime
    return {
        "Image": image,
        "User": "1000:1000",
        "WorkingDir": WORK,
        "Entrypoint": ["python3", "-I", "-S", "-c", BOOT],
        "Cmd": [],
        "Env": [
            "HOME=/tmp",
            "LANG=C.UTF-8",
            "PYTHONDONTWRITEBYTECODE=1",
            "PATH=/usr/local/bin:/usr/bin:/bin",
        ],
        "Hostname": "sandbox",
        "NetworkDisabled": True,
        "OpenStdin": True,
        "StdinOnce": True,
        "AttachStdin": True,
        "AttachStdout": True,
        "AttachStderr": True,
        "Tty": False,
        "Labels": dict(labels),
        "HostConfig": host,
    }


def box_labels(run: str, lifetime: float, pool: str = "") -> dict[str, str]:
    """Who made a container, for which run and pool, and when it may be swept."""
    return {
        LABEL: "box",
        f"{LABEL}.run": run,
        f"{LABEL}.pool": pool,
        f"{LABEL}.owner": f"{socket.gethostname()}:{os.getpid()}:{process_start(os.getpid())}",
        f"{LABEL}.expires": str(int(time.time() + lifetime)),
    }


def process_start(pid: int) -> str:
    """The start time of a process in clock ticks since boot: tells a process from a later one of the same number."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""
