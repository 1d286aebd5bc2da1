"""The door to the models beside the bare client and beside peers, on loopback, in one run.

    python -m benchmarks.models [--peers] [--venvs DIR] [--quick] [--only PART…]

Every client is a process of its own against one server process that answers after a fixed time. Clients alternate and
each is run several times; the best wall time counts, since what else the machine does only ever adds. Processor time
per request is the slope between a tenth of the requests and all of them, so that no one's start-up counts.
With `--peers` each peer is installed into an environment of its own (needs a package index); one that cannot be
installed or run is named with the reason.
"""

from __future__ import annotations

import argparse
import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
CLIENTS = Path(__file__).resolve().parent / "models_clients"
PEERS = {
    "distilabel": ("distilabel[openai]==1.5.3", "requests"),
    "data_designer": ("data-designer==0.9.7",),
    "curator": ("bespokelabs-curator==0.1.31",),
}


@dataclass(frozen=True)
class Client:
    """A script of `models_clients`, the interpreter that runs it, and its fourth argument."""

    name: str
    script: str
    python: str = sys.executable
    how: str = ""


@dataclass
class Server:
    """The fixed-latency server, and what it counted once it has ended."""

    url: str
    counts: dict[str, int]


@contextmanager
def serving(latency: float, rejected: float = 0.0, seed: int = 0) -> Iterator[Server]:
    """A server process for the length of a block."""
    settings = {"--latency": latency, "--rejected": rejected, "--seed": seed}
    flags = [str(word) for pair in settings.items() for word in pair]
    command = [sys.executable, "-m", "tests.endpoint.server", *flags]
    process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    server = Server(process.stdout.readline().strip(), {})
    try:
        yield server
    finally:
        out, _ = process.communicate("")
        server.counts = json.loads(out)


def measure(client: Client, url: str, count: int, concurrency: int) -> dict[str, float]:
    """The figures a client prints. Raises RuntimeError with the end of its output when it prints none."""
    command = [
        client.python,
        str(CLIENTS / f"{client.script}.py"),
        url,
        str(count),
        str(concurrency),
        client.how,
    ]
    environment = {**os.environ, "PYTHONPATH": str(ROOT) if client.python == sys.executable else ""}
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            command, capture_output=True, text=True, cwd=folder, env=environment, timeout=900
        )
    lines = [line for line in done.stdout.splitlines() if line.startswith('{"wall"')]
    if done.returncode or not lines:
        raise RuntimeError((done.stderr or done.stdout).strip().splitlines()[-1][:200])
    figures: dict[str, float] = json.loads(lines[-1])
    if figures["answered"] != count:
        raise RuntimeError(f"only {figures['answered']} of {count} answered")
    return figures


