"""Many episodes at once, beside the bare client playing the same requests."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from benchmarks.rollout.endpoint import client, endpoint, prepared


def crowd(data: Path, episodes: int) -> None:
    """All episodes at once, agent at an endpoint of 200 ms; then the bare client with the same requests."""
    log, plans = data / "requests", data / "plans"
    with endpoint(0.2, log, plans) as url:
        more = {
            "trajectories.concurrency": episodes,
            "trajectories.shard_tasks": episodes,
            "trajectories.attempts": 10,
        }
        folder = prepared(data, "crowd", url, plans, episodes // 10, **more)
        ours = client("ours", str(folder.path), "0")
    played = sum(1 for _ in folder.rows("trajectories", columns=("id",)))
    with endpoint(0.2, data / "again", plans) as url:
        bare = client("bare", url, f"{log}.bodies")
    longest = max(Counter(line.split()[0] for line in log.read_text().splitlines()).values())
    print(
        f"crowd: {played} episodes at once, {bare['requests']:.0f} requests of 200 ms, at most {longest} in a row "
        f"(ideal {longest * 0.2:.1f} s): {ours['wall']:.1f} s played and judged, bare client {bare['wall']:.1f} s: "
        f"{ours['wall'] / bare['wall']:.2f} x (at most 1.2); CPU {ours['cpu']:.1f} s against {bare['cpu']:.1f} s; "
        f"{ours['rss_mb'] / played:.2f} MB for each live episode (at most 1)"
    )