def best(
    clients: Sequence[Client], url: str, count: int, concurrency: int, rounds: int
) -> dict[str, dict[str, Any]]:
    """Alternate the clients; for each the best wall time and the slope of its processor time, ms a request."""
    found: dict[str, dict[str, Any]] = {}
    for number in range(rounds):
        for client in clients:
            try:
                few = measure(client, url, count // 10, concurrency)
                seen = measure(client, url, count, concurrency)
            except (RuntimeError, subprocess.TimeoutExpired) as error:
                found.setdefault(client.name, {"error": str(error)})
                continue
            seen["cpu"] = (seen["cpu"] - few["cpu"]) / (count - count // 10) * 1000
            before = found.get(client.name, {})
            found[client.name] = {name: min(value, before.get(name, value)) for name, value in seen.items()}
            print(f"  ({number + 1}/{rounds} {client.name} {seen['wall']:.2f} s)", file=sys.stderr)
    return found


def table(title: str, ideal: float, found: dict[str, dict[str, Any]]) -> None:
    """Print the figures, each beside the ideal and the bare client."""
    bare = found.get("bare openai", {})
    print(f"\n{title} (ideal {ideal:.2f} s)")
    for name, seen in found.items():
        if "error" in seen:
            print(f"  {name:22} could not be run: {seen['error']}")
            continue
        beside = f"{seen['wall'] / bare['wall']:5.2f} x bare" if "wall" in bare else ""
        cpu = f"{seen['cpu']:6.2f} ms ({seen['cpu'] / bare['cpu']:4.2f} x bare)" if "cpu" in bare else ""
        print(f"  {name:22} {seen['wall']:7.2f} s  {seen['wall'] / ideal:5.2f} x ideal {beside}  CPU {cpu}"
              f"  RSS {seen['rss_mb']:4.0f} MB")  # fmt: skip


OURS = Client("tracemill fixed", "ours", how="fixed")
ADAPTIVE = Client("tracemill adaptive", "ours", how="adaptive")
BARE = Client("bare openai", "bare")


def throughput(peers: Sequence[Client], count: int, rounds: int) -> None:
    """Requests of 200 ms at 64 and 256 at once."""
    for concurrency in (64, 256):
        with serving(0.2) as server:
            found = best((BARE, OURS, ADAPTIVE), server.url, count, concurrency, rounds)
            found |= best(peers, server.url, count, concurrency, 1)
        table(f"{count:,} requests of 200 ms, {concurrency} at once", count * 0.2 / concurrency, found)


def many(count: int, rounds: int) -> None:
    """Many requests of 2 s, a fifth of them at once."""
    with serving(2.0) as server:
        found = best((BARE, OURS), server.url, count, count // 5, rounds)
    table(f"{count:,} requests of 2 s, {count // 5:,} at once", 10.0, found)


def ramp() -> None:
    """How long the adaptive limit takes to its ceiling."""
    with serving(1.0) as server:
        found = measure(ADAPTIVE, server.url, 3000, 256)
    trips = f"after {found['ramp']:.1f} round trips of 1 s" if "ramp" in found else "NOT AT ALL"
    print(f"\nthe adaptive limit goes from 8 to 256 {trips}")


def rejections(count: int, rounds: int) -> None:
    """A fifth of all calls meet 429: every request is answered exactly once, and the rest of the capacity is used."""
    print(f"\n{count:,} requests of 500 ms, 64 at once, of which 20 % of the calls are rejected at random")
    for client in (OURS, ADAPTIVE):
        with serving(0.5) as server:
            free = min(measure(client, server.url, count, 64)["wall"] for _ in range(rounds))
        walls, served = [], set()
        for number in range(rounds):
            with serving(0.5, 0.2, seed=number) as server:
                walls.append(measure(client, server.url, count, 64)["wall"])
            served.add(server.counts["served"])
        exactly = "every request answered once" if served == {count} else f"ANSWERED {served}"
        print(f"  {client.name:22} {min(walls):6.2f} s, {free:6.2f} s without rejections: goodput "
              f"{free / min(walls):.2f}; {exactly}; {server.counts['calls'] / count:.2f} calls a request")  # fmt: skip


def rerun(count: int) -> None:
    """The same questions again, all in the cache."""
    with tempfile.TemporaryDirectory() as folder, serving(0.2) as server:
        again = Client("tracemill", "ours", how=f"cache:{folder}")
        measure(again, server.url, count, 256)
        second = measure(again, server.url, count, 256)
    print(
        f"\n{count:,} cached answers: {second['wall']:.2f} s ({second['cpu']:.2f} s of a processor), {server.counts['calls'] - count} calls"
    )


def killed(count: int) -> None:
    """A run killed at about half, and run again on the same cache: what is asked twice was in flight."""
    with tempfile.TemporaryDirectory() as folder, serving(0.2) as server:
        command = [sys.executable, str(CLIENTS / "ours.py"), server.url, str(count), "64", f"cache:{folder}"]
        process = subprocess.Popen(
            command, env={**os.environ, "PYTHONPATH": str(ROOT)}, stdout=subprocess.PIPE
        )
        answers = Path(folder) / "answers.db"
        while process.poll() is None and _kept(answers) < count // 2:
            time.sleep(0.05)
        process.kill()
        process.communicate()
        measure(Client("tracemill", "ours", how=f"cache:{folder}"), server.url, count, 64)
    more = server.counts["calls"] - count
    print(f"\nkilled at half and run again: {server.counts['calls']} calls for {count} requests, {more} more than "
          f"undisturbed (64 were in flight)")  # fmt: skip


def _kept(answers: Path) -> int:
    """Answers in a cache file that another process is writing."""
    if not answers.exists():
        return 0
    with closing(sqlite3.connect(f"file:{answers}?mode=ro", uri=True)) as db:
        try:
            return int(db.execute("SELECT count(*) FROM answers").fetchone()[0])
        except sqlite3.OperationalError:  # not yet created
            return 0


def install(folder: Path) -> list[Client]:
    """The peers that can be had, each in an environment of its own."""
    found = []
    for name, packages in PEERS.items():
        python = folder / name / "bin" / "python"
        if not python.exists():
            subprocess.run([sys.executable, "-m", "venv", str(folder / name)], check=True)
            command = [str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check", *packages]
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode:
                print(f"{name} cannot be installed: {done.stderr.strip().splitlines()[-1][:200]}")
                continue
        found.append(Client(f"{name} {packages[0].partition('==')[2]}", f"peer_{name}", str(python)))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--peers", action="store_true")
    parser.add_argument("--venvs", type=Path, default=Path(tempfile.gettempdir()) / "tracemill-peers")
    parser.add_argument("--quick", action="store_true", help="a tenth of the requests, once")
    parser.add_argument(
        "--only", nargs="*", default=["throughput", "ramp", "many", "rejections", "rerun", "killed"]
    )
    options = parser.parse_args()
    scale, rounds = (10, 1) if options.quick else (1, 3)
    peers = install(options.venvs) if options.peers else []
    print(f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}, Python {sys.version.split()[0]}")
    if "throughput" in options.only:
        throughput(peers, 2000 // scale, rounds)
    if "many" in options.only:
        many(10_000 // scale, 1)
    if "rejections" in options.only:
        rejections(2000 // scale, max(1, rounds - 1))
    if "ramp" in options.only:
        ramp()
    if "rerun" in options.only:
        rerun(2000 // scale)
    if "killed" in options.only:
        killed(2000 // scale)


if __name__ == "__main__":
    main()
